//! kube-runtime's `Controller`.

use super::far::RemoteLoop;
use super::near::LoopConfig;
use super::shape::WORKERS;
use super::step::IdleContents;
use crate::informer::ours::config;
use futures::stream;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_runtime::controller::{Action, Config, Controller};
use kube_runtime::reflector::{reflector, store};
use kube_runtime::watcher::{self, Event};
use kube_runtime::{WatchStreamExt, controller};
use machinery_kube::kube_client::api::{Patch, PatchParams};
use machinery_kube::kube_client::{self, Api, Client};
use std::convert::Infallible;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;

/// Starts the loop, assembled as by `Controller::new` except for the watcher.
pub(super) fn near(of: LoopConfig, reconcile: impl Fn(&Pod) + Send + Sync + 'static) {
    let (reader, writer) = store::<Pod>();
    let there = stream::iter(of.there).map(|pod| Event::InitApply((*pod).clone()));
    let there = stream::iter([Event::Init]).chain(there).chain(stream::iter([Event::InitDone]));
    let told = there.chain(of.changes.map(Event::Apply)).map(Ok::<_, watcher::Error>);
    let reflected = reflector(writer, told);
    if of.keeps == IdleContents::Cache {
        tokio::spawn(async move {
            let _kept = reader;
            reflected.for_each(|_| ready(())).await;
        });
        return;
    }
    let reconcile = move |pod: Arc<Pod>, _: Arc<()>| {
        reconcile(&pod);
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let never = |_: Arc<Pod>, _: &Infallible, _: Arc<()>| Action::await_change();
    let controller = Controller::for_stream(reflected.applied_objects(), reader)
        .with_config(Config::default().concurrency(of.workers.unwrap_or(0)));
    tokio::spawn(to_its_end(controller.run(reconcile, never, Arc::new(()))));
}

/// Starts the loop over the wire, as kube documents it, with kube's client.
pub(super) async fn far(kubeconfig: &Path, far: Arc<RemoteLoop>) -> anyhow::Result<()> {
    let client = Client::try_from(config(kubeconfig).await?)?;
    let configs = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let reconcile = move |config: Arc<ConfigMap>, far: Arc<RemoteLoop>| {
        let configs = configs.clone();
        async move {
            if let Some(change) = far.due(&config).await {
                let name = config.metadata.name.as_deref().unwrap_or_default();
                configs.patch(name, &PatchParams::default(), &Patch::Merge(&change)).await?;
                far.wrote();
            }
            Ok::<_, kube_client::Error>(Action::await_change())
        }
    };
    let again = |_: Arc<ConfigMap>, _: &kube_client::Error, _: Arc<RemoteLoop>| {
        Action::requeue(std::time::Duration::from_secs(1))
    };
    let controller = Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
        .with_config(Config::default().concurrency(WORKERS));
    tokio::spawn(to_its_end(controller.run(reconcile, again, far)));
    Ok(())
}

async fn to_its_end<T, E: std::error::Error + 'static, Q: std::error::Error + 'static>(
    runs: impl Stream<Item = Result<T, controller::Error<E, Q>>>,
) {
    let ends = runs.for_each(|ended| {
        if let Err(error) = ended {
            eprintln!("a run has failed: {error:?}");
        }
        ready(())
    });
    ends.await;
}
