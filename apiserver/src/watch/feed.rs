//! A watch as a stream of events: the initial state, changes since, and bookmarks of its progress.
//!
//! A waiting watch is a few fields and an entry in a cache. It has no timer and no task; the cache
//! wakes it.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use machinery_objects::Revision;
use machinery_store::{Entry, WatchError};
use tokio::time::Instant;

use super::missed::Missed;
use crate::cache::{
    CacheWatcher, EventType, MissedRange, ObjectState, RevisionChanges, StopReason, View, WatchChange,
    WatcherItem,
};

/// The options of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Whether the client requested bookmarks (`allowWatchBookmarks`).
    pub(crate) bookmarks: bool,
    /// End of the watch, by its timeout.
    pub(crate) until: Instant,
}

/// How the end of the initial state is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Silent,
    Annotated,
}

/// An item of a feed.
pub(crate) enum Item {
    Changed(Changed),
    /// A bookmark: all changes up to this revision were sent. The flag: this is the end of the
    /// initial state.
    Bookmark(Revision, bool),
}

/// A change, as a watcher sees it.
pub(crate) struct Changed {
    pub(crate) what: EventType,
    pub(crate) revision: Revision,
    from: From,
}

enum From {
    /// An object of the initial state.
    State(Arc<Entry>),
    /// A commit, and the index of one of its changes.
    Revision(Arc<RevisionChanges>, usize),
}

/// A running watch.
pub(crate) struct Feed {
    follow: CacheWatcher,
    ready: VecDeque<Item>,
    /// The rest of the initial state.
    state: Option<Box<std::vec::IntoIter<Arc<Entry>>>>,
    missed: Option<Box<Missed>>,
    plan: Plan,
    /// The revision of the last bookmark, and the time of the next.
    marked: Revision,
    mark_at: Instant,
    last_mark_is_out: bool,
    /// The time at which the cache is to wake this feed.
    alarm: Option<Instant>,
    is_over: bool,
}

/// How often an idle watch is marked.
const MARKS: Duration = Duration::from_secs(60);
/// A watch that ends gets a last bookmark at this time before: its client resumes from there.
const BEFORE_END: Duration = Duration::from_millis(1500);

/// Maximum number of revisions read from the store before the task yields.
const TURN: usize = 128;

impl Feed {
    /// Starts with the changes after a revision.
    pub(crate) fn after(follow: (CacheWatcher, Option<MissedRange>), after: Revision, plan: Plan) -> Self {
        let (follow, missing) = follow;
        let mut feed = Self::new(follow, after, plan);
        feed.miss(missing);
        feed
    }

    /// Starts with the initial state.
    pub(crate) fn with_state(
        follow: CacheWatcher,
        state: Vec<Arc<Entry>>,
        at: Revision,
        end: End,
        plan: Plan,
    ) -> Self {
        let mut feed = Self::new(follow, at, plan);
        feed.ready.extend(match end {
            End::Silent => None,
            End::Annotated => Some(Item::Bookmark(at, true)),
        });
        feed.state = Some(Box::new(state.into_iter()));
        feed
    }

    fn new(follow: CacheWatcher, after: Revision, plan: Plan) -> Self {
        let mark_at = (Instant::now() + MARKS).min(before_end(plan.until));
        Self {
            // A kind that has already been replaced has no events.
            is_over: follow.kind().replaced.get().is_some(),
            follow,
            ready: VecDeque::new(),
            state: None,
            missed: None,
            plan,
            marked: after,
            mark_at,
            last_mark_is_out: false,
            alarm: None,
        }
    }

    /// Changes the set of keys, once all changes under the old keys were sent; returns a view of
    /// the same revision.
    pub(crate) fn rekey(&mut self, remove: &BTreeSet<Arc<str>>, add: &BTreeSet<Arc<str>>) -> Option<View> {
        if self.is_over || self.state.is_some() || !self.ready.is_empty() || self.missed.is_some() {
            return None;
        }
        let view = self.follow.rekey(remove, add)?;
        self.marked = self.marked.max(view.at);
        Some(view)
    }

    pub(crate) const fn follow(&self) -> &CacheWatcher {
        &self.follow
    }

    fn miss(&mut self, missing: Option<MissedRange>) {
        self.missed = missing.map(|missing| Box::new(Missed::new(&self.follow, missing)));
    }

    /// Returns the next item that needs no waiting.
    fn at_hand(&mut self) -> Option<Item> {
        if let Some(entry) = self.state.as_mut().and_then(Iterator::next) {
            return Some(Item::Changed(Changed::found(entry)));
        }
        self.state = None;
        self.ready.pop_front()
    }

    /// Translates changes for this watch, from the index `first` on.
    fn take(&mut self, revised: &Arc<RevisionChanges>, first: usize) {
        for (at, change) in revised.changes.iter().enumerate().skip(first) {
            if let Some(what) = self.follow.event_type(change) {
                self.tell(revised, at, what);
            }
        }
    }

