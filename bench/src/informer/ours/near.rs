//! An informer over the in-process handle of a server.

use super::sync::kind;
use crate::informer::configs::{name, sent};
use crate::measure::{Figures, Lap};
use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_informers::Informer;
use machinery_objects::{ListWatch, Writer};
use machinery_store::{Memory, Options};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Measures an informer that shares the decoded objects of an earlier one.
pub(in crate::informer) async fn near(objects: usize) -> anyhow::Result<Figures> {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
    fill(&server, objects).await?;
    let (first, one) = sync(&server, objects).await?;
    let (second, other) = sync(&server, objects).await?;
    for informer in [one, other] {
        informer.await?;
    }
    server.stop().await;
    let wall = |lap: &Lap| lap.wall().as_secs_f64();
    let cpu = |lap: &Lap| lap.per(1).of("cpu_ns").unwrap_or_default() / 1e9;
    Ok(Figures::default()
        .with("sync_s", wall(&second))
        .with("client_cpu_s", cpu(&second))
        .with("first_s", wall(&first)))
}

/// Creates objects through another type, so that nothing of the measured type is cached.
async fn fill(server: &ApiServer, objects: usize) -> anyhow::Result<()> {
    let configs: Handle<Raw> = server.handle_of(kind()?, Identity::admin());
    for i in 0..objects {
        configs.create(&Raw(serde_json::from_str(&sent(i, 0))?), None).await?;
    }
    ensure!(name(0) < name(1), "names are in order");
    Ok(())
}

/// Waits until the informer has stopped.
async fn sync(
    server: &ApiServer,
    objects: usize,
) -> anyhow::Result<(Lap, impl Future<Output = anyhow::Result<()>>)> {
    let configs: Handle<ConfigMap> = server.handle_of(kind()?, Identity::admin());
    let source: Arc<dyn ListWatch<Arc<ConfigMap>>> = Arc::new(configs);
    let mut lap = Lap::started();
    let informer = Informer::<ConfigMap>::builder(source).build();
    let stopping = CancellationToken::new();
    let running = tokio::spawn(informer.run(stopping.clone()));
    informer.synced().await?;
    lap.stop();
    ensure!(informer.read().len() >= objects, "all of it is there");
    let end = async move {
        stopping.cancel();
        running.await?;
        drop(informer);
        anyhow::Ok(())
    };
    Ok((lap, end))
}

/// An undecoded object.
#[derive(Clone, serde::Deserialize, serde::Serialize)]
#[serde(transparent)]
struct Raw(Value);

impl machinery_objects::Object for Raw {
    fn key(&self) -> machinery_objects::ObjectKey {
        let text = |name: &str| self.0["metadata"][name].as_str();
        let key = machinery_objects::ObjectKey::new(text("namespace"), text("name").unwrap_or_default());
        key.unwrap_or_default()
    }

    fn version(&self) -> Option<machinery_objects::ResourceVersion> {
        machinery_objects::ResourceVersion::new(self.0["metadata"]["resourceVersion"].as_str()?)
    }

    fn labels(&self) -> machinery_objects::Labels {
        machinery_objects::Labels::default()
    }
}
