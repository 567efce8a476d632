//! A list/watch source that follows a kind: it has no objects while the kind is absent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream;
use machinery_objects::{
    Capabilities, Freshness, ListError, ListRequest, ListWatch, ObjectKey, Page, ResourceVersion,
    SourceError, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::interval;

use super::state::{CurrentKind, KindState};
use crate::plane::kinds::PartialObject;

/// A source of the objects of the kind that presently has a name.
pub(super) struct KindSource<P> {
    pub(super) states: watch::Receiver<KindState<P>>,
    /// Requests to resolve the name again.
    pub(super) recheck: Arc<Notify>,
    pub(super) capabilities: Capabilities,
    /// The latest version that a list had: an absent kind is not earlier.
    pub(super) last: Mutex<Option<ResourceVersion>>,
    /// The kind of the last first page.
    pub(super) paged: AtomicU64,
}

/// Interval of bookmarks while a kind is absent: informers restart a silent watch.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(30);

impl<P: PartialObject> KindSource<P> {
    /// Returns the present state, once it is known.
    async fn known(&self) -> Result<(KindState<P>, watch::Receiver<KindState<P>>), SourceError> {
        let mut states = self.states.clone();
        let known = states.wait_for(|state| !state.is_unknown()).await;
        let state = known.map(|state| state.clone()).map_err(|_| closed())?;
        Ok((state, states))
    }

    /// Returns the version of an absent kind, which is not earlier than any version seen before.
    fn absent_at(&self, at: Option<ResourceVersion>) -> ResourceVersion {
        let last = self.last.lock().clone();
        match (at, last) {
            (Some(at), Some(last)) if last > at => last,
            (Some(at), _) => at,
            (None, Some(last)) => last,
            (None, None) => ResourceVersion::from(machinery_objects::Revision(1)),
        }
    }

    fn saw(&self, version: &ResourceVersion) {
        let mut last = self.last.lock();
        if last.as_ref().is_none_or(|last| version > last) {
            *last = Some(version.clone());
        }
    }

    /// Requests a check of the name if the kind turns out to be gone.
    fn failed(&self, error: &SourceError) {
        if matches!(error, SourceError::NotServed { .. }) {
            self.recheck.notify_one();
        }
    }
}

#[async_trait]
impl<P: PartialObject> ListWatch<Arc<P>> for KindSource<P> {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<P>>, ListError> {
        let (CurrentKind { source, number, .. }, is_first) = match self.known().await?.0 {
            KindState::Served(current) => (current, request.rest.is_none()),
            KindState::Unknown => return Err(closed().into()),
            KindState::Absent { at } => {
                let version = self.absent_at(at);
                return Ok(Page {
                    items: vec![],
                    unreadable: vec![],
                    version,
                    rest: None,
                    remaining: Some(0),
                });
            }
        };
        if is_first {
            self.paged.store(number, Relaxed);
        } else if self.paged.load(Relaxed) != number {
            // The first page was one of an earlier kind.
            return Err(ListError::Expired { rest: None });
        }
        let listed = source.list(request).await;
        match &listed {
            Ok(page) => self.saw(&page.version),
            Err(ListError::Source(error)) => self.failed(error),
            Err(_) => {}
        }
        listed
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<P>>, WatchError> {
        let (state, mut states) = self.known().await?;
        let events: WatchStream<Arc<P>> = match state {
            KindState::Unknown => return Err(closed().into()),
            KindState::Served(CurrentKind { source, .. }) => {
                let opened = source.watch(request).await;
                if let Err(WatchError::Source(error)) = &opened {
                    self.failed(error);
                }
                opened?
            }
            KindState::Absent { at } => absent(self.absent_at(at), &request),
        };
        // The end of this kind, or of its absence: the informer lists the next one.
        let ended = async move {
            let _ = states.changed().await;
            Err(WatchError::Expired)
        };
        let events = events.map(Some).chain(stream::once(std::future::ready(None)));
        let ended = stream::once(ended).map(Some);
        let until = stream::select_with_strategy(events, ended, |_: &mut ()| stream::PollNext::Left);
        let recheck = self.recheck.clone();
        let until_error = until.scan(false, move |failed, event| {
            let over = std::mem::replace(failed, event.as_ref().is_some_and(Result::is_err));
            if let Some(Err(WatchError::Source(SourceError::NotServed { .. }))) = &event {
                recheck.notify_one();
            }
            std::future::ready(event.filter(|_| !over))
        });
        Ok(Box::pin(until_error))
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<Arc<P>>, ListError> {
        match self.known().await?.0 {
            KindState::Served(CurrentKind { source, .. }) => source.get(key, fresh).await,
            _ => Ok(None),
        }
    }
}

/// Returns the watch of an absent kind: bookmarks, until it ends.
fn absent<P: PartialObject>(version: ResourceVersion, request: &WatchRequest) -> WatchStream<Arc<P>> {
    let is_state = matches!(request.from, WatchFrom::State(_));
    let first = is_state.then(|| WatchEvent::Bookmark { version: version.clone(), initial_state_ends: true });
    let later = stream::unfold(interval(BOOKMARK_INTERVAL), move |mut ticks| {
        let version = version.clone();
        async move {
            ticks.tick().await;
            Some((WatchEvent::Bookmark { version, initial_state_ends: false }, ticks))
        }
    });
    Box::pin(stream::iter(first).chain(later).map(Ok))
}

fn closed() -> SourceError {
    SourceError::Unavailable { reason: "the plane has stopped".into(), retry_after: None }
}
