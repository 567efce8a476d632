//! A watch as a stream of events: the state to begin with, what changed since, and marks of how far it has come.
//!
//! While it waits it is what it knows and a place in a cache. It has no timer and no task; the cache wakes it.

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
use crate::cache::{Change, Ended, Follow, Missing, Next, Revised, State, View, What};

/// How a watch goes.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Whether marks are wanted.
    pub(crate) bookmarks: bool,
    /// When it ends.
    pub(crate) until: Instant,
}

/// How the end of the state to begin with is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Silent,
    Annotated,
}

/// What a feed yields.
pub(crate) enum Item {
    Changed(Changed),
    /// Everything up to this revision has been told. The flag: this is the end of the state.
    Bookmark(Revision, bool),
}

/// A change, as whoever watches is told of it.
pub(crate) struct Changed {
    pub(crate) what: What,
    pub(crate) revision: Revision,
    from: From,
}

enum From {
    /// What is there when the watch begins.
    State(Arc<Entry>),
    /// What happened, and which of the changes of its revision it is.
    Revised(Arc<Revised>, usize),
}

/// A running watch.
pub(crate) struct Feed {
    follow: Follow,
    ready: VecDeque<Item>,
    /// What is there to begin with, and has not been told yet.
    state: Option<Box<std::vec::IntoIter<Arc<Entry>>>>,
    missed: Option<Box<Missed>>,
    plan: Plan,
    /// What the last mark said, and when the next is due.
    marked: Revision,
    mark_at: Instant,
    last_mark_is_out: bool,
    /// For when it has been told to wake this.
    alarm: Option<Instant>,
    is_over: bool,
}

/// How often an idle watch is marked.
const MARKS: Duration = Duration::from_secs(60);
/// A watch that ends is marked so long before: its client goes on from there.
const BEFORE_END: Duration = Duration::from_millis(1500);

/// So many revisions are read from the store before others have their turn.
const TURN: usize = 128;

impl Feed {
    /// Begins with what happens after a revision.
    pub(crate) fn after(follow: (Follow, Option<Missing>), after: Revision, plan: Plan) -> Self {
        let (follow, missing) = follow;
        let mut feed = Self::new(follow, after, plan);
        feed.miss(missing);
        feed
    }

    /// Begins with what is there.
    pub(crate) fn with_state(
        follow: Follow,
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

    fn new(follow: Follow, after: Revision, plan: Plan) -> Self {
        let mark_at = (Instant::now() + MARKS).min(before_end(plan.until));
        Self {
            // Of a kind that is another one already there is nothing to tell.
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

    /// Changes the keys, once all that happened under those that it has was told; and shows what is there at just that
    /// moment.
    pub(crate) fn rekey(&mut self, remove: &BTreeSet<Arc<str>>, add: &BTreeSet<Arc<str>>) -> Option<View> {
        if self.is_over || self.state.is_some() || !self.ready.is_empty() || self.missed.is_some() {
            return None;
        }
        let view = self.follow.rekey(remove, add)?;
        self.marked = self.marked.max(view.at);
        Some(view)
    }

    pub(crate) const fn follow(&self) -> &Follow {
        &self.follow
    }

    fn miss(&mut self, missing: Option<Missing>) {
        self.missed = missing.map(|missing| Box::new(Missed::new(&self.follow, missing)));
    }

    /// The next thing that is there already.
    fn at_hand(&mut self) -> Option<Item> {
        if let Some(entry) = self.state.as_mut().and_then(Iterator::next) {
            return Some(Item::Changed(Changed::found(entry)));
        }
        self.state = None;
        self.ready.pop_front()
    }

    /// What these changes are to this watch, from one on.
    fn take(&mut self, revised: &Arc<Revised>, first: usize) {
        for (at, change) in revised.changes.iter().enumerate().skip(first) {
            if let Some(what) = self.follow.what(change) {
                self.tell(revised, at, what);
            }
        }
    }

    fn tell(&mut self, revised: &Arc<Revised>, at: usize, what: What) {
        let from = From::Revised(revised.clone(), at);
        self.ready.push_back(Item::Changed(Changed { what, revision: revised.revision, from }));
    }

    /// What comes from what was missed, until there is nothing left of that.
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

    /// Nothing is there: asks for a mark if one is due, and sleeps until something else is.
    fn rest(&mut self, now: Instant) {
        // Most watches have something to tell seldom, and there are many: what they told it from is not kept.
        self.ready.shrink_to_fit();
        let marks = self.plan.bookmarks && !self.last_mark_is_out;
        if marks && now >= self.mark_at {
            self.follow.ask();
            let last = before_end(self.plan.until);
            self.last_mark_is_out = self.mark_at >= last;
            self.mark_at = (now + MARKS).min(last);
        }
        let marks = self.plan.bookmarks && !self.last_mark_is_out;
        let due = if marks { self.mark_at.min(self.plan.until) } else { self.plan.until };
        // A tick that comes a little early would come in vain.
        if self.alarm.is_none_or(|alarm| alarm != due || alarm <= now) {
            self.alarm = Some(due);
            self.follow.wake_at(due);
        }
    }
}

/// It ends without an error when its time is over, or with its kind, or with the server.
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
                    Poll::Pending if feed.follow.heed(cx) => {
                        feed.is_over = true;
                        return Poll::Ready(None);
                    }
                    Poll::Pending => {}
                }
            } else {
                match feed.follow.poll_next(cx) {
                    Poll::Ready(Next::At(revised, at, what)) => {
                        feed.tell(&revised, at, what);
                        feed.take(&revised, at + 1);
                        continue;
                    }
                    Poll::Ready(Next::Told(revision)) => {
                        if feed.plan.bookmarks && revision > feed.marked {
                            feed.marked = revision;
                            feed.ready.push_back(Item::Bookmark(revision, false));
                        }
                        continue;
                    }
                    Poll::Ready(Next::Missing(missing)) => {
                        feed.miss(Some(missing));
                        continue;
                    }
                    Poll::Ready(Next::Ended(why)) => {
                        feed.is_over = true;
                        return Poll::Ready(match why {
                            // That the cache was slow is nothing that its watches have to hear: they go on with another one.
                            Ended::Stopped | Ended::Replaced | Ended::Lost(WatchError::TooSlow { .. }) => {
                                None
                            }
                            Ended::Lost(error) => Some(Err(error)),
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
    /// Something that is there, and is told of now.
    pub(crate) fn found(entry: Arc<Entry>) -> Self {
        Self { what: What::Added, revision: entry.modified, from: From::State(entry) }
    }

    /// The object: as it is, or the last that was wanted.
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        match &self.from {
            From::State(entry) => entry,
            From::Revised(revised, at) => &self.state(&revised.changes[*at]).entry,
        }
    }

    /// What happened, for all who are told of it.
    pub(crate) fn shared(&self) -> Option<&Change> {
        match &self.from {
            From::State(_) => None,
            From::Revised(revised, at) => Some(&revised.changes[*at]),
        }
    }

    fn state<'c>(&self, change: &'c Change) -> &'c Arc<State> {
        let state = match self.what {
            What::Added | What::Modified => &change.after,
            What::Deleted | What::Left => &change.before,
        };
        state.as_ref().expect("what it is told as says which state there is")
    }
}

fn before_end(until: Instant) -> Instant {
    until.checked_sub(BEFORE_END).unwrap_or(until)
}
