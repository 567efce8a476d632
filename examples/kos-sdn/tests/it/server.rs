//! An API server with the kinds.

use kos::model::{IPLock, NetworkAttachment, Subnet, ip_locks, network_attachments, subnets};
use machinery::Plane;
use machinery::apiserver::{ApiServer, Handle, Identity};
use machinery::kube::kube_client::Client;
use machinery::kube_core::CustomResourceExt as _;
use machinery::objects::{
    Filter, InvalidField, Kind, ListRequest, ListWatch as _, ObjectKey, Scope, SourceError, WriteError,
    Writer as _,
};
use machinery::store::{Backend, Memory, Options};
use serde_json::{Value, json};

pub(crate) struct ServerFixture {
    pub(crate) server: ApiServer,
    pub(crate) subnets: Handle<Subnet>,
    pub(crate) attachments: Handle<NetworkAttachment>,
    pub(crate) locks: Handle<IPLock>,
}

impl ServerFixture {
    pub(crate) async fn new() -> Self {
        Self::on(Memory::new(Options::default())).await
    }

    /// One of possibly several servers on a store, with the namespaces `n` and `m`.
    pub(crate) async fn on(store: impl Backend) -> Self {
        let builder = ApiServer::builder(store).kind(subnets()).kind(network_attachments()).kind(ip_locks());
        Self::of(builder.start().await.unwrap()).await
    }

    pub(crate) async fn of(server: ApiServer) -> Self {
        for name in ["n", "m"] {
            create_namespace(&server, name).await;
        }
        let (subnets, attachments) = (server.handle(Identity::admin()), server.handle(Identity::admin()));
        let locks = server.handle(Identity::admin());
        Self { server, subnets, attachments, locks }
    }

    /// A plane on the server, over the wire.
    pub(crate) async fn plane(&self) -> Plane {
        plane_on(&self.server).await
    }

    /// Returns the names of the attachments that match a field selector.
    pub(crate) async fn selected(&self, fields: &str) -> Vec<String> {
        let filter = Filter { fields: fields.parse().unwrap(), ..Filter::default() };
        let page = self.attachments.list(ListRequest { filter, ..ListRequest::default() }).await.unwrap();
        page.items.iter().map(|object| object.metadata.name.clone().unwrap()).collect()
    }
}

/// Creates a namespace unless it exists.
pub(crate) async fn create_namespace(server: &ApiServer, name: &str) {
    let namespaces = Kind::new("v1", "Namespace", "namespaces", Scope::Cluster).unwrap();
    let namespaces = server.handle_of::<Value>(namespaces, Identity::admin());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    match namespaces.create(&namespace, None).await {
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A plane on a server, over the wire.
pub(crate) async fn plane_on(server: &ApiServer) -> Plane {
    let client = Client::new(server.service(Identity::admin()), "n");
    machinery::kube_client(client).start().await.unwrap()
}

/// A server with only the definitions and their rules: no guard, no stamping.
pub(crate) async fn foreign_server() -> ApiServer {
    foreign_server_of(serde_json::to_value(NetworkAttachment::crd()).unwrap()).await
}

/// As [`foreign_server`], with this definition of attachments.
pub(crate) async fn foreign_server_of(attachments: Value) -> ApiServer {
    let others = [Subnet::crd(), IPLock::crd()].map(|definition| serde_json::to_value(definition).unwrap());
    let definitions = others.into_iter().chain([attachments]);
    ApiServer::builder(Memory::new(Options::default())).crds(definitions).start().await.unwrap()
}

pub(crate) fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(Some(namespace), name).unwrap()
}

/// Returns the fields that validation rejected, with reasons.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(found: Result<T, WriteError>) -> Vec<String> {
    let causes = match found {
        Err(WriteError::Source(SourceError::Invalid { causes, .. })) => causes,
        other => panic!("{other:?}"),
    };
    causes.into_iter().map(|InvalidField { field, reason }| format!("{field}: {reason}")).collect()
}
