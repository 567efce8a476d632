//! Why keys that are out will run again: kept apart, because few of them will.

use super::slab::{NIL, Slab};
use crate::Cause;
use crate::cause::Causes;

/// Lists of causes, lent to entries. As many as were ever lent at a time; a list given back is lent again.
#[derive(Debug, Default)]
pub(crate) struct Later {
    lists: Vec<Causes>,
    free: Vec<u32>,
}

impl Later {
    /// One more reason for an entry's next run.
    pub(crate) fn merge<K>(&mut self, entries: &mut Slab<K>, slot: u32, cause: Cause) {
        let later = &mut entries[slot].later;
        if *later == NIL {
            *later = self.lend();
        }
        self.lists[*later as usize].merge(cause, 1);
    }

    /// The reasons for an entry's next run, which it no longer has.
    pub(crate) fn take<K>(&mut self, entries: &mut Slab<K>, slot: u32) -> Option<Causes> {
        let later = std::mem::replace(&mut entries[slot].later, NIL);
        if later == NIL {
            return None;
        }
        self.free.push(later);
        Some(std::mem::replace(&mut self.lists[later as usize], Causes::none()))
    }

    /// How many are lent.
    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.lists.len() - self.free.len()
    }

    fn lend(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.lists.push(Causes::none());
            u32::try_from(self.lists.len() - 1).expect("no more than there are entries")
        })
    }
}
