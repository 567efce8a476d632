//! What a watch has yet to look at.

use std::collections::VecDeque;

use machinery_objects::Revision;

/// The first in the ring that may concern a watch and that it has not looked at, and the next of those. Who has more to look at than is noted
/// looks at all that comes after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) revision: Revision,
    /// How far each is from the one before it; and which is the last.
    steps: VecDeque<u32>,
    last: u64,
    /// Whether all that comes after the last of them is to be looked at.
    walks: bool,
}

/// A watch that is not read holds no more than a kilobyte by this, however much happens. One that is has far fewer, even where it is one of a
/// thousand.
const STEPS: usize = 256;

impl Pending {
    /// One, and what is noted after it.
    pub(super) const fn one(number: u64, revision: Revision) -> Self {
        Self { number, revision, steps: VecDeque::new(), last: number, walks: false }
    }

    /// This one and all that come after it.
    pub(super) fn all(number: u64, revision: Revision) -> Self {
        let mut all = Self::one(number, revision);
        all.walks = true;
        all
    }

    /// Whether this one, than which none is newer, is looked at already.
    pub(super) const fn has(&self, number: u64) -> bool {
        self.walks || number <= self.last
    }

    /// This one may concern it as well. Numbers come in order; one may come again.
    pub(super) fn note(&mut self, number: u64) {
        if self.has(number) {
            return;
        }
        match u32::try_from(number - self.last).ok().filter(|_| self.steps.len() < STEPS) {
            Some(step) => {
                self.steps.push_back(step);
                self.last = number;
            }
            None => self.walks = true,
        }
    }

    /// What is left when the first was looked at. `revision` says which revision has a number, if any has by now.
    pub(super) fn rest(mut self, revision: impl Fn(u64) -> Option<Revision>) -> Option<Self> {
        let step = match self.steps.pop_front() {
            Some(step) => u64::from(step),
            None if self.walks => 1,
            None => return None,
        };
        let number = self.number + step;
        Some(Self { number, revision: revision(number)?, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is looked at of what was noted, with `end` things in the ring.
    fn looked_at(first: Pending, end: u64) -> Vec<u64> {
        let revision = |number| (number < end).then_some(Revision(number + 100));
        let rest = |pending: &Pending| pending.clone().rest(revision);
        std::iter::successors(Some(first), rest).map(|pending| pending.number).collect()
    }

    fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0_u64..4, count)
    }

    proptest! {
        #[test]
        fn all_that_was_noted_is_looked_at_in_order(
            steps in prop_oneof![steps(0..30), steps(2 * STEPS..2 * STEPS + 1)],
        ) {
            let mut noted = vec![7];
            let mut pending = Pending::one(7, Revision(107));
            for step in steps {
                let number = noted[noted.len() - 1] + step;
                pending.note(number);
                noted.push(number);
            }
            noted.dedup();
            let end = noted[noted.len() - 1] + 3;
            let looked_at = looked_at(pending, end);
            if noted.len() <= STEPS + 1 {
                prop_assert_eq!(looked_at, noted, "nothing else, where there is place for it");
            } else {
                prop_assert_eq!(&looked_at[..=STEPS], &noted[..=STEPS]);
                prop_assert_eq!(&looked_at[STEPS..], &(noted[STEPS]..end).collect::<Vec<_>>()[..]);
            }
        }
    }

    #[test]
    fn who_begins_looks_at_all() {
        let mut pending = Pending::all(3, Revision(103));
        pending.note(9);
        assert_eq!(looked_at(pending, 6), [3, 4, 5]);
    }

    #[test]
    fn what_is_too_far_ahead_to_say_is_walked_to() {
        let mut pending = Pending::one(0, Revision(100));
        pending.note(1 << 40);
        assert_eq!(looked_at(pending, 4), [0, 1, 2, 3]);
    }
}
