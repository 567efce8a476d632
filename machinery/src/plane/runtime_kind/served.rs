//! The state of a kind as an object, so that controllers watch it as any other.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream;
use machinery_objects::{
    Capabilities, Freshness, Kind, Labels, ListError, ListRequest, ListWatch, Object, ObjectKey, Page,
    ResourceVersion, Revision, SourceError, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};
use tokio::sync::watch;
use tokio::time::timeout;

/// A kind known by name, and whether it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    pub(super) key: ObjectKey,
    /// Counts the changes; zero until it is known whether the kind is served.
    pub(super) changes: u64,
    /// The kind that is served under the name, with its scope and version.
    pub kind: Option<Kind>,
}

impl Object for ServedKind {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        Some(Revision(self.changes + 1).into())
    }
}

/// A source with one object.
pub(super) struct ServedKindSource(pub(super) watch::Receiver<ServedKind>);

/// Interval of bookmarks: informers restart a silent watch.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(30);

impl ServedKindSource {
    /// Returns the state, once it is known whether the kind is served.
    async fn now(&self) -> Result<(Arc<ServedKind>, ResourceVersion), SourceError> {
        let mut states = self.0.clone();
        let closed =
            |_| SourceError::Unavailable { reason: "the plane has stopped".into(), retry_after: None };
        let known = states.wait_for(|state| state.changes > 0).await.map_err(closed)?;
        let now = Arc::new(known.clone());
        let version = Revision(now.changes + 1).into();
        Ok((now, version))
    }
}

#[async_trait]
impl ListWatch<Arc<ServedKind>> for ServedKindSource {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::LEAST;
        (capabilities.bookmarks, capabilities.versions_are_ordered) = (true, true);
        capabilities
    }

    async fn list(&self, _: ListRequest) -> Result<Page<Arc<ServedKind>>, ListError> {
        let (now, version) = self.now().await?;
        Ok(Page { items: vec![now], unreadable: vec![], version, rest: None, remaining: Some(0) })
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<ServedKind>>, WatchError> {
        let WatchFrom::After(after) = request.from else {
            return Err(SourceError::Unsupported { what: "watch from the state" }.into());
        };
        let seen = after.revision().map_or(0, |revision| revision.0);
        let start = (self.0.clone(), seen);
        Ok(Box::pin(
            stream::unfold(start, |(mut states, seen)| async move {
                let newer = states.wait_for(|state| state.changes + 1 > seen);
                let event = match timeout(BOOKMARK_INTERVAL, newer).await {
                    Ok(Err(_)) => return None,
                    Ok(Ok(state)) => Some(state.clone()),
                    Err(_) => None,
                };
                let (event, seen) = match event {
                    Some(state) => {
                        let seen = state.changes + 1;
                        (WatchEvent::Modified(Arc::new(state)), seen)
                    }
                    None => {
                        let version = Revision(seen).into();
                        (WatchEvent::Bookmark { version, initial_state_ends: false }, seen)
                    }
                };
                Some((Ok(event), (states, seen)))
            })
            .boxed(),
        ))
    }

    async fn get(&self, key: &ObjectKey, _: Freshness) -> Result<Option<Arc<ServedKind>>, ListError> {
        let (now, _) = self.now().await?;
        Ok((now.key == *key).then_some(now))
    }
}
