//! What the stream of an interest and those who edit it share.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use machinery_objects::InterestEdit;
use machinery_sync::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::edits::{Bounds, Edit, Edits, Pending, Wrong};
use super::keys::cost;

/// One interest.
pub(crate) struct Line {
    state: Mutex<State>,
}

struct State {
    edits: Edits,
    /// For the memory of its keys. None: nobody counts it.
    place: Option<OwnedSemaphorePermit>,
    /// Of the stream, while it has nothing to do.
    waker: Option<Waker>,
    ended: bool,
}

/// Why an edit was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    Wrong(Wrong),
    /// There is no memory left for its keys.
    Full,
    /// The stream is over.
    Ended,
}

impl Line {
    /// Begins with these keys. `memory`: of what there is for the keys of all.
    pub(crate) fn open(
        keys: &InterestEdit,
        resumes: bool,
        digest: [u8; 32],
        bounds: Bounds,
        memory: Option<&Arc<Semaphore>>,
    ) -> Result<Self, NotMade> {
        let edits = Edits::open(keys, resumes, digest, bounds).map_err(NotMade::Wrong)?;
        let place = memory.map(|memory| reserve_edit(memory, keys)).transpose()?;
        let mut state = State { edits, place, waker: None, ended: false };
        state.settle(None);
        Ok(Self { state: Mutex::new(state) })
    }

    /// Accepts the edit that says its number, or has been accepted with it just before.
    pub(super) fn edit(
        &self,
        edit: Edit,
        change: &InterestEdit,
        memory: &Arc<Semaphore>,
    ) -> Result<(), NotMade> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(NotMade::Ended);
        }
        // What is wrong is said before what there is no place for.
        if !state.edits.admits(edit, change).map_err(NotMade::Wrong)? {
            return Ok(());
        }
        let more = reserve_edit(memory, change)?;
        state.edits.edit(edit, change).map_err(NotMade::Wrong)?;
        state.settle(Some(more));
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Accepts an edit, and says its number.
    pub(crate) fn edit_next(&self, change: &InterestEdit) -> Result<u64, NotMade> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(NotMade::Ended);
        }
        let number = state.edits.next();
        // No other edit has this number: the digest says nothing.
        state.edits.edit(Edit { number, digest: [0; 32] }, change).map_err(NotMade::Wrong)?;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(number)
    }

    /// The number of the next edit.
    pub(super) fn next(&self) -> u64 {
        self.state.lock().edits.next()
    }

    /// What the stream is to do now; has its task woken when there is something.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Pending> {
        let mut state = self.state.lock();
        let Some(pending) = state.edits.take() else {
            let old = state.waker.replace(cx.waker().clone());
            drop(state);
            drop(old);
            return Poll::Pending;
        };
        state.settle(None);
        Poll::Ready(pending)
    }

    /// Nothing is accepted any more, and nothing kept.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        state.place = None;
        let kept = state.edits.forget();
        drop(state);
        drop(kept);
    }
}

impl State {
    /// Takes and gives back memory, so that it is what is kept.
    fn settle(&mut self, more: Option<OwnedSemaphorePermit>) {
        let Some(place) = &mut self.place else { return };
        if let Some(more) = more {
            place.merge(more);
        }
        let surplus = place.num_permits().saturating_sub(self.edits.cost());
        drop(place.split(surplus));
    }
}

fn reserve_edit(memory: &Arc<Semaphore>, change: &InterestEdit) -> Result<OwnedSemaphorePermit, NotMade> {
    reserve(memory, change.remove.iter().chain(&change.add).map(|key| cost(key)).sum())
}

/// So many bytes of the memory that there is for all.
pub(super) fn reserve(memory: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, NotMade> {
    let permits = u32::try_from(bytes).map_err(|_| NotMade::Full)?;
    memory.clone().try_acquire_many_owned(permits).map_err(|_| NotMade::Full)
}
