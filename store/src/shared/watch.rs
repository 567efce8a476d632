//! Watches: each a place in the shared history and an entry in an index, with no buffer of its own.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use machinery_objects::Revision;

use super::publish::{Published, Shared};
use crate::contract::{Seen, Span, Watch, WatchError, Watching};
use crate::core::{Interests, Revised};

/// So many revisions are looked at under one lock.
const TURN: u64 = 256;

impl Shared {
    /// Begins a watch after a revision.
    pub(crate) fn watch(self: &Arc<Self>, span: Span, after: Revision) -> Result<Watch, WatchError> {
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
        let pending = (after < current).then(|| after.next());
        let number = published.watches.add(&span, pending);
        Ok(Watch::new(Following { shared: Arc::clone(self), span, number, seen: after }))
    }
}

/// All running watches.
pub(super) struct Watches {
    interests: Interests,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    /// The first revision that may interest the watch and that it has not looked at. None: all that is published has
    /// been yielded, or does not interest it.
    pending: Option<Revision>,
    progress: bool,
    waker: Option<Waker>,
}

impl Watches {
    pub(super) fn new(seed: u64) -> Self {
        Self { interests: Interests::new(seed), slots: Vec::new(), free: Vec::new() }
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn add(&mut self, span: &Span, pending: Option<Revision>) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[number as usize] = Slot { pending, ..Slot::default() };
        self.interests.add(span, number);
        number
    }

    fn remove(&mut self, span: &Span, number: u32) -> Slot {
        self.interests.remove(span, number);
        self.free.push(number);
        std::mem::take(&mut self.slots[number as usize])
    }

    /// Marks those whom `revised` interests, and adds whom to wake.
    pub(super) fn note(&mut self, revised: &Revised, wake: &mut Vec<Waker>) {
        for version in revised.versions() {
            for number in self.interests.of(version.key()) {
                let slot = &mut self.slots[number as usize];
                slot.pending.get_or_insert(revised.revision);
                wake.extend(slot.waker.take());
            }
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect()
    }
}

struct Following {
    shared: Arc<Shared>,
    span: Span,
    number: u32,
    /// All changes up to here have been yielded.
    seen: Revision,
}

enum Look {
    Found(Seen),
    Over(WatchError),
    /// A turn's worth of revisions held nothing; there are more.
    Further,
    Nothing,
}

impl Watching for Following {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Seen, WatchError>> {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut published = shared.published.lock();
            match self.look(&mut published) {
                Look::Found(seen) => return Poll::Ready(Ok(seen)),
                Look::Over(error) => return Poll::Ready(Err(error)),
                Look::Further => {}
                Look::Nothing => {
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

impl Following {
    fn look(&mut self, published: &mut Published) -> Look {
        let Published { history, watches, closed } = published;
        let (current, compacted) = (history.newest(), history.compacted());
        let slot = &mut watches.slots[self.number as usize];
        if let Some(pending) = slot.pending {
            if pending <= compacted {
                return Look::Over(WatchError::TooSlow { seen: self.seen, compacted });
            }
            let end = Revision(current.0.min(pending.0 + TURN - 1)).next();
            for revised in history.range(pending..end) {
                let versions = revised.versions().iter().filter(|version| self.span.contains(version.key()));
                let events: Vec<_> = versions.map(|version| version.event()).collect();
                if !events.is_empty() {
                    let revision = revised.revision;
                    self.seen = revision;
                    slot.pending = (revision < current).then(|| revision.next());
                    return Look::Found(Seen::Changes { revision, events });
                }
            }
            slot.pending = (end <= current).then_some(end);
            return Look::Further;
        }
        if std::mem::take(&mut slot.progress) {
            self.seen = current;
            return Look::Found(Seen::Progress(current));
        }
        match closed {
            Some(why) => Look::Over(WatchError::Unavailable { why: Arc::clone(why) }),
            None => Look::Nothing,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // The slot's waker is dropped behind the lock: what it drops may come back here.
        let _slot = self.shared.published.lock().watches.remove(&self.span, self.number);
    }
}
