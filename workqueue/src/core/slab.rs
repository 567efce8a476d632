//! Storage of entries, in chunks: growing copies no entry, and never doubles the memory.

use crate::Cause;
use crate::cause::{Causes, Items, Marks};

/// The number of no slot.
pub(crate) const NIL: u32 = u32::MAX;

/// Small enough for a queue of a few keys, large enough that a million keys need few chunks.
const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: usize = 6;

/// The entry of one key. For keys of 16 bytes, as `Arc<str>` is, two cache lines: the causes are in
/// the second, all other fields in the first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Entry<K> {
    /// `None` only in a free slot.
    pub key: Option<K>,
    /// Time at which it entered its state.
    pub since: u64,
    /// Delayed: the time of its run. In flight or held: the time of its next run, [`NEVER`] without
    /// one.
    pub due: u64,
    /// The earliest time that no debounce may move; `due` is never later. [`NEVER`] without one.
    pub hard: u64,
    pub hash: u32,
    /// Neighbours in the list of its state; in a free slot, `next` is the next free slot.
    pub prev: u32,
    pub next: u32,
    /// Failures in a row.
    pub attempts: u16,
    pub state: State,
    /// The priority's level: of this run, and of the next one if it is in flight.
    pub level: u8,
    pub rerun_level: u8,
    /// The bucket token of its delay ([`crate::limiter::Reservation::to_bits`]).
    pub reservation: u8,
    /// In flight or held: whether [`super::rerun_causes::RerunCauses`] has causes of its next run.
    pub has_rerun_causes: bool,
    /// Fill state of `why`.
    pub marks: Marks,
    /// Causes of its run: if in flight, of the current one.
    pub why: Items,
}

/// The time that is never reached.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Ready,
    Delayed,
    InFlight,
    /// In flight, and no longer worked on.
    Held,
}

#[derive(Debug)]
pub(crate) struct Slab<K> {
    chunks: Vec<Box<[Entry<K>; CHUNK]>>,
    free: u32,
}

impl<K> Slab<K> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), free: NIL }
    }

    /// Takes a slot for a new key: an entry without time, list or state.
    #[inline]
    pub(crate) fn insert(&mut self, key: K, hash: u32) -> u32 {
        if self.free == NIL {
            self.grow();
        }
        let slot = self.free;
        let entry = &mut self[slot];
        let next = entry.next;
        entry.key = Some(key);
        entry.hash = hash;
        self.free = next;
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.slots();
        let numbers = (first..).take(CHUNK);
        let chunk: Vec<Entry<K>> = numbers.map(|slot| Entry::vacant(slot + 1)).collect();
        let mut chunk: Box<[Entry<K>; CHUNK]> =
            chunk.try_into().unwrap_or_else(|_| unreachable!("it has as many as were taken"));
        chunk[CHUNK - 1].next = NIL;
        self.chunks.push(chunk);
        self.free = first;
    }

    /// Frees a slot. The caller drops the key, outside the lock.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> Option<K> {
        let free = self.free;
        let entry = &mut self[slot];
        entry.state = State::Free;
        entry.next = free;
        entry.attempts = 0;
        entry.reservation = 0;
        entry.marks = Marks::NONE;
        let key = entry.key.take();
        self.free = slot;
        key
    }

    /// Returns the number of slots, free ones included.
    pub(crate) fn slots(&self) -> u32 {
        u32::try_from(self.chunks.len() << CHUNK_BITS).expect("Config::check bounds the capacity")
    }
}

impl<K> std::ops::Index<u32> for Slab<K> {
    type Output = Entry<K>;

    #[inline]
    fn index(&self, slot: u32) -> &Entry<K> {
        &self.chunks[slot as usize >> CHUNK_BITS][slot as usize % CHUNK]
    }
}

impl<K> std::ops::IndexMut<u32> for Slab<K> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Entry<K> {
        &mut self.chunks[slot as usize >> CHUNK_BITS][slot as usize % CHUNK]
    }
}

impl<K> Entry<K> {
    /// Creates a free slot that links to the next one. [`Slab::remove`] leaves an equal one.
    fn vacant(next: u32) -> Self {
        Self {
            key: None,
            since: 0,
            due: NEVER,
            hard: NEVER,
            prev: NIL,
            next,
            hash: 0,
            attempts: 0,
            state: State::Free,
            level: 0,
            rerun_level: 0,
            reservation: 0,
            has_rerun_causes: false,
            marks: Marks::NONE,
            why: Causes::NONE.items,
        }
    }

    /// Returns the causes of its run.
    pub(crate) fn causes(&self) -> Causes {
        Causes { items: self.why, marks: self.marks }
    }

    #[inline]
    pub(crate) fn merge_cause(&mut self, cause: Option<Cause>) {
        if let Some(cause) = cause {
            self.marks.merge(&mut self.why, cause, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_and_chunks_are_not_copied() {
        let mut slab = Slab::new();
        let slots: Vec<u32> = (0..5000).map(|key| slab.insert(key, 0)).collect();
        assert_eq!(slots, (0..5000).collect::<Vec<_>>());
        assert_eq!(slab.remove(7), Some(7));
        assert_eq!(slab.remove(4096), Some(4096));
        assert_eq!(slab.insert(70, 0), 4096);
        assert_eq!(slab.insert(71, 0), 7);
        assert_eq!(slab.insert(72, 0), 5000);
        assert_eq!(slab[4999].key, Some(4999));
        assert_eq!(slab.slots() as usize, 5001_usize.next_multiple_of(CHUNK));
    }

    #[test]
    fn an_entry_takes_two_cache_lines() {
        assert_eq!(size_of::<Entry<std::sync::Arc<str>>>(), 128);
    }
}
