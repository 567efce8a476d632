//! A store backend with lists and watches from a cache.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use machinery_objects::{FieldSelector, FieldTerm, LabelSelector, NAME, Revision};
use machinery_store::{
    Backend, Change as Changed, Commit, CommitError, CompactError, Cursor, Event, KeySpan, Page, Range,
    ReadError, Transaction, Watch, WatchError, WatchItem, WatchStream,
};

use super::tools::{Running, kind_of_everything};
use crate::cache::{CacheWatcher, ObjectFilter, RevisionChanges, StopReason, WatchChange, WatcherItem};
use crate::select::Selection;
use crate::watch::Missed;

/// A store and a cache of it.
pub(super) struct Behind {
    store: Arc<dyn Backend>,
    running: Running,
}

impl Behind {
    pub(super) async fn new(store: Arc<dyn Backend>, revisions: usize) -> Self {
        let running = Running::begin(store.clone(), kind_of_everything(), revisions).await;
        Self { store, running }
    }

    fn everything(&self) -> ObjectFilter {
        let (labels, fields) = (LabelSelector::default(), FieldSelector::default());
        let kind = self.running.cache.kind.clone();
        ObjectFilter { selection: Selection { kind, labels, fields }, namespace: None }
    }

    /// Returns a filter that covers a span: a single key is one name in one namespace.
    fn filter(&self, span: &KeySpan) -> ObjectFilter {
        let mut filter = self.everything();
        if let KeySpan::One(key) = span {
            let (namespace, name) = filter.selection.kind.place.names(key);
            filter.selection.fields = FieldTerm::equals(NAME, name).into_iter().collect();
            filter.namespace = namespace.map(Arc::from);
        }
        filter
    }
}

#[async_trait]
impl Backend for Behind {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.store.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        if range.at.is_some() {
            return self.store.range(range).await;
        }
        let view = self.running.cache.view(None).await;
        let view = view.map_err(|refusal| ReadError::Unavailable { why: refusal.message.into() })?;
        let all = view.select(&self.everything(), None).entries.into_iter();
        let behind = |key: &str| range.after.as_deref().is_none_or(|after| key > after);
        let mut entries: Vec<_> =
            all.filter(|entry| range.span.contains(&entry.key) && behind(&entry.key)).collect();
        let limit = range.limit.map_or(usize::MAX, usize::from);
        let more = entries.len().saturating_sub(limit);
        entries.truncate(limit);
        let last = entries.last().filter(|_| more > 0);
        let next = last.map(|last| Cursor { at: view.at, after: last.key.clone() });
        Ok(Page {
            at: view.at,
            current: view.at,
            entries,
            next,
            remaining: range.count.then_some(more as u64),
        })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        self.store.commit(transaction).await
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        // The store reports spans that cannot be watched.
        self.store.watch(KeySpan::one("-"), after).await?;
        self.running
            .cache
            .view(None)
            .await
            .map_err(|refusal| WatchError::Unavailable { why: refusal.message.into() })?;
        let (follow, missing) = self.running.cache.follow(self.filter(&span), None, after);
        let missed = missing.map(|missing| Missed::new(&follow, missing));
        Ok(Watch::new(StoreWatch { follow, missed, span, seen: after }))
    }

    /// Waits for the cache first: a cache that misses compacted revisions stops.
    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let _ = self.running.cache.view(None).await;
        self.store.compact(to).await
    }
}

/// A cache watcher as a store watch.
struct StoreWatch {
    follow: CacheWatcher,
    missed: Option<Missed>,
    span: KeySpan,
    seen: Revision,
}

impl StoreWatch {
    fn seen(&mut self, revised: &RevisionChanges) -> Option<WatchItem> {
        let events: Vec<_> = revised
            .changes
            .iter()
            .filter_map(event)
            .filter(|event| self.span.contains(event.key()))
            .collect();
        self.seen = revised.revision;
        (!events.is_empty()).then_some(WatchItem::Changes { revision: revised.revision, events })
    }

    /// Reports a late running watch as too slow, not as compacted.
    fn too_slow(&self, error: WatchError) -> WatchError {
        match error {
            WatchError::Compacted { compacted, .. } => WatchError::TooSlow { seen: self.seen, compacted },
            other => other,
        }
    }
}

impl WatchStream for StoreWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        loop {
            if let Some(missed) = &mut self.missed {
                let polled = ready!(missed.poll_next(&self.follow, cx));
                let up_to = missed.up_to;
                match polled.map_err(|error| self.too_slow(error))? {
                    Some(revised) => match self.seen(&revised) {
                        Some(seen) => return Poll::Ready(Ok(seen)),
                        None => continue,
                    },
                    None => {
                        self.follow.caught_up(up_to);
                        self.missed = None;
                    }
                }
            }
            match ready!(self.follow.poll_next(cx)) {
                WatcherItem::At(revised, ..) => {
                    if let Some(seen) = self.seen(&revised) {
                        return Poll::Ready(Ok(seen));
                    }
                }
                WatcherItem::Progress(revision) => {
                    self.seen = revision;
                    return Poll::Ready(Ok(WatchItem::Progress(revision)));
                }
                WatcherItem::Missed(missing) => self.missed = Some(Missed::new(&self.follow, missing)),
                WatcherItem::Stopped(StopReason::Lost(error)) => return Poll::Ready(Err(error)),
                WatcherItem::Stopped(_) => {
                    return Poll::Ready(Err(WatchError::Unavailable { why: "the cache ended".into() }));
                }
            }
        }
    }

    fn request_progress(&mut self) {
        self.follow.request_progress();
    }
}

fn event(change: &WatchChange) -> Option<Event> {
    let before = change.before.as_ref().map(|state| state.entry.clone());
    let change = match &change.after {
        Some(state) => Changed::Put(state.entry.clone()),
        None => Changed::Deleted(before.as_ref()?.key.clone()),
    };
    Some(Event { before, change })
}
