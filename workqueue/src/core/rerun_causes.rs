//! Causes of the next runs of keys in flight: kept apart, because few keys have any.

use super::slab::Slab;
use crate::Cause;
use crate::cause::Causes;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Causes by slot, of entries that were added while in flight. Each entry has a flag for its
/// presence here.
#[derive(Debug)]
pub(crate) struct RerunCauses(HashMap<u32, Causes, FixedState>);

impl RerunCauses {
    pub(crate) fn new(seed: u64) -> Self {
        Self(HashMap::with_hasher(FixedState::with_seed(seed)))
    }

    /// Merges a cause of an entry's next run.
    pub(crate) fn merge<K>(&mut self, entries: &mut Slab<K>, slot: u32, cause: Cause) {
        entries[slot].has_rerun_causes = true;
        self.0.entry(slot).or_insert(Causes::NONE).merge(cause, 1);
    }

    /// Removes and returns the causes of an entry's next run.
    #[inline]
    pub(crate) fn take<K>(&mut self, entries: &mut Slab<K>, slot: u32) -> Option<Causes> {
        if !std::mem::take(&mut entries[slot].has_rerun_causes) {
            return None;
        }
        self.0.remove(&slot)
    }

    /// Returns the number of entries with causes.
    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