    fn tell(&mut self, revised: &Arc<RevisionChanges>, at: usize, what: EventType) {
        let from = From::Revision(revised.clone(), at);
        self.ready.push_back(Item::Changed(Changed { what, revision: revised.revision, from }));
    }

    /// Yields missed changes from the store, until there are none left.
    fn poll_missed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WatchError>> {
        for _ in 0..TURN {
            let Some(missed) = &mut self.missed else { return Poll::Ready(Ok(())) };
            match std::task::ready!(missed.poll_next(&self.follow, cx))? {
                Some(revised) => {
                    self.take(&Arc::new(revised), 0);
                    if !self.ready.is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                }
                None => {
                    self.follow.caught_up(missed.up_to);
                    self.missed = None;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits: requests a bookmark if one is due, and sets the timer.
    fn rest(&mut self, now: Instant) {
        // Most watches rarely have events, and there are many: their buffers are freed.
        self.ready.shrink_to_fit();
        let marks = self.plan.bookmarks && !self.last_mark_is_out;
        if marks && now >= self.mark_at {
            // Progress of the store: the cache of a kind without changes may be far behind it.
            self.follow.request_progress();
            let last = before_end(self.plan.until);
            self.last_mark_is_out = self.mark_at >= last;
            self.mark_at = (now + MARKS).min(last);
        }
        let marks = self.plan.bookmarks && !self.last_mark_is_out;
        let due = if marks { self.mark_at.min(self.plan.until) } else { self.plan.until };
        // A timer a little too early would be useless.
        if self.alarm.is_none_or(|alarm| alarm != due || alarm <= now) {
            self.alarm = Some(due);
            self.follow.wake_at(due);
        }
    }
}

/// The stream ends without an error at its timeout, or with its kind, or with the server.
impl Stream for Feed {
    type Item = Result<Item, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let feed = &mut *self;
        if feed.is_over {
            return Poll::Ready(None);
        }
        loop {
            let now = Instant::now();
            if now >= feed.plan.until {
                feed.is_over = true;
                return Poll::Ready(None);
            }
            if let Some(item) = feed.at_hand() {
                return Poll::Ready(Some(Ok(item)));
            }
            if feed.missed.is_some() {
                match feed.poll_missed(cx) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(error)) => {
                        feed.is_over = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    // Its time may end meanwhile, and the server may stop.
                    Poll::Pending if feed.follow.register_waker(cx) => {
                        feed.is_over = true;
                        return Poll::Ready(None);
                    }
                    Poll::Pending => {}
                }
            } else {
                match feed.follow.poll_next(cx) {
                    Poll::Ready(WatcherItem::At(revised, at, what)) => {
                        feed.tell(&revised, at, what);
                        feed.take(&revised, at + 1);
                        continue;
                    }
                    Poll::Ready(WatcherItem::Progress(revision)) => {
                        if feed.plan.bookmarks && revision > feed.marked {
                            feed.marked = revision;
                            feed.ready.push_back(Item::Bookmark(revision, false));
                        }
                        continue;
                    }
                    Poll::Ready(WatcherItem::Missed(missing)) => {
                        feed.miss(Some(missing));
                        continue;
                    }
                    Poll::Ready(WatcherItem::Stopped(why)) => {
                        feed.is_over = true;
                        return Poll::Ready(match why {
                            // The cache was slow: clients resume with another one.
                            StopReason::Stopped
                            | StopReason::Replaced
                            | StopReason::Lost(WatchError::TooSlow { .. }) => None,
                            StopReason::Lost(error) => Some(Err(error)),
                        });
                    }
                    Poll::Pending => {}
                }
            }
            feed.rest(now);
            return Poll::Pending;
        }
    }
}

impl Changed {
    /// An existing object, sent as added.
    pub(crate) fn found(entry: Arc<Entry>) -> Self {
        Self { what: EventType::Added, revision: entry.modified, from: From::State(entry) }
    }

    /// The object: as it is, or the last that was wanted.
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        match &self.from {
            From::State(entry) => entry,
            From::Revision(revised, at) => &self.state(&revised.changes[*at]).entry,
        }
    }

    /// The shared change, for all its watchers.
    pub(crate) fn shared(&self) -> Option<&WatchChange> {
        match &self.from {
            From::State(_) => None,
            From::Revision(revised, at) => Some(&revised.changes[*at]),
        }
    }

    fn state<'c>(&self, change: &'c WatchChange) -> &'c Arc<ObjectState> {
        let state = match self.what {
            EventType::Added | EventType::Modified => &change.after,
            EventType::Deleted | EventType::Left => &change.before,
        };
        state.as_ref().expect("what it is told as says which state there is")
    }
}

fn before_end(until: Instant) -> Instant {
    until.checked_sub(BEFORE_END).unwrap_or(until)
}
