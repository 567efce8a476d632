//! One watcher of a cache.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll};

use machinery_objects::Revision;
use machinery_store::{Watch, WatchError};
use tokio::time::Instant;

use super::filter::IndexPlacement;
use super::hub::{RingRead, StopReason};
use super::ring::{RevisionChanges, WatchChange};
use super::watchers::Watchers;
use super::{KeyField, ObjectFilter, ObjectState, Term, View, WatchCache};
use crate::kind::Kind;
use crate::refusal::Refusal;

/// A watcher: pending revisions, entries in the index, and a waker. While it is not polled it grows
/// by at most a kilobyte of pending revisions.
pub(crate) struct CacheWatcher {
    pub(super) cache: Arc<WatchCache>,
    filter: Arc<ObjectFilter>,
    keys: Option<Box<IndexedKeys>>,
    number: u32,
    /// All events up to this revision were delivered, or precede the start of the watch.
    delivered: Revision,
}

/// The keys of an interest and the field that they are compared with.
pub(crate) struct WatchKeys {
    pub(crate) by: KeyField,
    pub(crate) set: BTreeSet<Arc<str>>,
}

/// The keys of a watcher that are in the index.
struct IndexedKeys {
    by: KeyField,
    set: BTreeSet<Arc<str>>,
    /// Indexed ahead of the edit that adds them; disjoint from `set`.
    ahead: BTreeSet<Arc<str>>,
}

/// The next item of a watcher.
pub(crate) enum WatcherItem {
    /// The first change of this revision, by index, that the watcher matches, and its event type.
    At(Arc<RevisionChanges>, usize, EventType),
    /// The requested progress: all events up to this revision were delivered.
    Progress(Revision),
    /// Revisions that the ring no longer has.
    Missed(MissedRange),
    Stopped(StopReason),
}

/// The event type of a change as seen through a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
    /// The object exists and no longer matches.
    Left,
}

/// A range of revisions that the ring no longer has. It is read from the store, unless compacted;
/// the watcher continues after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissedRange {
    pub(crate) after: Revision,
    pub(crate) up_to: Revision,
}

/// Revisions examined before the task yields.
const TURN: usize = 512;
/// Keys indexed before the lock is released once.
const AT_ONCE: usize = 512;

impl WatchCache {
    /// Starts a watcher after a revision, which may be in the future. Returns the range that the
    /// ring no longer has, if any.
    pub(crate) fn follow(
        self: &Arc<Self>,
        filter: ObjectFilter,
        keys: Option<WatchKeys>,
        after: Revision,
    ) -> (CacheWatcher, Option<MissedRange>) {
        let mut follow = self.following(filter, keys);
        let mut hub = self.hub.lock();
        let is_whole = hub.begin(follow.number, after);
        let missing = (!is_whole).then_some(MissedRange { after, up_to: hub.reached });
        drop(hub);
        follow.delivered = after;
        (follow, missing)
    }

    /// Returns a view at `least` or later and a watcher that continues from exactly its revision.
    pub(crate) async fn view_and_follow(
        self: &Arc<Self>,
        filter: ObjectFilter,
        keys: Option<WatchKeys>,
        least: Option<Revision>,
    ) -> Result<(View, CacheWatcher), Refusal> {
        self.reach(least).await?;
        let mut follow = self.following(filter, keys);
        let mut hub = self.hub.lock();
        let view = hub.view();
        hub.begin(follow.number, view.at);
        drop(hub);
        follow.delivered = view.at;
        Ok((view, follow))
    }

    /// Returns an indexed watcher without a start revision.
    fn following(self: &Arc<Self>, filter: ObjectFilter, keys: Option<WatchKeys>) -> CacheWatcher {
        let filter = Arc::new(filter);
        let number = self.hub.lock().watches.add(&filter, keys.is_some());
        let keys =
            keys.map(|WatchKeys { by, set }| Box::new(IndexedKeys { by, set, ahead: BTreeSet::new() }));
        let follow = CacheWatcher { cache: self.clone(), filter, keys, number, delivered: Revision(0) };
        if let Some(keys) = &follow.keys {
            follow.index_keys(&keys.by, &keys.set, Watchers::add_term);
        }
        if follow.is_everywhere() {
            self.counted.everywhere.inc();
        }
        follow
    }
}

