//! A writer that reports each committed write to the run that makes it.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_controllers::{WriteTracker, report_write};
use machinery_objects::{
    Deleted, Deletion, Fence, Object, ObjectKey, Patch, Preconditions, WriteError, Writer,
    WriterCapabilities, Written,
};

/// A writer beside the cache of its objects: a run's own writes request no run of its key.
pub(super) struct ReportingWriter<K, C> {
    pub(super) writer: Arc<dyn Writer<K>>,
    pub(super) cache: C,
}

impl<K: Object, C: WriteTracker> ReportingWriter<K, C> {
    fn report(&self, written: Result<Written<K>, WriteError>) -> Result<Written<K>, WriteError> {
        written.inspect(|written| report_write(&written.token, &self.cache))
    }
}

#[async_trait]
impl<K: Object, C: WriteTracker> Writer<K> for ReportingWriter<K, C> {
    fn capabilities(&self) -> WriterCapabilities {
        self.writer.capabilities()
    }

    async fn create(&self, object: &K, fence: Option<&Fence>) -> Result<Written<K>, WriteError> {
        self.report(self.writer.create(object, fence).await)
    }

    async fn update(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.report(self.writer.update(object, only_if).await)
    }

    async fn update_status(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.report(self.writer.update_status(object, only_if).await)
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        let deleted = self.writer.delete(key, deletion).await;
        deleted.inspect(|deleted| report_write(deleted.token(), &self.cache))
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        self.report(self.writer.patch(key, patch, only_if).await)
    }
}
