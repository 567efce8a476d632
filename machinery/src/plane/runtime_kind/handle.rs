//! The objects of a kind known at run time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_core::DynamicObject;
use machinery_controllers::WriteTracker;
use machinery_informers::{Informer, InformerId, Snapshot};
use machinery_objects::{Kind, ObjectKey, WriteToken};
use tokio::sync::watch;

use super::name::KindName;
use super::served::ServedKind;
use crate::plane::kinds::PartialObject;

/// The objects of a kind known by name, which may be defined, deleted and defined again while the
/// program runs.
///
/// There is one informer for all kinds that have the name one after the other. While there is none,
/// it sends no request, its cache is empty, and it counts as synced. The deletion of a kind deletes
/// its objects from the cache, with an event each. A kind that returns with another scope or
/// version is another kind: its objects are new.
///
/// `P` is any type that objects are decoded into. Cheap to clone. Created by
/// [`Plane::kind_named`](crate::Plane::kind_named).
pub struct RuntimeKind<P = DynamicObject> {
    pub(super) name: KindName,
    pub(super) informer: Informer<P>,
    pub(super) states: Informer<ServedKind>,
    pub(super) served: watch::Receiver<ServedKind>,
}

impl<P: PartialObject> RuntimeKind<P> {
    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> &KindName {
        &self.name
    }

    /// Returns the kind that has the name at present, with its scope and version.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.served.borrow().kind.clone()
    }

    /// Waits until a kind has the name, and returns it; `None` if the plane stops before. Cancel
    /// safe.
    pub async fn served(&self) -> Option<Kind> {
        let mut served = self.served.clone();
        served.wait_for(|served| served.kind.is_some()).await.ok()?.kind.clone()
    }

    /// Returns an object from the cache.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<P>> {
        self.informer.get(key)
    }

    /// Returns a snapshot of the cache.
    #[must_use]
    pub fn read(&self) -> Snapshot<ObjectKey, Arc<P>> {
        self.informer.read()
    }

    /// Returns the informer of the objects.
    #[must_use]
    pub const fn informer(&self) -> &Informer<P> {
        &self.informer
    }

    /// Returns the informer of the kind itself, with one object.
    #[must_use]
    pub const fn states(&self) -> &Informer<ServedKind> {
        &self.states
    }
}

/// Without a kind there is nothing to wait for.
impl<P: PartialObject> WriteTracker for RuntimeKind<P> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        let mut served = self.served.clone();
        tokio::select! {
            biased;
            waited = self.informer.wait_for(token, timeout) => waited.is_ok(),
            _ = served.wait_for(|served| served.kind.is_none()) => true,
        }
    }

    fn informer_id(&self) -> Option<InformerId> {
        Some(self.informer.id())
    }
}

impl<P> Clone for RuntimeKind<P> {
    fn clone(&self) -> Self {
        let Self { name, informer, states, served } = self;
        Self {
            name: name.clone(),
            informer: informer.clone(),
            states: states.clone(),
            served: served.clone(),
        }
    }
}

impl<P> fmt::Debug for RuntimeKind<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeKind({}, served: {})", self.name, self.served.borrow().kind.is_some())
    }
}
