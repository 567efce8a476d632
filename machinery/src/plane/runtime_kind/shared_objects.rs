//! A source of owned objects as a source of shared ones.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use machinery_objects::{
    Capabilities, Freshness, ListError, ListRequest, ListWatch, ObjectKey, Page, WatchError, WatchRequest,
    WatchStream,
};

/// Shares the objects of a source.
pub(in crate::plane) struct SharedObjects<P>(pub(in crate::plane) Arc<dyn ListWatch<P>>);

#[async_trait]
impl<P: Send + Sync + 'static> ListWatch<Arc<P>> for SharedObjects<P> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<P>>, ListError> {
        let Page { items, unreadable, version, rest, remaining } = self.0.list(request).await?;
        let items = items.into_iter().map(Arc::new).collect();
        Ok(Page { items, unreadable, version, rest, remaining })
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<P>>, WatchError> {
        let events = self.0.watch(request).await?;
        Ok(Box::pin(events.map(|event| event.map(|event| event.map(Arc::new)))))
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<Arc<P>>, ListError> {
        Ok(self.0.get(key, fresh).await?.map(Arc::new))
    }
}
