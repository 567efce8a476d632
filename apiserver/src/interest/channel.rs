//! The state shared between the stream and the editors of an interest.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use machinery_objects::InterestEdit;
use machinery_sync::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::edits::{EditId, Edits, InvalidEdit, KeyLimits, PendingEdits};
use super::keys::cost;

/// Passes edits to the stream of one interest.
pub(crate) struct EditChannel {
    state: Mutex<State>,
}

struct State {
    edits: Edits,
    /// Accounts for the memory of the keys; `None` for in-process interests.
    place: Option<OwnedSemaphorePermit>,
    /// The waker of the stream while it waits for edits.
    waker: Option<Waker>,
    ended: bool,
}

/// The reason why an edit failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditError {
    Wrong(InvalidEdit),
    /// The memory limit of all interests is reached.
    Full,
    /// The stream has ended.
    Ended,
}

impl EditChannel {
    /// Opens with the initial keys. `memory` is the budget of all interests.
    pub(crate) fn open(
        keys: &InterestEdit,
        resumes: bool,
        digest: [u8; 32],
        bounds: KeyLimits,
        memory: Option<&Arc<Semaphore>>,
    ) -> Result<Self, EditError> {
        let edits = Edits::open(keys, resumes, digest, bounds).map_err(EditError::Wrong)?;
        let place = memory.map(|memory| reserve_edit(memory, keys)).transpose()?;
        let mut state = State { edits, place, waker: None, ended: false };
        state.settle(None);
        Ok(Self { state: Mutex::new(state) })
    }

    /// Applies an edit. Idempotent for the last edit.
    pub(super) fn edit(
        &self,
        edit: EditId,
        change: &InterestEdit,
        memory: &Arc<Semaphore>,
    ) -> Result<(), EditError> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(EditError::Ended);
        }
        // Invalid edits are rejected before the memory limit is checked.
        if !state.edits.admits(edit, change).map_err(EditError::Wrong)? {
            return Ok(());
        }
        // An upper bound: `settle` returns the surplus once the edit is merged.
        let more = reserve_edit(memory, change)?;
        state.edits.edit(edit, change).map_err(EditError::Wrong)?;
        state.settle(Some(more));
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Applies an edit with the next number, which it returns.
    pub(crate) fn edit_next(&self, change: &InterestEdit) -> Result<u64, EditError> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(EditError::Ended);
        }
        let number = state.edits.next();
        // The number is unique, so that the digest is not needed.
        state.edits.edit(EditId { number, digest: [0; 32] }, change).map_err(EditError::Wrong)?;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(number)
    }

    /// Number of the next edit.
    pub(super) fn next(&self) -> u64 {
        self.state.lock().edits.next()
    }

    /// Takes the edits for the stream to apply; registers its waker if there are none.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<PendingEdits> {
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

    /// Rejects further edits, and releases all memory.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        state.place = None;
        // Dropped without the lock: there may be 100 000 keys.
        let kept = state.edits.forget();
        drop(state);
        drop(kept);
    }
}

impl State {
    /// Adjusts the reserved memory to the actual one.
    fn settle(&mut self, more: Option<OwnedSemaphorePermit>) {
        let Some(place) = &mut self.place else { return };
        if let Some(more) = more {
            place.merge(more);
        }
        let surplus = place.num_permits().saturating_sub(self.edits.cost());
        drop(place.split(surplus));
    }
}

fn reserve_edit(memory: &Arc<Semaphore>, change: &InterestEdit) -> Result<OwnedSemaphorePermit, EditError> {
    reserve(memory, change.remove.iter().chain(&change.add).map(|key| cost(key)).sum())
}

/// Reserves memory from the budget of all interests.
pub(super) fn reserve(memory: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, EditError> {
    let permits = u32::try_from(bytes).map_err(|_| EditError::Full)?;
    memory.clone().try_acquire_many_owned(permits).map_err(|_| EditError::Full)
}
