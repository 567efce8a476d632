//! A watch as a stream of events: the state to begin with, what changed since, and marks of how far it has come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{Entry, Seen as Stored, Watch, WatchError};
use tokio::time::{Instant, sleep_until};

use super::{Seen, Sight};
use crate::kind::Replaced;

/// How a watch goes.
pub(crate) struct Plan {
    /// The state to begin with, and whether its end is marked.
    pub(crate) state: Option<State>,
    /// Whether marks are wanted.
    pub(crate) bookmarks: bool,
    /// When it ends.
    pub(crate) until: Instant,
    /// It ends with its kind, too.
    pub(crate) replaced: Replaced,
}

/// What is there when a watch begins.
pub(crate) struct State {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) at: Revision,
    /// Whether its end is marked as such, or is a mark like all others.
    pub(crate) end: End,
}

/// How the end of the state to begin with is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Silent,
    Bookmark,
    Annotated,
}

/// What a feed yields.
#[derive(Debug)]
pub(crate) enum Item {
    /// A change, at its revision.
    Sight(Sight, Revision),
    /// Everything up to this revision has been told. The flag: this is the end of the state.
    Bookmark(Revision, bool),
}

/// A running watch.
pub(crate) struct Feed<S> {
    watch: Watch,
    selection: S,
    ready: VecDeque<Item>,
    bookmarks: bool,
    /// What the last mark said, and when the next is due.
    marked: Revision,
    mark_at: Instant,
    /// What comes up to here is known already.
    after: Revision,
    reached: Revision,
    replaced: Replaced,
    /// What comes after this is not told any more: it is of another kind.
    last: Option<Revision>,
    until: Instant,
    last_mark_is_out: bool,
}

/// How often an idle watch is marked.
const MARKS: Duration = Duration::from_secs(60);
/// A watch that ends is marked so long before: its client goes on from there.
const BEFORE_END: Duration = Duration::from_millis(1500);

impl<S: Seen> Feed<S> {
    /// Begins; `watch` is of what comes after the state, or after what the client knows, or of more.
    pub(crate) fn new(watch: Watch, after: Revision, selection: S, plan: Plan) -> Self {
        let mut ready = VecDeque::new();
        if let Some(State { entries, at, end }) = plan.state {
            let seen = entries.into_iter().filter(|entry| selection.sees(entry));
            ready.extend(seen.map(|entry| {
                let revision = entry.modified;
                Item::Sight(Sight::Added(entry), revision)
            }));
            match end {
                End::Silent => {}
                End::Bookmark => ready.push_back(Item::Bookmark(at, false)),
                End::Annotated => ready.push_back(Item::Bookmark(at, true)),
            }
        }
        let mark_at = (Instant::now() + MARKS).min(before_end(plan.until));
        let (bookmarks, until, replaced) = (plan.bookmarks, plan.until, plan.replaced);
        // The state may be one of the other kind already: then there is nothing to tell.
        let last = replaced.get().map(|_| Revision::ZERO);
        if last.is_some() {
            ready.clear();
        }
        Self {
            watch,
            selection,
            ready,
            bookmarks,
            marked: after,
            mark_at,
            after,
            reached: after,
            replaced,
            last,
            until,
            last_mark_is_out: false,
        }
    }

    /// The next thing. `None`: its time is over, or it has come to its end. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<Item, WatchError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.last.is_some_and(|last| self.reached >= last) {
                return None;
            }
            let due = if self.bookmarks && !self.last_mark_is_out { self.mark_at } else { self.until };
            tokio::select! {
                biased;
                last = self.replaced.wait(), if self.last.is_none() => {
                    self.last = Some(*last);
                    self.watch.request_progress();
                }
                seen = self.watch.next() => match seen {
                    Ok(seen) => self.take(seen),
                    Err(error) => return Some(Err(error)),
                },
                () = sleep_until(due.min(self.until)) => {
                    if Instant::now() >= self.until {
                        return None;
                    }
                    self.watch.request_progress();
                    self.last_mark_is_out = self.mark_at >= before_end(self.until);
                    self.mark_at = (self.mark_at + MARKS).min(before_end(self.until));
                }
            }
        }
    }

    fn take(&mut self, seen: Stored) {
        match seen {
            Stored::Changes { revision, events } => {
                self.reached = self.reached.max(revision);
                if revision <= self.after || self.last.is_some_and(|last| revision > last) {
                    return;
                }
                let sights = events.iter().filter_map(|event| Sight::of(event, &self.selection));
                self.ready.extend(sights.map(|sight| Item::Sight(sight, revision)));
            }
            Stored::Progress(revision) => {
                self.reached = self.reached.max(revision);
                let revision = self.last.map_or(revision, |last| last.min(revision));
                if self.bookmarks && revision > self.marked {
                    self.marked = revision;
                    self.ready.push_back(Item::Bookmark(revision, false));
                }
            }
        }
    }
}

fn before_end(until: Instant) -> Instant {
    until.checked_sub(BEFORE_END).unwrap_or(until)
}
