//! The numbers of a pool: disjoint ranges. Pure.

use super::runs::Runs;

/// Disjoint ranges of numbers, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<NumberRange>,
    /// The number of members; saturates.
    len: u128,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NumberRange {
    first: u128,
    last: u128,
    /// Number of members in earlier ranges.
    before: u128,
}

impl Ranges {
    /// Creates ranges from pairs of first and last number.
    ///
    /// # Errors
    /// The first number that two of the ranges contain.
    pub(super) fn new(mut pairs: Vec<(u128, u128)>) -> Result<Self, u128> {
        pairs.sort_unstable();
        let (mut ranges, mut len) = (Vec::<NumberRange>::with_capacity(pairs.len()), 0_u128);
        for (first, last) in pairs {
            match ranges.last_mut() {
                Some(before) if before.last >= first => return Err(first),
                // A set of consecutive members is one range.
                Some(before) if before.last + 1 == first => before.last = last,
                _ => ranges.push(NumberRange { first, last, before: len }),
            }
            len = len.saturating_add(last - first).saturating_add(1);
        }
        Ok(Self { ranges, len })
    }

    pub(super) const fn len(&self) -> u128 {
        self.len
    }

    pub(super) fn contains(&self, number: u128) -> bool {
        let at = self.ranges.partition_point(|range| range.last < number);
        self.ranges.get(at).is_some_and(|range| range.first <= number)
    }

    /// Returns a free number: the first at or after a random one, wrapping around. `None` if all
    /// are taken.
    ///
    /// Random numbers make collisions between controllers rare; the locks decide those that happen.
    pub(super) fn pick(&self, taken: &Runs, chance: u128) -> Option<u128> {
        let offset = chance.checked_rem(self.len)?;
        let at = self.ranges.partition_point(|range| range.before <= offset).checked_sub(1)?;
        let (earlier, later) = self.ranges.split_at_checked(at)?;
        let (range, later) = later.split_first()?;
        let middle = range.first + (offset - range.before);
        let first_free = |range: &NumberRange| taken.first_absent(range.first, range.last);
        let behind = || taken.first_absent(middle, range.last).or_else(|| later.iter().find_map(first_free));
        let before =
            || earlier.iter().find_map(first_free).or_else(|| taken.first_absent(range.first, middle));
        behind().or_else(before)
    }

    /// Counts the free numbers, up to `at_most`.
    pub(super) fn count_free(&self, taken: &Runs, at_most: usize) -> usize {
        let mut found = 0;
        for range in &self.ranges {
            if found >= at_most {
                break;
            }
            found += taken.count_absent(range.first, range.last, at_most - found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn adjacent_ranges_merge_and_overlapping_ones_are_refused() {
        let ranges = Ranges::new(vec![(7, 9), (1, 3), (4, 4)]).unwrap();
        assert_eq!(ranges, Ranges::new(vec![(1, 4), (7, 9)]).unwrap());
        assert_eq!(ranges.len(), 7);
        assert_eq!(Ranges::new(vec![(1, 3), (3, 5)]), Err(3));
        assert_eq!(Ranges::new(vec![(2, 2), (2, 2)]), Err(2));
    }

    #[test]
    fn the_whole_space_is_one_range() {
        let all = Ranges::new(vec![(0, u128::MAX)]).unwrap();
        assert_eq!(all.len(), u128::MAX, "saturated");
        let mut taken = Runs::default();
        for chance in [0, 1, u128::MAX - 1, u128::MAX] {
            let picked = all.pick(&taken, chance).unwrap();
            assert!(taken.insert(picked));
        }
        assert_eq!(all.count_free(&taken, 5), 5);
    }

    fn pairs() -> impl Strategy<Value = Vec<(u128, u128)>> {
        let lengths = proptest::collection::vec((1..4_u128, 0..5_u128), 1..6);
        lengths.prop_map(|lengths| {
            let mut at = 0;
            let pair = |(gap, length)| {
                let first = at + gap;
                at = first + length;
                (first, at)
            };
            lengths.into_iter().map(pair).collect()
        })
    }

    proptest! {
        #[test]
        fn picks_return_each_free_number_once(pairs in pairs(), chances: [u64; 32], taken in proptest::collection::btree_set(0..40_u128, 0..20)) {
            let ranges = Ranges::new(pairs.clone()).unwrap();
            let members: BTreeSet<u128> = pairs.iter().flat_map(|(first, last)| *first..=*last).collect();
            prop_assert_eq!(ranges.len(), members.len() as u128);
            for number in 0..45 {
                prop_assert_eq!(ranges.contains(number), members.contains(&number));
            }
            let mut runs = Runs::default();
            for number in &taken {
                runs.insert(*number);
            }
            let mut free: BTreeSet<u128> = members.difference(&taken).copied().collect();
            for chance in chances {
                for at_most in [0, 1, free.len(), free.len() + 1] {
                    prop_assert_eq!(ranges.count_free(&runs, at_most), free.len().min(at_most));
                }
                let picked = ranges.pick(&runs, chance.into());
                prop_assert_eq!(picked.is_some(), !free.is_empty());
                if let Some(number) = picked {
                    prop_assert!(free.remove(&number) && runs.insert(number));
                }
            }
        }
    }
}
