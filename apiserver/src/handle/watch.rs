//! Watches of a handle.

use std::sync::Arc;
use std::time::Duration;

use futures::future::ready;
use futures::{Stream, StreamExt as _};
use machinery_objects::{
    Freshness, Revision, SourceError, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::Handle;
use super::errors::{broken, lost, watch_error};
use super::read::revision;
use crate::cache::{EventType, ObjectFilter};
use crate::kind::{Kind, Subresource};
use crate::refusal::Refusal;
use crate::watch::{Changed, End, Feed, Item, Plan};

/// The duration of a watch without a timeout. In-process clients cannot disappear unnoticed, so it
/// is long.
pub(super) const LASTS: Duration = Duration::from_secs(365 * 24 * 3600);

impl<K: DeserializeOwned + Send + Sync + 'static> Handle<K> {
    pub(super) async fn follow(&self, request: WatchRequest) -> Result<WatchStream<Arc<K>>, WatchError> {
        let WatchRequest { filter, from, bookmarks, timeout } = request;
        let kind = self.served("watch")?;
        let selection = self.selection(&kind, &filter)?;
        let object_request = self.object_request(&kind, Subresource::Main, filter.namespace.as_deref(), "");
        self.allow("watch", &object_request, &filter.fields)?;
        if self.shared.stopping.is_cancelled() {
            let reason = "the server is stopped".into();
            return Err(SourceError::Unavailable { reason, retry_after: None }.into());
        }
        let until = Instant::now() + timeout.unwrap_or(LASTS).min(LASTS);
        let namespace = filter.namespace.clone();
        let feed =
            self.begin(&kind, from, ObjectFilter { selection, namespace }, Plan { bookmarks, until }).await?;
        let handle = self.clone();
        let events = feed.map(move |item| item.map_err(lost).map(|item| handle.event(&kind, item)));
        Ok(Box::pin(until_error(events)))
    }

    async fn begin(
        &self,
        kind: &Arc<Kind>,
        from: WatchFrom,
        filter: ObjectFilter,
        plan: Plan,
    ) -> Result<Feed, WatchError> {
        match from {
            WatchFrom::State(fresh) => {
                let least = match fresh {
                    Freshness::Newest | Freshness::Any => None,
                    Freshness::AtLeast(version) => Some(revision(&version)?),
                };
                let (view, follow) = match self.shared.view_and_follow(&filter, None, least).await {
                    Ok(begun) => begun,
                    Err(refusal) => return Err(self.watch_error(refusal).await),
                };
                let end = if plan.bookmarks { End::Annotated } else { End::Silent };
                let state = view.select(follow.filter(), None).entries;
                Ok(Feed::with_state(follow, state, view.at, end, plan))
            }
            WatchFrom::After(version) => {
                let after = revision(&version)?;
                if let Err(refusal) = self.shared.objects.reach(after).await {
                    return Err(self.watch_error(refusal).await);
                }
                let cache = match self.shared.cache(kind).await {
                    Ok(cache) => cache,
                    Err(refusal) => return Err(self.watch_error(refusal).await),
                };
                let (follow, missing) = cache.follow(filter, None, after);
                if let Some(missing) = missing {
                    // Reports an expired position immediately.
                    follow.store_watch(missing.after).await.map_err(lost)?;
                }
                Ok(Feed::after((follow, missing), after, plan))
            }
        }
    }

    fn event(&self, kind: &Kind, item: Item) -> WatchEvent<Arc<K>> {
        match item {
            Item::Changed(changed) => self.seen(kind, &changed),
            Item::Bookmark(at, ends) => WatchEvent::Bookmark { version: at.into(), initial_state_ends: ends },
        }
    }

    pub(super) fn seen(&self, kind: &Kind, changed: &Changed) -> WatchEvent<Arc<K>> {
        let object = match self.object(kind, changed.entry(), changed.revision) {
            Ok(object) => object,
            Err(error) => {
                let is_gone = matches!(changed.what, EventType::Deleted | EventType::Left);
                return WatchEvent::Unreadable(broken(
                    kind,
                    changed.entry(),
                    changed.revision,
                    is_gone,
                    &error,
                ));
            }
        };
        match changed.what {
            EventType::Added => WatchEvent::Added(object),
            EventType::Modified => WatchEvent::Modified(object),
            EventType::Deleted => WatchEvent::Deleted(object),
            EventType::Left => WatchEvent::Left(object),
        }
    }

    pub(super) async fn watch_error(&self, refusal: Refusal) -> WatchError {
        let newest: Option<Revision> = self.shared.objects.revision().await.ok();
        watch_error(refusal, newest)
    }
}

/// Ends a stream after its first error.
pub(super) fn until_error<T, E>(
    events: impl Stream<Item = Result<T, E>>,
) -> impl Stream<Item = Result<T, E>> {
    events.scan(false, |is_over, event| {
        let event = (!*is_over).then_some(event);
        *is_over = matches!(event, Some(Err(_)));
        ready(event)
    })
}
