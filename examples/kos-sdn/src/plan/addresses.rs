//! A set of taken addresses, stored as runs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A set of addresses as runs of consecutive ones. Each operation costs the logarithm of the number
/// of runs.
///
/// The set is a hint: the lock of an address is authoritative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// First to last address. No two runs are adjacent.
    // Not a bitmap: that of a /8 would take two megabytes.
    runs: BTreeMap<u32, u32>,
    count: u64,
}

impl Addresses {
    /// Returns the number of addresses.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Returns true if the address is taken.
    #[must_use]
    pub fn contains(&self, address: u32) -> bool {
        self.run_at(address).is_some()
    }

    /// Takes an address. Returns true if it was free.
    pub fn take(&mut self, address: u32) -> bool {
        if self.contains(address) {
            return false;
        }
        let before = address.checked_sub(1).and_then(|before| self.run_at(before));
        let after = address.checked_add(1).and_then(|after| self.runs.remove(&after));
        let first = before.map_or(address, |(first, _)| first);
        self.runs.insert(first, after.unwrap_or(address));
        self.count += 1;
        true
    }

    /// Releases an address. Returns true if it was taken.
    pub fn release(&mut self, address: u32) -> bool {
        let Some((first, last)) = self.run_at(address) else { return false };
        if first == address {
            self.runs.remove(&first);
        } else {
            self.runs.insert(first, address - 1);
        }
        if address < last {
            self.runs.insert(address + 1, last);
        }
        self.count -= 1;
        true
    }

    /// Takes a free address of a range: the first at or after a random position, wrapping around.
    /// Returns `None` if the range is full or empty.
    ///
    /// Random positions make collisions between controllers rare; the lock decides those that
    /// happen.
    pub fn pick(&mut self, range: &RangeInclusive<u32>, chance: u64) -> Option<u32> {
        let (first, last) = (*range.start(), *range.end());
        let size = u64::from(last.checked_sub(first)?) + 1;
        let place = first + u32::try_from(chance % size).ok()?;
        let free = self.free_from(place, last).or_else(|| self.free_from(first, place))?;
        self.take(free);
        Some(free)
    }

    /// Counts the free addresses of a range, up to `at_most`.
    #[must_use]
    pub fn free(&self, range: &RangeInclusive<u32>, at_most: usize) -> usize {
        let (mut from, last, mut found) = (*range.start(), *range.end(), 0);
        while let Some(free) = self.free_from(from, last) {
            let until = self.runs.range(free..=last).next().map_or(last, |(next, _)| next - 1);
            found += u64::from(until - free) + 1;
            if found >= at_most as u64 {
                return at_most;
            }
            let Some(next) = until.checked_add(1) else { break };
            from = next;
        }
        usize::try_from(found).unwrap_or(at_most)
    }

    /// Returns the first free address of a range.
    fn free_from(&self, from: u32, to: u32) -> Option<u32> {
        let free = match self.run_at(from) {
            Some((_, last)) => last.checked_add(1)?,
            None => from,
        };
        (free <= to).then_some(free)
    }

    /// Returns the run that contains an address.
    fn run_at(&self, address: u32) -> Option<(u32, u32)> {
        let (first, last) = self.runs.range(..=address).next_back()?;
        (address <= *last).then_some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_merge_and_split() {
        let mut set = Addresses::default();
        for address in [0, 2, u32::MAX, u32::MAX - 2] {
            assert!(set.take(address));
        }
        assert_eq!((set.runs(), set.len()), (4, 4));
        assert!(set.take(1) && set.take(u32::MAX - 1));
        assert_eq!((set.runs(), set.len()), (2, 6));
        assert!(!set.take(1));
        assert!(set.release(1) && !set.release(1));
        assert_eq!((set.runs(), set.contains(0), set.contains(1), set.contains(2)), (3, true, false, true));
        for address in [0, 2, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            assert!(set.release(address));
        }
        assert_eq!(set, Addresses::default());
    }

    #[test]
    fn full_or_empty_range_yields_none() {
        let mut set = Addresses::default();
        for range in [0..=3, u32::MAX - 3..=u32::MAX] {
            for chance in 0..4 {
                assert!(set.pick(&range, chance * 7).is_some_and(|address| range.contains(&address)));
            }
            assert_eq!(set.pick(&range, 0), None);
        }
        #[allow(clippy::reversed_empty_ranges, reason = "the case under test")]
        let reversed = 9..=8;
        assert_eq!(set.pick(&reversed, 0), None);
    }

    #[derive(Clone, Copy, Debug)]
    enum AddressOp {
        Take(u32),
        Release(u32),
        Pick(u32, u32, u64),
    }

    fn ops(base: u32) -> impl Strategy<Value = Vec<AddressOp>> {
        let near = move || (0..64_u32).prop_map(move |low| base + low);
        let op = prop_oneof![
            1 => near().prop_map(AddressOp::Take),
            2 => (near(), near(), any::<u64>()).prop_map(|(a, b, chance)| AddressOp::Pick(a, b, chance)),
            3 => near().prop_map(AddressOp::Release),
        ];
        proptest::collection::vec(op, 0..512)
    }

    proptest! {
        #[test]
        fn set_matches_the_naive_model(ops in prop_oneof![ops(0), ops(u32::MAX - 63)]) {
            let (mut set, mut naive) = (Addresses::default(), BTreeSet::new());
            for op in ops {
                match op {
                    AddressOp::Take(address) => prop_assert_eq!(set.take(address), naive.insert(address)),
                    AddressOp::Release(address) => prop_assert_eq!(set.release(address), naive.remove(&address)),
                    AddressOp::Pick(from, to, chance) => {
                        let free = (from..=to).filter(|address| !naive.contains(address)).count();
                        for at_most in [0, 1, free.saturating_sub(1), free, free + 1] {
                            prop_assert_eq!(set.free(&(from..=to), at_most), free.min(at_most));
                        }
                        let picked = set.pick(&(from..=to), chance);
                        prop_assert_eq!(picked.is_some(), free > 0);
                        if let Some(address) = picked {
                            prop_assert!(from <= address && address <= to && naive.insert(address));
                        }
                    }
                }
                prop_assert_eq!(set.len(), naive.len() as u64);
                let starts = naive.iter().filter(|address| **address == 0 || !naive.contains(&(**address - 1)));
                prop_assert_eq!(set.runs(), starts.count());
                prop_assert!(naive.iter().all(|address| set.contains(*address)));
            }
        }
    }
}
