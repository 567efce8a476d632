//! Which slots are free, with all that a change has taken and given back until it is kept or undone.

use crate::table::MOST;

#[derive(Default)]
pub(crate) struct Numbers {
    /// Free slots; those behind `left` have been taken by the change that is under way.
    free: Vec<u32>,
    left: usize,
    /// The first slot that was never used, and what it was before the change.
    next: u32,
    next_before: u32,
    /// Slots that the change gives back. Older versions do not mind: each has slots of its own.
    given_back: Vec<u32>,
}

impl Numbers {
    pub(crate) fn take(&mut self) -> u32 {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return self.free[left];
        }
        let slot = self.next;
        assert!(slot < MOST, "a map holds fewer than 2^31 entries");
        self.next += 1;
        slot
    }

    pub(crate) fn give_back(&mut self, slot: u32) {
        self.given_back.push(slot);
    }

    /// All are free, for a change that begins anew.
    pub(crate) fn restart(&mut self) {
        self.left = 0;
        self.next = 0;
        self.given_back.clear();
    }

    pub(crate) fn keep(&mut self) {
        self.free.truncate(self.left);
        self.free.append(&mut self.given_back);
        self.left = self.free.len();
        self.next_before = self.next;
    }

    pub(crate) fn undo(&mut self) {
        self.left = self.free.len();
        self.given_back.clear();
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
    fn what_is_undone_was_never_taken() {
        let mut numbers = Numbers::default();
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [0, 1, 2]);
        numbers.give_back(1);
        assert_eq!(numbers.take(), 3, "what a change gives back is free after it");
        numbers.keep();
        assert_eq!([numbers.take(), numbers.take()], [1, 4]);
        numbers.give_back(0);
        numbers.undo();
        assert_eq!([numbers.take(), numbers.take()], [1, 4]);
        numbers.keep();
        assert_eq!(numbers.used(), 5);
        numbers.restart();
        assert_eq!(numbers.take(), 0);
        numbers.undo();
        assert_eq!([numbers.take(), numbers.used()], [5, 6]);
    }
}
