//! Servers for the sample controllers: embedded, or reached by a kube client.

use super::apps::AppName;
use machinery::ObjectType;
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{LockKinds, LocksBuilder, NameLocks};
use machinery::informers::Informer;
use machinery::kube::kube_client::Client;
use machinery::kube::{Remote, ServerProfile};
use machinery::objects::{
    Freshness, Kind, ListAt, ListError, ListRequest, ListWatch, Object, ObjectKey, OwnerRef, Page, Writer,
};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum TestServer {
    Here(Arc<ApiServer>),
    There(Client, ServerProfile),
}

impl TestServer {
    /// Returns whether the server rejects writes under a stale fence.
    pub(crate) fn has_fences(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::There(_, server) => server.machinery,
        }
    }

    pub(crate) fn informer<K: ObjectType>(&self) -> Informer<K> {
        match self {
            Self::Here(server) => Informer::builder(here::<K>(server)).build(),
            Self::There(client, server) => Informer::builder(there::<K>(client, server)).build(),
        }
    }

    pub(crate) fn writer<K: ObjectType>(&self) -> Arc<dyn Writer<K>> {
        match self {
            Self::Here(server) => Arc::new(server.handle::<K>(Identity::admin())),
            Self::There(client, server) => Arc::new(remote::<K>(client, server)),
        }
    }

    pub(crate) fn locks(
        &self,
        locking: LockKinds<AppName>,
        make: impl Fn(&String, &ObjectKey, OwnerRef) -> AppName + Send + Sync + 'static,
    ) -> LocksBuilder<String, AppName> {
        match self {
            Self::Here(server) => NameLocks::builder(locking, here(server), make),
            Self::There(client, server) => {
                NameLocks::builder(locking, there::<AppName>(client, server), make)
            }
        }
    }

    /// Lists live objects of a namespace.
    pub(crate) async fn list<K: ObjectType>(&self, namespace: &str) -> Vec<Arc<K>> {
        let all = ListRequest { at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
        let objects = match self {
            Self::Here(server) => items(here::<K>(server).list(all).await),
            Self::There(client, server) => items(there::<K>(client, server).list(all).await),
        };
        objects.into_iter().filter(|object| object.key().namespace() == Some(namespace)).collect()
    }
}

fn items<S: Into<Arc<K>>, K>(page: Result<Page<S>, ListError>) -> Vec<Arc<K>> {
    page.unwrap().items.into_iter().map(Into::into).collect()
}

fn here<K: ObjectType>(server: &ApiServer) -> Arc<dyn ListWatch<Arc<K>>> {
    Arc::new(server.handle::<K>(Identity::admin()))
}

fn there<K: ObjectType>(client: &Client, server: &ServerProfile) -> Arc<dyn ListWatch<K>> {
    Arc::new(remote(client, server))
}

fn remote<K: ObjectType>(client: &Client, server: &ServerProfile) -> Remote<K> {
    Remote::new(client.clone(), Kind::of::<K>().unwrap(), server.clone())
}
