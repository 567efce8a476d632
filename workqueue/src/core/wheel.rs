//! Delays: a hierarchical timing wheel of 1 ms slots. Insert and cancel are O(1), and the next
//! occupied slot is known.
//!
//! Seven levels of 64 slots reach 2^42 ms, 139 years from the queue's creation. An entry's level is
//! the highest group of six bits in which its tick differs from `elapsed`. The wheel never passes
//! an occupied slot without emptying it, so a removal computes the same level and slot as the
//! insert.

use super::list::List;
use super::slab::{NEVER, Slab};

const LEVELS: usize = 7;
const SLOTS: usize = 64;
const BITS: u32 = 6;

/// Converts a time in microseconds to the first tick that is not before it.
fn tick_of(time: u64) -> u64 {
    time.div_ceil(1000).min(LAST)
}

/// The last tick. Once it is reached, delays end at once.
const LAST: u64 = (1 << (BITS * LEVELS as u32)) - 1;

#[derive(Debug)]
pub(crate) struct Wheel {
    /// The last tick that was processed.
    elapsed: u64,
    len: usize,
    /// No occupied slot begins before this time, which is that of a tick. [`NEVER`] without delays.
    next: u64,
    occupied: [u64; LEVELS],
    slots: Box<[[List; SLOTS]; LEVELS]>,
}

/// An occupied slot.
struct WheelSlot {
    level: usize,
    slot: usize,
    /// The tick at which the slot begins.
    start: u64,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        let slots = Box::new([[List::EMPTY; SLOTS]; LEVELS]);
        Self { elapsed: 0, len: 0, next: NEVER, occupied: [0; LEVELS], slots }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a time in microseconds before which no entry is due: the earliest delay or a little
    /// before it. `None` without delays.
    pub(crate) fn next(&self) -> Option<u64> {
        (self.next != NEVER).then_some(self.next)
    }

