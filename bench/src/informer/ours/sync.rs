//! An informer over the wire.

use crate::informer::configs::{Config, Five};
use crate::informer::shape::Projection;
use crate::measure::{Figures, Lap, count};
use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use machinery_informers::Informer;
use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery_kube::kube_client::{self};
use machinery_kube::{Connections, Remote, ServerProfile, WithoutManagedFields, client};
use machinery_objects::{Kind, ListWatch, Object, Scope};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Reads a kubeconfig with kube.
pub(crate) async fn config(path: &Path) -> anyhow::Result<kube_client::Config> {
    let config = Kubeconfig::read_from(path)?;
    Ok(kube_client::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?)
}

pub(crate) fn kind() -> anyhow::Result<Kind> {
    Ok(Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced)?)
}

/// Measures a sync over the wire. Also returns the running informer.
pub(in crate::informer) async fn sync(
    kubeconfig: &Path,
    of: Projection,
    objects: usize,
) -> anyhow::Result<(Figures, Box<dyn Any>)> {
    match of {
        Projection::Whole => begin::<ConfigMap>(kubeconfig, objects, |_| 1).await,
        Projection::WithoutManagedFields => {
            begin::<WithoutManagedFields<ConfigMap>>(kubeconfig, objects, has_no_managed_fields).await
        }
        Projection::Lean => begin::<Config>(kubeconfig, objects, |config| config.data.len()).await,
        Projection::Five => begin::<Five>(kubeconfig, objects, Five::touch).await,
    }
}

fn has_no_managed_fields(config: &WithoutManagedFields<ConfigMap>) -> usize {
    usize::from(config.metadata.managed_fields.is_none())
}

async fn begin<O: Object + DeserializeOwned>(
    kubeconfig: &Path,
    objects: usize,
    touch: impl Fn(&O) -> usize,
) -> anyhow::Result<(Figures, Box<dyn Any>)> {
    let client = client(config(kubeconfig).await?, Connections::default())?;
    let source: Arc<dyn ListWatch<O>> =
        Arc::new(Remote::<O>::new(client, kind()?, ServerProfile::machinery()));
    let mut lap = Lap::started();
    let informer = Informer::<O>::builder(source).build();
    let stopping = CancellationToken::new();
    tokio::spawn(informer.run(stopping.clone()));
    informer.synced().await?;
    lap.stop();
    let read = informer.read();
    ensure!(read.len() >= objects, "there are {} of {objects}", read.len());
    ensure!(read.iter().all(|(_, object)| touch(object) > 0), "all of it is kept");
    let cpu_s = lap.per(1).of("cpu_ns").unwrap_or_default() / 1e9;
    let figures = Figures::default()
        .with("sync_s", lap.wall().as_secs_f64())
        .with("client_cpu_s", cpu_s)
        .with("objects", count(read.len()));
    drop(read);
    Ok((figures, Box::new((informer, stopping.drop_guard()))))
}
