//! A server with network ports, and helpers.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt};
use machinery_apiserver::{ApiServer, Identity, KindOf};
use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery_kube::kube_client::{Client, Config};
use machinery_kube::{Connections, Remote, ServerProfile};
use machinery_objects::{
    Deletion, Filter, Freshness, Kind, ListAt, ListRequest, ListWatch, Object, ObjectKey, Page, WatchError,
    WatchEvent, WatchFrom, WatchRequest, WatchStream, Writer,
};
use machinery_store::{Memory, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network port.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Port", namespaced, status = "PortStatus")]
#[kube(derive = "PartialEq", selectable = ".spec.vni")]
pub(crate) struct PortSpec {
    pub(crate) vni: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mac: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct PortStatus {
    pub(crate) phase: String,
}

pub(crate) fn kind() -> Kind {
    Kind::of::<Port>().unwrap()
}

/// A server in memory, and a client of it without a socket.
pub(crate) async fn plane() -> (ApiServer, Client) {
    on(Memory::new(Options::default())).await
}

/// The same on this store.
pub(crate) async fn on(store: Memory) -> (ApiServer, Client) {
    let kind = KindOf::<Port>::new().guard(
        "one-mac",
        |port| port.spec.mac.iter().map(ToString::to_string).collect::<Vec<_>>(),
        |port, others| match others.first() {
            Some(_) => vec![machinery_objects::InvalidField {
                field: "spec.mac".into(),
                reason: format!("{:?} is taken", port.spec.mac),
            }],
            None => Vec::new(),
        },
    );
    let server = ApiServer::builder(store).kind(kind).start().await.unwrap();
    let client = client(&server);
    (server, client)
}

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.service(Identity::admin()), "default")
}

/// Keeps the server alive.
pub(crate) struct Served(Option<ApiServer>);

impl Served {
    pub(crate) async fn stop(&self) {
        if let Some(server) = &self.0 {
            server.stop().await;
        }
    }
}

/// For features of any server: one of ours, or the Kubernetes started by `cargo xtask kubernetes`.
/// It has no ports.
pub(crate) async fn served() -> (Served, Client, ServerProfile) {
    if let Some(kubeconfig) = std::env::var_os("KUBERNETES_UNDER_TEST") {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = machinery_kube::client(config, Connections::default()).unwrap();
        without_ports(&client).await;
        return (Served(None), client, ServerProfile::kubernetes());
    }
    let (server, client) = plane().await;
    (Served(Some(server)), client, ServerProfile::machinery())
}

/// Defines the kind, and deletes the objects of earlier tests.
async fn without_ports(client: &Client) {
    let defined = Kind::of::<CustomResourceDefinition>().unwrap();
    let definitions =
        Remote::<CustomResourceDefinition>::new(client.clone(), defined, ServerProfile::kubernetes());
    let _ = definitions.create(&Port::crd(), None).await;
    let ports = Remote::<Port>::new(client.clone(), kind(), ServerProfile::kubernetes());
    let newest = ListRequest { at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
    within(async {
        loop {
            match ports.list(newest.clone()).await {
                Ok(page) if page.items.is_empty() => return,
                Ok(page) => {
                    for port in page.items {
                        let _ = ports.delete(&port.key(), &Deletion::default()).await;
                    }
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await, // it is not served yet
            }
        }
    })
    .await;
}

/// The ports of such a server.
pub(crate) async fn ports() -> (Served, Remote<Port>) {
    let (served, client, server) = served().await;
    (served, Remote::new(client, kind(), server))
}

/// A port with its name and network; the label `vni` has the network too.
pub(crate) fn port(name: &str, vni: &str) -> Port {
    let mut port = Port::new(name, PortSpec { vni: vni.into(), mac: None });
    port.metadata.namespace = Some("default".into());
    port.metadata.labels = Some([("vni".into(), vni.into())].into());
    port
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

pub(crate) async fn create(ports: &impl Writer<Port>, name: &str, vni: &str) -> Port {
    ports.create(&port(name, vni), None).await.unwrap().object
}

/// Moves the port to another network.
pub(crate) async fn moved(ports: &impl Writer<Port>, port: &Port, vni: &str) -> Port {
    let mut port = port.clone();
    port.spec.vni = vni.into();
    port.metadata.labels = Some([("vni".into(), vni.into())].into());
    ports.update(&port, &Default::default()).await.unwrap().object
}

pub(crate) fn labelled(labels: &str) -> Filter {
    Filter { labels: labels.parse().unwrap(), ..Filter::default() }
}

pub(crate) async fn all<O: Send + 'static>(source: &impl ListWatch<O>) -> Page<O> {
    source.list(ListRequest::default()).await.unwrap()
}

pub(crate) fn from(from: WatchFrom) -> WatchRequest {
    WatchRequest { filter: Filter::default(), from, bookmarks: true, timeout: None }
}

/// Returns the next event, which must arrive soon.
pub(crate) async fn next<O>(stream: &mut WatchStream<O>) -> Option<Result<WatchEvent<O>, WatchError>> {
    within(stream.next()).await
}

/// An event as a word and the name.
pub(crate) fn word<O: machinery_objects::Object>(event: &WatchEvent<O>) -> String {
    match event {
        WatchEvent::Added(object) => format!("+{}", object.key().name()),
        WatchEvent::Modified(object) => format!("*{}", object.key().name()),
        WatchEvent::Deleted(object) => format!("-{}", object.key().name()),
        WatchEvent::Left(object) => format!("<{}", object.key().name()),
        WatchEvent::Unreadable(unreadable) => format!("?{}", unreadable.key.name()),
        WatchEvent::Bookmark { initial_state_ends, .. } => if *initial_state_ends { "|" } else { "." }.into(),
        WatchEvent::Complete { edit, .. } => format!("={}", edit.0),
        _ => "other".into(),
    }
}

pub(crate) async fn words<O: machinery_objects::Object>(
    stream: &mut WatchStream<O>,
    count: usize,
) -> Vec<String> {
    let mut words = Vec::new();
    while words.len() < count {
        let event = next(stream).await.expect("the watch goes on").expect("an event");
        match word(&event) {
            word if word == "." => {}
            word => words.push(word),
        }
    }
    words
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it takes no half minute")
}
