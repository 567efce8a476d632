//! The order in which a load creates and deletes attachments.

/// An operation on a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create an attachment in this empty slot.
    Create(usize),
    /// Delete the attachment in this slot.
    Delete(usize),
}

/// Returns the operations of each thread with their global index: fill all slots, replace the
/// oldest attachment again and again, empty all slots.
///
/// Exactly `attachments` attachments are created, and as many deleted.
#[must_use]
pub fn operations(slots: usize, attachments: usize, threads: usize) -> Vec<Vec<(usize, Operation)>> {
    let threads = threads.max(1);
    let mut all: Vec<Vec<Operation>> = Vec::new();
    for thread in 0..threads {
        let own: Vec<usize> = (thread..slots).step_by(threads).collect();
        let count = if own.is_empty() { 0 } else { (thread..attachments).step_by(threads).count() };
        let filled = own.len().min(count);
        let mut row: Vec<_> = own[..filled].iter().copied().map(Operation::Create).collect();
        for made in filled..count {
            let slot = own[made % own.len()];
            row.extend([Operation::Delete(slot), Operation::Create(slot)]);
        }
        row.extend((count - filled..count).map(|made| Operation::Delete(own[made % own.len()])));
        all.push(row);
    }
    let number = |thread: usize, at: usize| at * threads + thread;
    let numbered = all.into_iter().enumerate().map(|(thread, row)| {
        row.into_iter().enumerate().map(|(at, operation)| (number(thread, at), operation)).collect()
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::Operation::{Create, Delete};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_are_filled_reused_and_emptied() {
        let of = |slots, attachments, threads| -> Vec<Vec<Operation>> {
            let all = operations(slots, attachments, threads);
            all.into_iter().map(|row| row.into_iter().map(|(_, operation)| operation).collect()).collect()
        };
        let expected = [Create(0), Create(1), Delete(0), Create(0), Delete(1), Delete(0)];
        assert_eq!(of(2, 3, 1), [expected]);
        assert_eq!(of(5, 2, 1), [[Create(0), Create(1), Delete(0), Delete(1)]]);
        assert_eq!(of(2, 2, 2), [[Create(0), Delete(0)], [Create(1), Delete(1)]]);
        assert_eq!(of(0, 2, 1), [[]]);
    }

    proptest! {
        #[test]
        fn no_slot_is_used_twice_at_a_time(slots in 1..40_usize, attachments in 0..200_usize, threads in 1..7_usize) {
            let all = operations(slots, attachments, threads);
            let mut numbers: Vec<usize> = all.iter().flatten().map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), all.iter().map(Vec::len).sum::<usize>(), "each is due by itself");
            let mut made = 0;
            for (thread, row) in all.iter().enumerate() {
                let mut full = std::collections::BTreeSet::new();
                for (_, operation) in row {
                    match operation {
                        Create(slot) => {
                            prop_assert!(slot % threads == thread && *slot < slots && full.insert(*slot));
                            made += 1;
                        }
                        Delete(slot) => prop_assert!(full.remove(slot)),
                    }
                }
                prop_assert!(full.is_empty());
            }
            prop_assert!(made == attachments || slots < threads);
        }
    }
}
