//! A set of numbers, stored as runs of consecutive ones. Pure.

use std::collections::BTreeMap;

/// A set of numbers as runs of consecutive ones. Each operation costs the logarithm of the number
/// of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    /// First to last number. No two runs are adjacent.
    // Not a bitmap: that of a /8 would take two megabytes, and that of a /64 does not exist.
    runs: BTreeMap<u128, u128>,
}

impl Runs {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn contains(&self, number: u128) -> bool {
        self.run_at(number).is_some()
    }

    /// Inserts a number. Returns whether it was absent.
    pub(super) fn insert(&mut self, number: u128) -> bool {
        if self.contains(number) {
            return false;
        }
        let before = number.checked_sub(1).and_then(|before| self.run_at(before));
        let after = number.checked_add(1).and_then(|after| self.runs.remove(&after));
        let first = before.map_or(number, |(first, _)| first);
        self.runs.insert(first, after.unwrap_or(number));
        true
    }

    /// Removes a number. Returns whether it was present.
    pub(super) fn remove(&mut self, number: u128) -> bool {
        let Some((first, last)) = self.run_at(number) else { return false };
        if first == number {
            self.runs.remove(&first);
        } else {
            self.runs.insert(first, number - 1);
        }
        if number < last {
            self.runs.insert(number + 1, last);
        }
        true
    }

    /// Returns the first absent number of a range.
    pub(super) fn first_absent(&self, from: u128, to: u128) -> Option<u128> {
        let absent = match self.run_at(from) {
            Some((_, last)) => last.checked_add(1)?,
            None => from,
        };
        (absent <= to).then_some(absent)
    }

    /// Counts the absent numbers of a range, up to `at_most`. Costs a look-up per counted gap.
    pub(super) fn count_absent(&self, from: u128, to: u128, at_most: usize) -> usize {
        let (mut from, mut found) = (from, 0_u128);
        while let Some(absent) = self.first_absent(from, to) {
            let until = self.runs.range(absent..=to).next().map_or(to, |(next, _)| next - 1);
            found = found.saturating_add(until - absent).saturating_add(1);
            if found >= at_most as u128 {
                return at_most;
            }
            let Some(next) = until.checked_add(1) else { break };
            from = next;
        }
        usize::try_from(found).map_or(at_most, |found| found.min(at_most))
    }

    fn run_at(&self, number: u128) -> Option<(u128, u128)> {
        let (first, last) = self.runs.range(..=number).next_back()?;
        (number <= *last).then_some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_merge_and_split() {
        let mut set = Runs::default();
        for number in [0, 2, u128::MAX, u128::MAX - 2] {
            assert!(set.insert(number));
        }
        assert_eq!(set.runs.len(), 4);
        assert!(set.insert(1) && set.insert(u128::MAX - 1) && !set.insert(1));
        assert_eq!(set.runs.len(), 2);
        assert!(set.remove(1) && !set.remove(1));
        assert_eq!([0, 1, 2].map(|number| set.contains(number)), [true, false, true]);
        for number in [0, 2, u128::MAX - 2, u128::MAX - 1, u128::MAX] {
            assert!(set.remove(number));
        }
        assert_eq!(set, Runs::default());
    }

    fn ops(base: u128) -> impl Strategy<Value = Vec<(bool, u128)>> {
        let number = (0..64_u128).prop_map(move |low| base + low);
        proptest::collection::vec((prop::bool::weighted(0.6), number), 0..300)
    }

    proptest! {
        #[test]
        fn runs_match_the_naive_set(
            ops in prop_oneof![ops(0), ops(u128::MAX - 63)], from in 0..64_u128, length in 0..64_u128,
        ) {
            let base = ops.first().map_or(0, |(_, number)| number & !63);
            let (from, to) = (base + from, base + (from + length).min(63));
            let (mut set, mut naive) = (Runs::default(), BTreeSet::new());
            for (inserts, number) in ops {
                if inserts {
                    prop_assert_eq!(set.insert(number), naive.insert(number));
                } else {
                    prop_assert_eq!(set.remove(number), naive.remove(&number));
                }
            }
            let absent = (from..=to).filter(|number| !naive.contains(number)).collect::<Vec<_>>();
            prop_assert_eq!(set.first_absent(from, to), absent.first().copied());
            for at_most in [0, 1, absent.len().saturating_sub(1), absent.len(), absent.len() + 1] {
                prop_assert_eq!(set.count_absent(from, to, at_most), absent.len().min(at_most));
            }
            let starts = naive.iter().filter(|number| **number == 0 || !naive.contains(&(**number - 1)));
            prop_assert_eq!(set.runs.len(), starts.count());
            prop_assert!(naive.iter().all(|number| set.contains(*number)));
        }
    }
}
