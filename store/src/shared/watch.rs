//! Watches: each a position in the shared history and an entry in an index, without a buffer.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use machinery_objects::Revision;

use super::publish::{Published, Shared};
use crate::contract::{KeySpan, Watch, WatchError, WatchItem, WatchStream};
use crate::core::{RevisionChanges, WatchIndex};

/// Revisions scanned under one lock.
const STEP: u64 = 256;

impl Shared {
    /// Starts a watch after a revision.
    pub(crate) fn watch(self: &Arc<Self>, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let mut published = self.published.lock();
        let (current, compacted) = (published.history.newest(), published.history.compacted());
        if let Some(why) = &published.closed {
            return Err(WatchError::Unavailable { why: Arc::clone(why) });
        }
        if after < compacted {
            return Err(WatchError::Compacted { after, compacted });
        }
        if after > current {
            return Err(WatchError::Future { after, current });
        }
        let limit = self.limits.watches;
        if published.watches.len() >= limit {
            return Err(WatchError::TooMany { limit });
        }
        // Publications before the registration have not marked this watch.
        let pending = (after < current).then(|| after.next());
        let number = published.watches.add(&span, pending);
        Ok(Watch::new(HistoryWatch { shared: Arc::clone(self), span, number, seen: after }))
    }
}

/// All running watches.
pub(super) struct WatchRegistry {
    index: WatchIndex,
    slots: Vec<WatchSlot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct WatchSlot {
    /// The first unread revision that may change a key of the span. `None`: the watch has caught
    /// up.
    pending: Option<Revision>,
    progress: bool,
    waker: Option<Waker>,
}

impl WatchRegistry {
    pub(super) fn new(seed: u64) -> Self {
        Self { index: WatchIndex::new(seed), slots: Vec::new(), free: Vec::new() }
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn add(&mut self, span: &KeySpan, pending: Option<Revision>) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(WatchSlot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[number as usize] = WatchSlot { pending, ..WatchSlot::default() };
        self.index.add(span, number);
        number
    }

    fn remove(&mut self, span: &KeySpan, number: u32) -> WatchSlot {
        self.index.remove(span, number);
        self.free.push(number);
        std::mem::take(&mut self.slots[number as usize])
    }

    /// Marks the watches that `revised` affects, and adds their wakers to `wake`.
    pub(super) fn note(&mut self, revised: &RevisionChanges, wake: &mut Vec<Waker>) {
        for version in revised.versions() {
            for number in self.index.of(version.key()) {
                let slot = &mut self.slots[number as usize];
                // A mark, not a buffer: ten thousand slow watches need the memory of one history.
                slot.pending.get_or_insert(revised.revision);
                wake.extend(slot.waker.take());
            }
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect()
    }
}

struct HistoryWatch {
    shared: Arc<Shared>,
    span: KeySpan,
    number: u32,
    /// Every change up to here has been yielded.
    seen: Revision,
}

enum PollStep {
    Found(WatchItem),
    Ended(WatchError),
    /// One step found no event; there are more revisions.
    Continue,
    Idle,
}

impl WatchStream for HistoryWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut published = shared.published.lock();
            match self.step(&mut published) {
                PollStep::Found(seen) => return Poll::Ready(Ok(seen)),
                PollStep::Ended(error) => return Poll::Ready(Err(error)),
                // The lock is free between two steps, so that a long scan delays no commit.
                PollStep::Continue => {}
                PollStep::Idle => {
                    let waker = &mut published.watches.slots[self.number as usize].waker;
                    let old = match waker {
                        Some(old) if old.will_wake(cx.waker()) => None,
                        _ => waker.replace(cx.waker().clone()),
                    };
                    drop(published);
                    drop(old);
                    return Poll::Pending;
                }
            }
        }
    }

    fn request_progress(&mut self) {
        let waker = {
            let mut published = self.shared.published.lock();
            let slot = &mut published.watches.slots[self.number as usize];
            slot.progress = true;
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl HistoryWatch {
    fn step(&mut self, published: &mut Published) -> PollStep {
        let Published { history, watches, closed } = published;
        let (current, compacted) = (history.newest(), history.compacted());
        let slot = &mut watches.slots[self.number as usize];
        if let Some(pending) = slot.pending {
            // The compacted part may have had events for this watch: it ends, and never has a gap.
            if pending <= compacted {
                return PollStep::Ended(WatchError::TooSlow { seen: self.seen, compacted });
            }
            let end = Revision(current.0.min(pending.0 + STEP - 1)).next();
            for revised in history.range(pending..end) {
                let versions = revised.versions().iter().filter(|version| self.span.contains(version.key()));
                let events: Vec<_> = versions.map(|version| version.event()).collect();
                if !events.is_empty() {
                    let revision = revised.revision;
                    self.seen = revision;
                    slot.pending = (revision < current).then(|| revision.next());
                    return PollStep::Found(WatchItem::Changes { revision, events });
                }
            }
            slot.pending = (end <= current).then_some(end);
            return PollStep::Continue;
        }
        // Only without pending changes: progress means that all up to the revision were yielded.
        if std::mem::take(&mut slot.progress) {
            self.seen = current;
            return PollStep::Found(WatchItem::Progress(current));
        }
        // Last, so that the changes published before the close still arrive.
        match closed {
            Some(why) => PollStep::Ended(WatchError::Unavailable { why: Arc::clone(why) }),
            None => PollStep::Idle,
        }
    }
}

impl Drop for HistoryWatch {
    fn drop(&mut self) {
        // The waker is dropped after the lock is released: its drop may reenter this module.
        let _slot = self.shared.published.lock().watches.remove(&self.span, self.number);
    }
}
