//! The free slots, with the allocations of the current change until it is committed or rolled back.

use crate::table::MAX_ENTRIES;

#[derive(Default)]
pub(crate) struct SlotAllocator {
    /// Free slots; those from `left` on are allocated by the current change.
    free: Vec<u32>,
    left: usize,
    /// The first slot that was never used, and its value before the change.
    next: u32,
    next_before: u32,
    /// Slots that the change frees. Older versions are not affected: each has its own slots.
    freed: Vec<u32>,
}

impl SlotAllocator {
    pub(crate) fn allocate(&mut self) -> u32 {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return self.free[left];
        }
        let slot = self.next;
        assert!(slot < MAX_ENTRIES, "a map holds fewer than 2^31 entries");
        self.next += 1;
        slot
    }

    pub(crate) fn free_slot(&mut self, slot: u32) {
        self.freed.push(slot);
    }

    /// Makes all slots free, for a change that replaces the whole map.
    pub(crate) fn restart(&mut self) {
        self.left = 0;
        self.next = 0;
        self.freed.clear();
    }

    pub(crate) fn commit(&mut self) {
        self.free.truncate(self.left);
        self.free.append(&mut self.freed);
        self.left = self.free.len();
        self.next_before = self.next;
    }

    pub(crate) fn rollback(&mut self) {
        self.left = self.free.len();
        self.freed.clear();
        self.next = self.next_before;
    }

    pub(crate) fn used(&self) -> u32 {
        self.next
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_frees_allocated_slots() {
        let mut slots = SlotAllocator::default();
        assert_eq!([slots.allocate(), slots.allocate(), slots.allocate()], [0, 1, 2]);
        slots.free_slot(1);
        assert_eq!(slots.allocate(), 3, "slots that a change frees are free after it");
        slots.commit();
        assert_eq!([slots.allocate(), slots.allocate()], [1, 4]);
        slots.free_slot(0);
        slots.rollback();
        assert_eq!([slots.allocate(), slots.allocate()], [1, 4]);
        slots.commit();
        assert_eq!(slots.used(), 5);
        slots.restart();
        assert_eq!(slots.allocate(), 0);
        slots.rollback();
        assert_eq!([slots.allocate(), slots.used()], [5, 6]);
    }
}