impl CacheWatcher {
    /// Polls for the next item. Yields after a bounded number of revisions.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<WatcherItem> {
        for _ in 0..TURN {
            let mut hub = self.cache.hub.lock();
            // A stop does not wait for pending events: clients resume from their last revision.
            if hub.ended() == Some(&StopReason::Stopped) {
                return Poll::Ready(WatcherItem::Stopped(StopReason::Stopped));
            }
            match hub.read_next(self.number) {
                RingRead::At(revised) => {
                    drop(hub);
                    // Already read from the store, or before a start revision in the future.
                    if revised.revision <= self.delivered {
                        continue;
                    }
                    let mut changes = revised.changes.iter().enumerate();
                    if let Some((at, what)) =
                        changes.find_map(|(at, change)| Some((at, self.event_type(change)?)))
                    {
                        self.delivered = revised.revision;
                        return Poll::Ready(WatcherItem::At(revised, at, what));
                    }
                }
                RingRead::TooFarBehind(first) => {
                    let up_to = hub.skip(self.number);
                    let after = Revision(first.0 - 1).max(self.delivered);
                    // A start revision in the future skips the events before it.
                    if after < up_to {
                        return Poll::Ready(WatcherItem::Missed(MissedRange { after, up_to }));
                    }
                }
                RingRead::Nothing => {
                    let (reached, ended) = (hub.reached, hub.ended().cloned());
                    let slot = hub.watches.slot(self.number);
                    // Only now: watchers of a replaced kind first receive all of its changes.
                    if let Some(ended) = ended {
                        return Poll::Ready(WatcherItem::Stopped(ended));
                    }
                    if std::mem::take(&mut slot.progress_ready) {
                        return Poll::Ready(WatcherItem::Progress(reached));
                    }
                    let old = slot.wake(cx);
                    drop(hub);
                    drop(old);
                    return Poll::Pending;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Registers the task's waker without examining revisions. Returns whether the server stops.
    pub(crate) fn register_waker(&self, cx: &mut Context<'_>) -> bool {
        let mut hub = self.cache.hub.lock();
        let is_stopped = hub.ended() == Some(&StopReason::Stopped);
        let old = hub.watches.slot(self.number).wake(cx);
        drop(hub);
        drop(old);
        is_stopped
    }

    /// Returns the event type of a change for this watcher, or none.
    pub(crate) fn event_type(&self, change: &WatchChange) -> Option<EventType> {
        let sees = |state: &Option<Arc<ObjectState>>| state.as_ref().is_some_and(|state| self.sees(state));
        match (sees(&change.before), sees(&change.after)) {
            (false, false) => None,
            (false, true) => Some(EventType::Added),
            (true, true) => Some(EventType::Modified),
            (true, false) if change.after.is_some() => Some(EventType::Left),
            (true, false) => Some(EventType::Deleted),
        }
    }

    /// Returns whether an object matches the filter and, if there are keys, one of the keys.
    pub(crate) fn sees(&self, state: &ObjectState) -> bool {
        self.filter.sees(state)
            && self
                .keys
                .as_ref()
                .is_none_or(|keys| keys.by.of(&self.filter, state).is_some_and(|key| keys.set.contains(key)))
    }

    /// Opens a store watch of the same span after a revision.
    pub(crate) fn store_watch(
        &self,
        after: Revision,
    ) -> impl Future<Output = Result<Watch, WatchError>> + Send + use<> {
        let (store, filter) = (self.cache.store.clone(), &self.filter);
        let span = filter.selection.span(filter.namespace.as_deref());
        async move { store.watch(span, after).await }
    }

    /// Waits until the cache includes all writes acknowledged before the call.
    pub(crate) fn catch_up(&self) -> impl Future<Output = Result<(), Refusal>> + Send + use<> {
        let cache = self.cache.clone();
        async move { cache.reach(None).await }
    }

    pub(crate) fn filter(&self) -> &ObjectFilter {
        &self.filter
    }

    pub(crate) fn kind(&self) -> &Arc<Kind> {
        &self.cache.kind
    }

    /// Marks events up to a revision as delivered.
    pub(crate) fn caught_up(&mut self, up_to: Revision) {
        self.delivered = self.delivered.max(up_to);
    }

    /// Requests a [`WatcherItem::Progress`] once the cache has the store's revision.
    pub(crate) fn request_progress(&self) {
        self.cache.hub.lock().watches.request_progress(self.number);
        self.cache.request_progress();
    }

    /// Wakes the task at an instant or up to one tick later.
    pub(crate) fn wake_at(&self, at: Instant) {
        let (now, tick) = (self.cache.ticks(), self.cache.tick(at));
        let first = self.cache.hub.lock().watches.set_alarm(self.number, now, tick);
        if first {
            self.cache.nudge();
        }
    }

    /// Returns whether the watcher examines every event because no index term narrows its filter.
    fn is_everywhere(&self) -> bool {
        self.keys.is_none() && matches!(self.filter.placement(), IndexPlacement::Everywhere(_))
    }

    /// Replaces keys and returns a view at exactly that revision. `None`: there are pending
    /// revisions under the old keys, which must be delivered first.
    ///
    /// New keys are indexed before that moment and old keys removed after it, so that the lock is
    /// held only briefly.
    pub(crate) fn rekey(&mut self, remove: &BTreeSet<Arc<str>>, add: &BTreeSet<Arc<str>>) -> Option<View> {
        if self.cache.hub.lock().watches.slot(self.number).pending.is_some() {
            return None;
        }
        self.index_ahead(add);
        let view = {
            let mut hub = self.cache.hub.lock();
            // Again, under the lock of the view: an event may have arrived during the indexing.
            if hub.watches.slot(self.number).pending.is_some() {
                return None;
            }
            hub.view()
        };
        let keys = self.keys.as_mut()?;
        let mut gone = std::mem::take(&mut keys.ahead);
        gone.extend(remove.iter().filter_map(|key| keys.set.take(key)));
        gone.retain(|key| !add.contains(key));
        keys.set.extend(add.iter().cloned());
        // After the view: a superfluous entry costs an evaluation, a missing one an event.
        self.unindex_keys(&gone);
        Some(view)
    }

    /// Adds keys to the index before the edit.
    pub(super) fn index_ahead(&mut self, add: &BTreeSet<Arc<str>>) {
        let Some(keys) = &self.keys else { return };
        let is_new = |key: &&Arc<str>| !keys.set.contains(*key) && !keys.ahead.contains(*key);
        let new: BTreeSet<_> = add.iter().filter(is_new).cloned().collect();
        self.index_keys(&keys.by, &new, Watchers::add_term);
        if let Some(keys) = &mut self.keys {
            keys.ahead.extend(new);
        }
    }

    fn unindex_keys(&self, gone: &BTreeSet<Arc<str>>) {
        if let Some(keys) = &self.keys {
            self.index_keys(&keys.by, gone, Watchers::remove_term);
        }
    }

    /// Adds keys to the index, or removes them, and releases the lock from time to time.
    fn index_keys(&self, by: &KeyField, keys: &BTreeSet<Arc<str>>, file: fn(&mut Watchers, &Term<'_>, u32)) {
        let namespace = self.filter.namespace.as_deref();
        let mut keys = keys.iter().peekable();
        while keys.peek().is_some() {
            let mut hub = self.cache.hub.lock();
            for key in keys.by_ref().take(AT_ONCE) {
                file(&mut hub.watches, &by.term(namespace, key), self.number);
            }
        }
    }
}

impl Drop for CacheWatcher {
    fn drop(&mut self) {
        if self.is_everywhere() {
            self.cache.counted.everywhere.dec();
        }
        if let Some(keys) = &self.keys {
            self.unindex_keys(&keys.set);
            self.unindex_keys(&keys.ahead);
        }
        // The slot may be reused from here on.
        let slot = self.cache.hub.lock().watches.remove(&self.filter, self.keys.is_some(), self.number);
        // Dropping the waker may re-enter the cache.
        drop(slot);
    }
}
