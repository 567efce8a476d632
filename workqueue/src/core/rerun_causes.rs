//! Why keys that are out will run again: kept apart, because few of them will.

use super::slab::Slab;
use crate::Cause;
use crate::cause::Causes;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Causes by slot, of entries that are out and were added meanwhile. An entry knows whether it is here.
#[derive(Debug)]
pub(crate) struct RerunCauses(HashMap<u32, Causes, FixedState>);

impl RerunCauses {
    pub(crate) fn new(seed: u64) -> Self {
        Self(HashMap::with_hasher(FixedState::with_seed(seed)))
    }

    /// One more reason for an entry's next run.
    pub(crate) fn merge<K>(&mut self, entries: &mut Slab<K>, slot: u32, cause: Cause) {
        entries[slot].has_rerun_causes = true;
        self.0.entry(slot).or_insert(Causes::NONE).merge(cause, 1);
    }

    /// The reasons for an entry's next run, which it no longer has.
    #[inline]
    pub(crate) fn take<K>(&mut self, entries: &mut Slab<K>, slot: u32) -> Option<Causes> {
        if !std::mem::take(&mut entries[slot].has_rerun_causes) {
            return None;
        }
        self.0.remove(&slot)
    }

    /// How many entries are here.
    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
