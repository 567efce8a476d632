//! The objects of one type.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::WriteTracker;
use machinery_informers::{Informer, Snapshot};
use machinery_objects::{
    Deleted, Deletion, Fence, Filter, Kind, ListError, Object, ObjectKey, ObjectRef, Patch, Preconditions,
    Uid, WriteError, WriteToken, Writer, Written,
};

use super::fenced::FencedWriter;
use super::kinds::ObjectType;
use super::live_list::{ListPage, list_all};

/// The objects of one type: read as the informer has them, written where they are.
///
/// What was written can be read a moment later: [`Run::wrote`](machinery_controllers::Run::wrote) makes the next run of a key wait for that, and
/// [`Informer::reached`] anybody else. Cheap to clone.
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
        Self { kind, informer, writer, list_page }
    }

    /// What they are.
    #[must_use]
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// One object, as the informer has it.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.informer.get(key)
    }

    /// All of them, as of one moment.
    #[must_use]
    pub fn read(&self) -> Snapshot<ObjectKey, Arc<K>> {
        self.informer.read()
    }

    /// Those that are selected, as they are now: whoever has them is asked, and all that was written before is in the answer. It costs what a list costs; for
    /// what an informer will know a moment later there is [`read`](Self::read). One that cannot be read as the type is left out.
    ///
    /// # Errors
    /// As [`ListWatch::list`](machinery_objects::ListWatch::list).
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Arc<K>>, ListError> {
        list_all(&*self.list_page, filter).await
    }

    /// Which object that is, for notes about it.
    #[must_use]
    pub fn about(&self, object: &K) -> ObjectRef {
        ObjectRef { kind: self.kind.clone(), key: object.key(), uid: object.uid().and_then(Uid::new) }
    }

    /// The informer of all of them.
    #[must_use]
    pub const fn informer(&self) -> &Informer<K> {
        &self.informer
    }

    /// The same objects, written only as long as a fence holds: that of a [`Term`](machinery_controllers::Term::fence), of a
    /// [`HeldLock`](machinery_controllers::HeldLock::fence) name, or of both, one after the other. If it does not hold a write is
    /// [`Conflict::Fence`](machinery_objects::Conflict::Fence). A server that holds no fences is sent nothing: each write is
    /// [`SourceError::Unsupported`](machinery_objects::SourceError::Unsupported).
    #[must_use]
    pub fn fenced(&self, fence: &Fence) -> Self {
        let writer = Arc::new(FencedWriter { writer: self.writer.clone(), fence: fence.clone() });
        Self { writer, ..self.clone() }
    }

    /// Whether the server holds fences. Kubernetes' own does not.
    #[must_use]
    pub fn has_fences(&self) -> bool {
        self.writer.capabilities().fences
    }

    /// Where they are written, with all that can be said of a write.
    #[must_use]
    pub fn writer(&self) -> Arc<dyn Writer<K>> {
        self.writer.clone()
    }

    /// Makes an object that is not there.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn create(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.writer.create(object, None).await
    }

    /// Replaces an object, if it is as it was read, but for its status.
    ///
    /// # Errors
    /// As [`Writer::update`].
    pub async fn update(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.update_if(object, &Preconditions::default()).await
    }

    /// The same, if this is so, too.
    ///
    /// # Errors
    /// As [`Writer::update`].
    pub async fn update_if(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.writer.update(object, only_if).await
    }

    /// Replaces the status of an object, if it is as it was read.
    ///
    /// # Errors
    /// As [`Writer::update_status`].
    pub async fn update_status(&self, object: &K) -> Result<Written<K>, WriteError> {
        self.update_status_if(object, &Preconditions::default()).await
    }

    /// The same, if this is so, too.
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

    /// Changes a part of an object, if this is so. Without conditions it is changed whatever it is by now.
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

    /// The same, as this says.
    ///
    /// # Errors
    /// As [`Writer::delete`].
    pub async fn delete_if(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        self.writer.delete(key, deletion).await
    }
}

impl<K: ObjectType> WriteTracker for Objects<K> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.informer.reached(token, timeout).await.is_ok()
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
