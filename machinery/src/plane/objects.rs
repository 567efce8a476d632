//! The objects of one type: cached reads and writes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::WriteTracker;
use machinery_informers::{Informer, InformerId, Snapshot};
use machinery_objects::{
    Deleted, Deletion, Fence, Filter, Kind, ListError, Object, ObjectKey, ObjectRef, Patch, Preconditions,
    Uid, WriteError, WriteToken, Writer, Written,
};

use super::fenced::FencedWriter;
use super::kinds::ObjectType;
use super::live_list::{ListPage, list_all};
use super::owned_fields::OwnedFields;
use super::reporting::ReportingWriter;

/// The objects of one type: reads from the informer's cache, writes to the server.
///
/// A write is visible in the cache a moment later. The next run of a key is delayed until the cache
/// shows the writes of its last run, and their events request no run of that key, without a call of
/// [`Run::wrote`](machinery_controllers::Run::wrote); elsewhere [`Informer::wait_for`] waits. Cheap
/// to clone.
pub struct Objects<K> {
    kind: Kind,
    informer: Informer<K>,
    writer: Arc<dyn Writer<K>>,
    list_page: Arc<ListPage<K>>,
}

impl<K: ObjectType> Objects<K> {
    pub(super) fn new(
        kind: Kind,
        informer: Informer<K>,
        writer: Arc<dyn Writer<K>>,
        list_page: Arc<ListPage<K>>,
    ) -> Self {
        let writer = Arc::new(ReportingWriter { writer, cache: informer.clone() });
        Self { kind, informer, writer, list_page }
    }

    /// Returns the kind.
    #[must_use]
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns an object from the cache.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.informer.get(key)
    }

    /// Returns a snapshot of the cache.
    #[must_use]
    pub fn read(&self) -> Snapshot<ObjectKey, Arc<K>> {
        self.informer.read()
    }

    /// Performs a consistent read from the server: the result includes all acknowledged writes.
    /// Costs a full list; prefer [`read`](Self::read) where the cache suffices. Objects that cannot
    /// be decoded are omitted.
    ///
    /// # Errors
    /// As [`ListWatch::list`](machinery_objects::ListWatch::list).
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Arc<K>>, ListError> {
        list_all(&*self.list_page, filter).await
    }

    /// Returns a reference to an object, for the notes of an event recorder.
    #[must_use]
    pub fn about(&self, object: &K) -> ObjectRef {
        ObjectRef { kind: self.kind.clone(), key: object.key(), uid: object.uid().and_then(Uid::new) }
    }

    /// Returns the shared informer.
    #[must_use]
    pub const fn informer(&self) -> &Informer<K> {
        &self.informer
    }

    /// Returns the same objects with a fence on every write: that of a
    /// [`Term`](machinery_controllers::Term::fence), of a
    /// [`HeldLock`](machinery_controllers::HeldLock::fence), or both by repeated calls. A write
    /// under a stale fence fails with [`Conflict::Fence`](machinery_objects::Conflict::Fence). On a
    /// server without fences nothing is sent, and writes fail with
    /// [`SourceError::Unsupported`](machinery_objects::SourceError::Unsupported).
    #[must_use]
    pub fn fenced(&self, fence: &Fence) -> Self {
        let writer = Arc::new(FencedWriter { writer: self.writer.clone(), fence: fence.clone() });
        Self { writer, ..self.clone() }
    }

    /// Returns whether the server supports fences. Kubernetes does not.
    #[must_use]
    pub fn has_fences(&self) -> bool {
        self.writer.capabilities().fences
    }

    /// Returns the writer, which offers all options of writes.
    #[must_use]
    pub fn writer(&self) -> Arc<dyn Writer<K>> {
        self.writer.clone()
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn create(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.writer.create(object, None).await
    }

    /// Replaces an object except its status, on condition of its resourceVersion.
    ///
    /// # Errors
    /// As [`Writer::update`].
    pub async fn update(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.update_if(object, &Preconditions::default()).await
    }

    /// Like [`update`](Self::update), with further preconditions.
    ///
    /// # Errors
    /// As [`Writer::update`].
    pub async fn update_if(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.writer.update(object, only_if).await
    }

    /// Replaces the status of an object, on condition of its resourceVersion.
    ///
    /// # Errors
    /// As [`Writer::update_status`].
    pub async fn update_status(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.update_status_if(object, &Preconditions::default()).await
    }

    /// Like [`update_status`](Self::update_status), with further preconditions.
    ///
    /// # Errors
    /// As [`Writer::update_status`].
    pub async fn update_status_if(
        &self,
        object: &K,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        self.writer.update_status(object, only_if).await
    }

    /// Applies the fields of a status that a controller owns, from `new` to the server's object of
    /// the same UID as `old`.
    ///
    /// # Errors
    /// As [`OwnedFields::apply`].
    pub async fn apply_status(
        &self,
        fields: &OwnedFields,
        old: &K,
        new: &K,
    ) -> Result<Written<K>, WriteError> {
        fields.apply(&*self.writer, old, new, &Preconditions::default()).await
    }

    /// Patches an object under the given preconditions; without any, the patch applies to every
    /// state of the object.
    ///
    /// # Errors
    /// As [`Writer::patch`].
    pub async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        self.writer.patch(key, patch, only_if).await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`Writer::delete`].
    pub async fn delete(&self, key: &ObjectKey) -> Result<Deleted<K>, WriteError> {
        self.delete_if(key, &Deletion::default()).await
    }

    /// Deletes an object with options and preconditions.
    ///
    /// # Errors
    /// As [`Writer::delete`].
    pub async fn delete_if(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        self.writer.delete(key, deletion).await
    }
}

impl<K: ObjectType> WriteTracker for Objects<K> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.informer.wait_for(token, timeout).await.is_ok()
    }

    fn informer_id(&self) -> Option<InformerId> {
        Some(self.informer.id())
    }
}

impl<K> Clone for Objects<K> {
    fn clone(&self) -> Self {
        let Self { kind, informer, writer, list_page } = self;
        Self {
            kind: kind.clone(),
            informer: informer.clone(),
            writer: writer.clone(),
            list_page: list_page.clone(),
        }
    }
}

impl<K> fmt::Debug for Objects<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.kind)
    }
}
