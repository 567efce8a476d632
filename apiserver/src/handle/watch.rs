//! Watching through a handle.

use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use machinery_objects::{
    Freshness, Revision, SourceError, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};
use machinery_store::{Range, Span};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::Handle;
use super::read::revision;
use super::refused::{lost, watch_error};
use crate::kind::{Kind, Part};
use crate::refusal::Refusal;
use crate::select::Selection;
use crate::storage::Moment;
use crate::watch::{End, Feed, Item, Plan, Sight, State};

/// As long as a watch lasts that says nothing of it. In the process nobody is gone without being seen to go.
const LASTS: Duration = Duration::from_secs(365 * 24 * 3600);

impl<K: DeserializeOwned + Send + Sync + 'static> Handle<K> {
    pub(super) async fn follow(&self, request: WatchRequest) -> Result<WatchStream<Arc<K>>, WatchError> {
        let WatchRequest { filter, from, bookmarks, timeout } = request;
        let kind = self.served("watch")?;
        let selection = self.selection(&kind, &filter)?;
        let matter = self.matter(&kind, Part::Main, filter.namespace.as_deref(), "");
        self.allow("watch", &matter, &filter.fields)?;
        if self.shared.stopping.is_cancelled() {
            let reason = "the server is stopped".into();
            return Err(SourceError::Unavailable { reason, retry_after: None }.into());
        }
        let until = Instant::now() + timeout.unwrap_or(LASTS).min(LASTS);
        let plan = Plan { state: None, bookmarks, until, replaced: kind.replaced.clone() };
        let feed = self.begin(from, kind.place.span(filter.namespace.as_deref()), selection, plan).await?;
        let events = stream::unfold(Some((self.clone(), kind, feed)), |watching| async {
            let (handle, kind, mut feed) = watching?;
            let next = tokio::select! {
                biased;
                () = handle.shared.stopping.cancelled() => None,
                next = feed.next() => next,
            };
            let event = next?.map_err(lost).and_then(|item| handle.event(&kind, item).map_err(Into::into));
            let watching = event.is_ok().then_some((handle, kind, feed));
            Some((event, watching))
        });
        Ok(Box::pin(events))
    }

    async fn begin(
        &self,
        from: WatchFrom,
        span: Span,
        selection: Selection,
        mut plan: Plan,
    ) -> Result<Feed<Selection>, WatchError> {
        let objects = &self.shared.objects;
        let after = match from {
            WatchFrom::State(fresh) => {
                let moment = match fresh {
                    Freshness::Newest | Freshness::Any => Moment::Newest,
                    Freshness::AtLeast(version) => Moment::AtLeast(revision(&version)?),
                };
                let listed = match objects.list(Range::of(span.clone()), moment).await {
                    Ok(listed) => listed,
                    Err(refusal) => return Err(self.watch_error(refusal).await),
                };
                let end = if plan.bookmarks { End::Annotated } else { End::Silent };
                plan.state = Some(State { entries: listed.entries, at: listed.at, end });
                listed.at
            }
            WatchFrom::After(version) => {
                let after = revision(&version)?;
                if let Err(refusal) = objects.reach(after).await {
                    return Err(self.watch_error(refusal).await);
                }
                after
            }
        };
        let watch = objects.watch(span, after).await.map_err(lost)?;
        Ok(Feed::new(watch, after, selection, plan))
    }

    fn event(&self, kind: &Kind, item: Item) -> Result<WatchEvent<Arc<K>>, SourceError> {
        let object = |entry, at| self.object(kind, entry, at);
        Ok(match item {
            Item::Sight(Sight::Added(entry), at) => WatchEvent::Added(object(&entry, at)?),
            Item::Sight(Sight::Modified(entry), at) => WatchEvent::Modified(object(&entry, at)?),
            Item::Sight(Sight::Deleted(entry), at) => WatchEvent::Deleted(object(&entry, at)?),
            Item::Sight(Sight::Left(entry), at) => WatchEvent::Left(object(&entry, at)?),
            Item::Bookmark(at, ends) => WatchEvent::Bookmark { version: at.into(), initial_state_ends: ends },
        })
    }

    async fn watch_error(&self, refusal: Refusal) -> WatchError {
        let newest: Option<Revision> = self.shared.objects.revision().await.ok();
        watch_error(refusal, newest)
    }
}
