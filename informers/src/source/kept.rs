//! A source of what is kept, from one of what comes: object by object, as it comes.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Freshness, InterestRequest, InterestSource, InterestWatch, ListError, ListRequest,
    ListWatch, ObjectKey, Page, WatchError, WatchRequest, WatchStream,
};

use super::Mapped;

/// What comes, and what is kept of it.
pub(crate) struct Kept<Source: ?Sized, F> {
    pub(crate) source: Arc<Source>,
    pub(crate) keep: Arc<F>,
}

#[async_trait]
impl<S, T, F> ListWatch<T> for Kept<dyn ListWatch<S>, F>
where
    S: Send + 'static,
    T: Send + 'static,
    F: Fn(S) -> T + Send + Sync + 'static,
{
    fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<T>, ListError> {
        let Page { items, unreadable, version, rest, remaining } = self.source.list(request).await?;
        let items = items.into_iter().map(&*self.keep).collect();
        Ok(Page { items, unreadable, version, rest, remaining })
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<T>, WatchError> {
        let events = self.source.watch(request).await?;
        Ok(Box::pin(Mapped { events, keep: self.keep.clone() }))
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<T>, ListError> {
        Ok(self.source.get(key, fresh).await?.map(&*self.keep))
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<T>>> {
        let source = self.source.interests()?;
        Some(Arc::new(Kept { source, keep: self.keep.clone() }))
    }
}

#[async_trait]
impl<S, T, F> InterestSource<T> for Kept<dyn InterestSource<S>, F>
where
    S: Send + 'static,
    T: Send + 'static,
    F: Fn(S) -> T + Send + Sync + 'static,
{
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<T>, WatchError> {
        let InterestWatch { events, interest } = self.source.open(request).await?;
        let events = Box::pin(Mapped { events, keep: self.keep.clone() });
        Ok(InterestWatch { events, interest })
    }
}
