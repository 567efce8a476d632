//! Our controller.

use super::far::RemoteLoop;
use super::near::LoopConfig;
use super::shape::WORKERS;
use super::step::IdleContents;
use crate::informer::ours::source::Source;
use crate::informer::ours::{config, kind};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use machinery_controllers::{Controller, Next, Reconcile, Run, Settings};
use machinery_informers::Informer;
use machinery_kube::{Connections, Remote, ServerProfile, client};
use machinery_objects::{ListWatch, Object, Patch, PatchFormat, Preconditions, WriteError, Writer};
use std::convert::Infallible;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(super) fn near(of: LoopConfig, reconcile: impl Fn(&Pod) + Send + Sync + 'static) -> anyhow::Result<()> {
    let source: Arc<dyn ListWatch<Arc<Pod>>> = Source::new(of.there, of.changes.map(Arc::new).boxed());
    let pods = Informer::<Pod>::builder(source).build();
    let reconcile = move |pod: Arc<Pod>, _: Run| {
        reconcile(&pod);
        ready(Ok::<_, Infallible>(Next::Done))
    };
    let mut settings = Settings { workers: of.workers.unwrap_or(WORKERS).into(), ..Settings::default() };
    if of.keeps == IdleContents::LoopWithoutRecords {
        settings.records = 0;
    }
    run(&pods, (of.keeps != IdleContents::Cache).then_some((settings, reconcile)))
}

/// Starts the loop over the wire.
pub(super) async fn far(kubeconfig: &Path, far: Arc<RemoteLoop>) -> anyhow::Result<()> {
    let client = client(config(kubeconfig).await?, Connections::default())?;
    let remote = Arc::new(Remote::<ConfigMap>::new(client, kind()?, ServerProfile::machinery()));
    let source: Arc<dyn ListWatch<ConfigMap>> = remote.clone();
    let configs = Informer::<ConfigMap>::builder(source).build();
    let shows = configs.clone();
    let reconcile = move |config: Arc<ConfigMap>, run: Run| {
        let (far, remote, shows) = (far.clone(), remote.clone(), shows.clone());
        async move {
            if let Some(change) = far.due(&config).await {
                let patch = Patch {
                    format: PatchFormat::Merge,
                    body: change.to_string().into_bytes().into(),
                    status: false,
                };
                let written = remote.patch(&config.key(), &patch, &Preconditions::default()).await?;
                run.wrote(&written.token, &shows);
                far.wrote();
            }
            Ok::<_, WriteError>(Next::Done)
        }
    };
    run(&configs, Some((Settings { workers: WORKERS.into(), ..Settings::default() }, reconcile)))
}

fn run<T: Object>(
    objects: &Informer<T>,
    of: Option<(Settings, impl Reconcile<Arc<T>>)>,
) -> anyhow::Result<()> {
    let stopping = CancellationToken::new();
    tokio::spawn(objects.run(stopping.clone()));
    if let Some((settings, reconcile)) = of {
        let controller = Controller::of("objects", objects).settings(settings).build()?;
        tokio::spawn(async move {
            if let Err(error) = controller.run(reconcile, stopping).await {
                eprintln!("the controller has ended: {error}");
            }
        });
    } else {
        let objects = objects.clone();
        tokio::spawn(async move {
            let _kept = objects;
            stopping.cancelled().await;
        });
    }
    Ok(())
}
