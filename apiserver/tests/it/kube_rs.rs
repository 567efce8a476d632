//! An unmodified kube-rs: its `Api`, `watcher`, `reflector`, `Controller` and `finalizer`, on the
//! service without a socket, and over one with the kubeconfig that the server writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::{Api, Client, Config, ResourceExt};
use kube_core::Resource;
use kube_core::metadata::ObjectMeta;
use kube_runtime::controller::{Action, Controller};
use kube_runtime::finalizer::{Event, finalizer};
use kube_runtime::{WatchStreamExt, reflector, watcher};
use machinery_apiserver::{ApiServer, Identity};
use machinery_store::{Memory, Options};
use serde_json::json;

use crate::real::Plane;

pub(crate) async fn in_process() -> (ApiServer, Client) {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    (server, client)
}

pub(crate) async fn over_tls() -> (Plane, Client) {
    let plane = Plane::start().await;
    let kubeconfig = Kubeconfig::read_from(&plane.access.kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    (plane, Client::try_from(config).unwrap())
}

#[tokio::test]
async fn its_api_creates_reads_patches_and_deletes() {
    let (_server, client) = in_process().await;
    api(client).await;
    let (plane, client) = over_tls().await;
    api(client).await;
    plane.stop().await;
}

#[tokio::test]
async fn its_watcher_and_its_reflector_see_all_that_happens() {
    let (_server, client) = in_process().await;
    watcher_and_reflector(client).await;
    let (plane, client) = over_tls().await;
    watcher_and_reflector(client).await;
    plane.stop().await;
}

#[tokio::test]
async fn its_controller_works_unmodified() {
    let (_server, client) = in_process().await;
    controller(client).await;
    let (plane, client) = over_tls().await;
    controller(client).await;
    plane.stop().await;
}

/// A watcher resumes where it was, and a reflector of it forgets nothing meanwhile.
#[tokio::test]
async fn its_watcher_resumes_after_a_restart() {
    let (mut plane, client) = over_tls().await;
    let configs: Api<ConfigMap> = Api::default_namespaced(client);
    configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let stream = watcher(configs.clone(), watcher::Config::default()).default_backoff();
    let mut stream = std::pin::pin!(stream);
    let mut told = Vec::new();
    for value_now in ["2", "3"] {
        let changed = config("a", value_now);
        configs.patch("a", &PatchParams::default(), &Patch::Merge(changed)).await.unwrap();
        while told.last().map(String::as_str) != Some(value_now) {
            // Errors during the server's absence are reported, and the watcher continues.
            match within(stream.next()).await.unwrap() {
                Ok(watcher::Event::Apply(config) | watcher::Event::InitApply(config)) => {
                    told.push(value(&config).unwrap().to_owned());
                }
                Ok(watcher::Event::Init) => told.push("listed".to_owned()),
                _ => {}
            }
        }
        if value_now == "2" {
            plane = plane.restart().await;
        }
    }
    assert_eq!(told.iter().filter(|told| *told == "listed").count(), 1, "{told:?}");
    plane.stop().await;
}

fn config(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
        data: Some([("key".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

fn value(config: &ConfigMap) -> Option<&str> {
    Some(config.data.as_ref()?.get("key")?.as_str())
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it takes no half minute")
}

async fn api(client: Client) {
    let configs: Api<ConfigMap> = Api::default_namespaced(client);
    let made = configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    assert_eq!(value(&configs.get("a").await.unwrap()), Some("1"));
    for patch in [
        Patch::Merge(json!({"data": {"key": "2"}})),
        Patch::Strategic(json!({"metadata": {"labels": {"x": "y"}}})),
    ] {
        configs.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    let listed = configs.list(&ListParams::default().labels("x=y")).await.unwrap();
    assert_eq!(listed.items.iter().map(value).collect::<Vec<_>>(), [Some("2")]);
    let stale = configs.replace("a", &PostParams::default(), &made).await.unwrap_err();
    assert!(matches!(stale, kube_client::Error::Api(status) if status.reason == "Conflict"));
    configs.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(configs.get_opt("a").await.unwrap().is_none());
}

async fn watcher_and_reflector(client: Client) {
    let configs: Api<ConfigMap> = Api::default_namespaced(client);
    configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    for config_of in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (store, writer) = reflector::store();
        let stream = reflector(writer, watcher(configs.clone(), config_of)).applied_objects();
        let mut stream = std::pin::pin!(stream);
        assert_eq!(value(&within(stream.try_next()).await.unwrap().unwrap()), Some("1"));
        configs.create(&PostParams::default(), &config("b", "2")).await.unwrap();
        assert_eq!(value(&within(stream.try_next()).await.unwrap().unwrap()), Some("2"));
        assert_eq!(store.state().len(), 2);
        configs.delete("b", &DeleteParams::default()).await.unwrap();
        configs.create(&PostParams::default(), &config("c", "3")).await.unwrap();
        assert_eq!(value(&within(stream.try_next()).await.unwrap().unwrap()), Some("3"));
        assert_eq!(store.state().len(), 2, "what was deleted left the store");
        configs.delete("c", &DeleteParams::default()).await.unwrap();
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

/// Copies each config map that is labelled so into one that it owns; a finalizer counts the ones
/// that go.
async fn controller(client: Client) {
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let reconcile = |config: Arc<ConfigMap>, client: Arc<Client>| async move {
        let configs: Api<ConfigMap> = Api::default_namespaced((*client).clone());
        let api = configs.clone();
        let applied = |event: Event<ConfigMap>| async move {
            if let Event::Apply(config) = event {
                let mut copy = ConfigMap { data: config.data.clone(), ..ConfigMap::default() };
                copy.metadata.name = Some(format!("{}-copy", config.name_any()));
                copy.metadata.owner_references =
                    Some(vec![OwnerReference { controller: Some(true), ..config.owner_ref(&()).unwrap() }]);
                match api.create(&PostParams::default(), &copy).await {
                    Err(kube_client::Error::Api(status)) if status.reason == "AlreadyExists" => {}
                    other => drop(other.map_err(|error| Failed(error.to_string()))?),
                }
            }
            Ok::<_, Failed>(Action::await_change())
        };
        finalizer(&configs, "example.com/copied", config, applied)
            .await
            .map_err(|error| Failed(error.to_string()))
    };
    let source = watcher::Config::default().labels("copy=yes");
    let controller = Controller::new(configs.clone(), source)
        .owns(configs.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(50)), Arc::new(client))
        .for_each(|_| std::future::ready(()));
    let mut running = tokio::task::JoinSet::new();
    running.spawn(controller);

    let mut source = config("a", "1");
    source.metadata.labels = Some(BTreeMap::from([("copy".to_owned(), "yes".to_owned())]));
    configs.create(&PostParams::default(), &source).await.unwrap();
    let copied = async {
        while configs.get_opt("a-copy").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(copied).await;
    assert!(configs.get("a").await.unwrap().finalizers().iter().any(|one| one == "example.com/copied"));
    configs.delete("a", &DeleteParams::default()).await.unwrap();
    let gone = async {
        for name in ["a", "a-copy"] {
            while configs.get_opt(name).await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    within(gone).await;
    running.shutdown().await;
}
