//! A writer of the kind that presently has a name.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Deleted, Deletion, Fence, Kind, ObjectKey, Patch, Preconditions, SourceError, WriteError, Writer,
    WriterCapabilities, Written,
};

/// Finds the writer of the present kind at each call.
pub(super) struct KindWriter<P> {
    pub(super) name: String,
    pub(super) kind: Box<dyn Fn() -> Option<Kind> + Send + Sync>,
    pub(super) writer_of: Box<dyn Fn(&Kind) -> Arc<dyn Writer<P>> + Send + Sync>,
    pub(super) capabilities: WriterCapabilities,
}

impl<P> KindWriter<P> {
    fn now(&self) -> Result<Arc<dyn Writer<P>>, WriteError> {
        let reason = || format!("there is no kind {} at present", self.name);
        let kind = (self.kind)().ok_or_else(|| SourceError::NotServed { reason: reason() })?;
        Ok((self.writer_of)(&kind))
    }
}

#[async_trait]
impl<P: Send + Sync + 'static> Writer<P> for KindWriter<P> {
    fn capabilities(&self) -> WriterCapabilities {
        self.capabilities
    }

    async fn create(&self, object: &P, fence: Option<&Fence>) -> Result<Written<P>, WriteError> {
        self.now()?.create(object, fence).await
    }

    async fn update(&self, object: &P, only_if: &Preconditions) -> Result<Written<P>, WriteError> {
        self.now()?.update(object, only_if).await
    }

    async fn update_status(&self, object: &P, only_if: &Preconditions) -> Result<Written<P>, WriteError> {
        self.now()?.update_status(object, only_if).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<P>, WriteError> {
        self.now()?.delete(key, deletion).await
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<P>, WriteError> {
        self.now()?.patch(key, patch, only_if).await
    }
}
