//! Invariants between any two operations, checked from scratch. For tests.

use super::Core;
use super::slab::{NEVER, State};

impl<K: Eq + Clone> Core<K> {
    pub(crate) fn queued_tenants(&self) -> usize {
        self.ready.queued_tenants()
    }

    /// Panics with a message if two parts of the core disagree.
    pub(crate) fn check_invariants(&self) {
        let mut counts = [0_usize; 5];
        let mut earliest = NEVER;
        for slot in 0..self.entries.slots() {
            let entry = &self.entries[slot];
            counts[entry.state as usize] += 1;
            assert_eq!(
                entry.key.is_none(),
                entry.state == State::Free,
                "slot {slot}: a key, and only while live"
            );
            if entry.state == State::Free {
                continue;
            }
            let is_in_flight = matches!(entry.state, State::InFlight | State::Held);
            assert!(
                is_in_flight || !entry.has_rerun_causes,
                "slot {slot}: only keys in flight have causes of a next run"
            );
            let found = self.find(entry.hash, entry.key.as_ref().expect("just checked"));
            assert_eq!(found, Some(slot), "the table leads to the key's only entry");
            match entry.state {
                State::Delayed => {
                    let (due, now) = (tick(entry.due), self.now);
                    assert!(due > now, "slot {slot}: due at the tick of {due} and still delayed at {now}");
                    assert!(entry.due <= entry.hard, "slot {slot}: due after its hard time");
                    earliest = earliest.min(entry.due);
                }
                _ => assert_eq!(entry.reservation, 0, "slot {slot}: a token is held for a delay only"),
            }
        }
        let [free, ready, delayed, out, held] = counts;
        let with_rerun_causes =
            (0..self.entries.slots()).filter(|&slot| self.entries[slot].has_rerun_causes).count();
        assert_eq!(
            self.rerun_causes.len(),
            with_rerun_causes,
            "causes of a next run belong to keys in flight"
        );
        let live = self.entries.slots() as usize - free;
        assert_eq!(live, self.table.len(), "the table holds the live entries, and no other");
        assert_eq!(ready, self.ready.len(), "ready entries are in the ready lists");
        assert_eq!(delayed, self.wheel.len(), "delayed entries are in the wheel");
        assert_eq!(held, self.held_len, "held keys are counted");
        assert_eq!(out, self.in_flight_len, "entries in flight are counted");
        assert_eq!(out, self.in_flight.iter(&self.entries).count(), "the in-flight list is complete");
        let since: u128 =
            self.in_flight.iter(&self.entries).map(|slot| u128::from(self.entries[slot].since)).sum();
        assert_eq!(since, self.in_flight_since, "the sum of times is the times' sum");
        assert_eq!(
            self.wheel.earliest(&self.entries).unwrap_or(NEVER),
            earliest,
            "the earliest delay is known"
        );
        assert!(
            self.wheel.next().unwrap_or(0) <= tick(earliest),
            "the next look is not after the earliest delay"
        );
        assert!(live <= self.capacity, "no more keys than may be");
        assert_eq!(
            self.ready.peek(&self.entries).is_none(),
            ready == 0,
            "something ready is something to take"
        );
    }
}

/// Delays end at whole milliseconds.
fn tick(due: u64) -> u64 {
    due.div_ceil(1000).saturating_mul(1000)
}
