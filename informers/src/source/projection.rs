//! A source that projects the objects of another source while they are decoded.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Freshness, InterestRequest, InterestSource, InterestWatch, ListError, ListRequest,
    ListWatch, Object, ObjectKey, Page, SourceError, Unreadable, WatchError, WatchRequest, WatchStream,
};
use machinery_sync::contained;

use super::ProjectedWatch;
use crate::readable::{readable_of, unreadable};

/// Adapts a source without a projection.
pub(crate) fn unprojected<S, T>(source: Arc<dyn ListWatch<S>>) -> Arc<dyn ListWatch<Arc<T>>>
where
    S: Into<Arc<T>> + Send + 'static,
    T: Object,
{
    let project = |object: S| {
        contained(|| object.into())
            .map_err(|_| unreadable(ObjectKey::unnamed(), None, "its conversion panics"))
    };
    Arc::new(ProjectedSource { source, project: Arc::new(project) })
}

/// Adapts a source by a projection. If it panics, the object is reported as unreadable by its name.
pub(crate) fn projected<S, T>(
    source: Arc<dyn ListWatch<S>>,
    project: impl Fn(S) -> T + Send + Sync + 'static,
) -> Arc<dyn ListWatch<Arc<T>>>
where
    S: Object,
    T: Object,
{
    let project = move |object: S| {
        let (key, version) = contained(|| (object.key(), object.version())).unwrap_or_default();
        contained(|| Arc::new(project(object))).map_err(|_| unreadable(key, version, "its projection panics"))
    };
    Arc::new(ProjectedSource { source, project: Arc::new(project) })
}

/// A source with its projection.
struct ProjectedSource<Source: ?Sized, F> {
    source: Arc<Source>,
    project: Arc<F>,
}

#[async_trait]
impl<S, T, F> ListWatch<T> for ProjectedSource<dyn ListWatch<S>, F>
where
    S: Send + 'static,
    T: Send + 'static,
    F: Fn(S) -> Result<T, Unreadable> + Send + Sync + 'static,
{
    fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<T>, ListError> {
        Ok(readable_of(self.source.list(request).await?, &*self.project))
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<T>, WatchError> {
        let events = self.source.watch(request).await?;
        Ok(Box::pin(ProjectedWatch { events, project: self.project.clone() }))
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<T>, ListError> {
        let kept = self.source.get(key, fresh).await?.map(&*self.project).transpose();
        kept.map_err(|unreadable| SourceError::Malformed { reason: unreadable.to_string() }.into())
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<T>>> {
        let source = self.source.interests()?;
        Some(Arc::new(ProjectedSource { source, project: self.project.clone() }))
    }
}

#[async_trait]
impl<S, T, F> InterestSource<T> for ProjectedSource<dyn InterestSource<S>, F>
where
    S: Send + 'static,
    T: Send + 'static,
    F: Fn(S) -> Result<T, Unreadable> + Send + Sync + 'static,
{
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<T>, WatchError> {
        let InterestWatch { events, interest } = self.source.open(request).await?;
        let events = Box::pin(ProjectedWatch { events, project: self.project.clone() });
        Ok(InterestWatch { events, interest })
    }
}