    /// Returns whether an entry may be due.
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.next <= now
    }

    /// Adds an entry with a `due` after `now`.
    pub(crate) fn insert<K>(&mut self, entries: &mut Slab<K>, slot: u32, now: u64) {
        // `advance` is not called while nothing is due, and an empty wheel may jump ahead.
        if self.len == 0 {
            self.elapsed = self.elapsed.max((now / 1000).min(LAST));
        }
        self.len += 1;
        self.link(entries, slot);
    }

    /// Removes an entry of the wheel.
    pub(crate) fn remove<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let place = self.place_of(tick_of(entries[slot].due));
        let list = &mut self.slots[place.level][place.slot];
        list.unlink(entries, slot);
        if list.is_empty() {
            self.occupied[place.level] &= !(1 << place.slot);
        }
        self.len -= 1;
        if self.len == 0 {
            self.next = NEVER;
        }
    }

    /// Passes each entry that is due at `now` to `expired`: by tick, and within a tick in the order
    /// of insertion.
    pub(crate) fn advance<K>(
        &mut self,
        entries: &mut Slab<K>,
        now: u64,
        mut expired: impl FnMut(&mut Slab<K>, u32),
    ) {
        let now = (now / 1000).min(LAST);
        loop {
            let Some(WheelSlot { level, slot, start }) = self.first() else {
                self.next = NEVER;
                break;
            };
            if start > now {
                self.next = start * 1000;
                break;
            }
            self.elapsed = start;
            self.occupied[level] &= !(1 << slot);
            let mut list = std::mem::replace(&mut self.slots[level][slot], List::EMPTY);
            while let Some(entry) = list.pop_front(entries) {
                if tick_of(entries[entry].due) <= self.elapsed {
                    self.len -= 1;
                    expired(entries, entry);
                } else {
                    self.link(entries, entry);
                }
            }
        }
        self.elapsed = self.elapsed.max(now);
    }

    /// Returns the earliest time at which an entry is due, exactly. Scans the entries of one slot.
    pub(crate) fn earliest<K>(&self, entries: &Slab<K>) -> Option<u64> {
        let WheelSlot { level, slot, .. } = self.first()?;
        self.slots[level][slot].iter(entries).map(|entry| entries[entry].due).min()
    }

    fn link<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let place = self.place_of(tick_of(entries[slot].due));
        self.slots[place.level][place.slot].push_back(entries, slot);
        self.occupied[place.level] |= 1 << place.slot;
        self.next = self.next.min(place.start * 1000);
    }

    fn place_of(&self, tick: u64) -> WheelSlot {
        let differing = (self.elapsed ^ tick) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        let shift = level * BITS;
        let slot = (tick >> shift) as usize % SLOTS;
        WheelSlot { level: level as usize, slot, start: tick >> shift << shift }
    }

    /// Returns the first occupied slot. Lower levels come first: each holds only ticks of the block
    /// of `elapsed`.
    fn first(&self) -> Option<WheelSlot> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let slot = self.occupied[level].trailing_zeros();
        #[expect(clippy::cast_possible_truncation, reason = "there are seven levels")]
        let shift = level as u32 * BITS;
        let block = self.elapsed >> (shift + BITS) << (shift + BITS);
        Some(WheelSlot { level, slot: slot as usize, start: block + (u64::from(slot) << shift) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Harness {
        wheel: Wheel,
        entries: Slab<u64>,
    }

    impl Harness {
        fn new() -> Self {
            Self { wheel: Wheel::new(), entries: Slab::new() }
        }
        fn insert(&mut self, due: u64, now: u64) -> u32 {
            let slot = self.entries.insert(due, 0);
            self.entries[slot].due = due;
            self.wheel.insert(&mut self.entries, slot, now);
            slot
        }
        fn advance(&mut self, now: u64) -> Vec<u64> {
            let mut seen = Vec::new();
            self.wheel.advance(&mut self.entries, now, |entries, slot| seen.extend(entries.remove(slot)));
            seen
        }
    }

    #[test]
    fn no_delay_ends_early_or_later_than_its_tick() {
        let mut h = Harness::new();
        for exponent in 0..40 {
            let due = 1 << exponent;
            h.insert(due, 0);
        }
        let mut now = 0;
        while let Some(next) = h.wheel.next() {
            assert!(next >= now, "the wheel goes on");
            now = next;
            for due in h.advance(now) {
                assert!(due <= now && now < due + 1000, "due {due}, came at {now}");
            }
        }
        assert_eq!(h.wheel.len(), 0);
    }

    #[test]
    fn a_tick_keeps_the_order_of_insertion_over_all_levels() {
        let mut h = Harness::new();
        let due = 300_000_000;
        for offset in 0..500 {
            h.insert(due + offset, offset * 500_000);
            h.advance(offset * 500_000);
        }
        assert_eq!(h.advance(due + 1000), (0..500).map(|offset| due + offset).collect::<Vec<_>>());
    }

    #[test]
    fn removal_works_at_every_age_of_the_wheel() {
        let mut h = Harness::new();
        let dues = [5_000, 70_000, 5_000_000, 400_000_000, 20_000_000_000_u64];
        for turns in 0..8_u64 {
            let now = turns * 1_234_567;
            h.advance(now);
            let slots: Vec<u32> = dues.iter().map(|due| h.insert(now + due, now)).collect();
            h.advance(now + 3_000);
            for slot in slots {
                h.wheel.remove(&mut h.entries, slot);
                h.entries.remove(slot);
            }
            assert_eq!((h.wheel.len(), h.wheel.next()), (0, None));
            assert_eq!(h.wheel.occupied, [0; LEVELS]);
        }
    }

    #[test]
    fn earliest_is_exact_where_next_is_a_bound() {
        let mut h = Harness::new();
        h.insert(99_999_500, 0);
        h.insert(99_999_100, 0);
        assert_eq!(h.wheel.earliest(&h.entries), Some(99_999_100));
        assert!(h.wheel.next().unwrap() < 99_999_100);
    }
}
