//! Name locks of a plane.

use std::sync::Arc;

use machinery_controllers::{LockKey, LockKinds, NameLocks};
use machinery_objects::{Kind, ListWatch, ObjectKey, OwnerRef};

use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::ObjectType;
use super::transport::Transport;

impl Plane {
    /// Creates name locks for owners of type `O`; the locks are objects of type `L`. `make` creates
    /// the lock of a key; its name, namespace and owner reference are filled in. Their informer
    /// runs until the shutdown.
    ///
    /// Pass them to one controller by [`claiming`](super::PlaneController::claiming).
    ///
    /// # Errors
    /// A type's kind is invalid or not served, the owners cannot own the locks because of their
    /// scopes, or the plane has stopped.
    pub fn name_locks<O: ObjectType, N: LockKey, L: ObjectType>(
        &self,
        make: impl Fn(&N) -> L + Send + Sync + 'static,
    ) -> Result<NameLocks<N, L>, PlaneError> {
        self.build_locks::<O, N, L>(None, make)
    }

    /// Like [`name_locks`](Self::name_locks), for cluster-scoped owners: their locks are in this
    /// namespace.
    ///
    /// # Errors
    /// As [`name_locks`](Self::name_locks).
    pub fn name_locks_in<O: ObjectType, N: LockKey, L: ObjectType>(
        &self,
        namespace: &str,
        make: impl Fn(&N) -> L + Send + Sync + 'static,
    ) -> Result<NameLocks<N, L>, PlaneError> {
        self.build_locks::<O, N, L>(Some(namespace), make)
    }

    fn build_locks<O: ObjectType, N: LockKey, L: ObjectType>(
        &self,
        namespace: Option<&str>,
        make: impl Fn(&N) -> L + Send + Sync + 'static,
    ) -> Result<NameLocks<N, L>, PlaneError> {
        if self.stopping().is_cancelled() {
            return Err(PlaneError::Stopped);
        }
        let (kind, owners) = (Kind::of::<L>()?, Kind::of::<O>()?);
        self.check_served(&kind)?;
        let diagnostics = kind.clone();
        let make = move |key: &N, name: &ObjectKey, owner: OwnerRef| owned(make(key), name, &owner);
        let builder = match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, identity, .. } => {
                let handle = server.handle::<L>(identity.clone());
                let source: Arc<dyn ListWatch<Arc<L>>> = Arc::new(handle.clone());
                let writer = self.0.surroundings.writer(&kind, Arc::new(handle));
                NameLocks::builder(LockKinds { kind, owners, writer }, source, make)
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { client, server } => {
                let remote = machinery_kube::Remote::<L>::new(client.clone(), kind.clone(), server.clone());
                let source: Arc<dyn ListWatch<L>> = Arc::new(remote.clone());
                let writer = self.0.surroundings.writer(&kind, Arc::new(remote));
                NameLocks::builder(LockKinds { kind, owners, writer }, source, make)
            }
        };
        let locks = match namespace {
            Some(namespace) => builder.namespace(namespace),
            None => builder,
        }
        .build()?;
        self.registry().locks(&diagnostics, &locks);
        self.run_as(&format!("the locks {diagnostics}"), |stopping| locks.run(stopping));
        Ok(locks)
    }
}

fn owned<L: ObjectType>(mut lock: L, name: &ObjectKey, owner: &OwnerRef) -> L {
    let meta = lock.meta_mut();
    meta.name = Some(name.name().into());
    meta.namespace = name.namespace().map(Into::into);
    meta.owner_references = Some(vec![owner.into()]);
    lock
}
