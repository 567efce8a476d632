//! A writer that adds a fence to every write.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Deleted, Deletion, Fence, ObjectKey, Patch, Preconditions, WriteError, Writer, WriterCapabilities,
    Written,
};

/// A writer that adds a fence to the conditions of every write.
pub(super) struct FencedWriter<K> {
    pub(super) writer: Arc<dyn Writer<K>>,
    pub(super) fence: Fence,
}

impl<K> FencedWriter<K> {
    fn fence(&self, besides: Option<&Fence>) -> Fence {
        // Both: a write may depend on a lock and on the term under which it is held.
        besides.map_or_else(|| self.fence.clone(), |besides| self.fence.clone().and(besides.clone()))
    }

    fn only_if(&self, only_if: &Preconditions) -> Preconditions {
        Preconditions { fence: Some(self.fence(only_if.fence.as_ref())), ..only_if.clone() }
    }
}

#[async_trait]
impl<K: Send + Sync + 'static> Writer<K> for FencedWriter<K> {
    fn capabilities(&self) -> WriterCapabilities {
        self.writer.capabilities()
    }

    async fn create(&self, object: &K, fence: Option<&Fence>) -> Result<Written<K>, WriteError> {
        self.writer.create(object, Some(&self.fence(fence))).await
    }

    async fn update(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.writer.update(object, &self.only_if(only_if)).await
    }

    async fn update_status(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.writer.update_status(object, &self.only_if(only_if)).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        let deletion = Deletion { only_if: self.only_if(&deletion.only_if), ..deletion.clone() };
        self.writer.delete(key, &deletion).await
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        self.writer.patch(key, patch, &self.only_if(only_if)).await
    }
}
