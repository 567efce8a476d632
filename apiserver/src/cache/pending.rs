//! The pending revisions of a watcher.

use std::collections::VecDeque;

use machinery_objects::Revision;

/// The first pending revision of a watcher in the ring, and the following ones. When the list is
/// full, the watcher scans all later revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingRevisions {
    pub(super) number: u64,
    pub(super) revision: Revision,
    /// Differences between consecutive numbers, and the last number.
    steps: VecDeque<u32>,
    last: u64,
    /// Whether all revisions after the last are pending.
    scans: bool,
}

/// Limits an unread watcher to about a kilobyte. A watcher that is read rarely has more than a few.
const STEPS: usize = 256;

impl PendingRevisions {
    /// A single pending revision.
    pub(super) const fn one(number: u64, revision: Revision) -> Self {
        Self { number, revision, steps: VecDeque::new(), last: number, scans: false }
    }

    /// This revision and all later ones.
    pub(super) fn all(number: u64, revision: Revision) -> Self {
        let mut all = Self::one(number, revision);
        all.scans = true;
        all
    }

    /// Returns whether the newest revision is already pending.
    pub(super) const fn has(&self, number: u64) -> bool {
        self.scans || number <= self.last
    }

    /// Adds a revision. Numbers are ascending and may repeat.
    pub(super) fn note(&mut self, number: u64) {
        if self.has(number) {
            return;
        }
        match u32::try_from(number - self.last).ok().filter(|_| self.steps.len() < STEPS) {
            Some(step) => {
                self.steps.push_back(step);
                self.last = number;
            }
            None => self.scans = true,
        }
    }

    /// Removes the first. `revision` returns the revision of a number that is already in the ring.
    pub(super) fn rest(mut self, revision: impl Fn(u64) -> Option<Revision>) -> Option<Self> {
        let step = match self.steps.pop_front() {
            Some(step) => u64::from(step),
            None if self.scans => 1,
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

    /// Returns the numbers that are examined if the ring ends at `end`.
    fn examined(first: PendingRevisions, end: u64) -> Vec<u64> {
        let revision = |number| (number < end).then_some(Revision(number + 100));
        let rest = |pending: &PendingRevisions| pending.clone().rest(revision);
        std::iter::successors(Some(first), rest).map(|pending| pending.number).collect()
    }

    fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0_u64..4, count)
    }

    proptest! {
        #[test]
        fn pending_revisions_are_examined_in_order(
            steps in prop_oneof![steps(0..30), steps(2 * STEPS..2 * STEPS + 1)],
        ) {
            let mut noted = vec![7];
            let mut pending = PendingRevisions::one(7, Revision(107));
            for step in steps {
                let number = noted[noted.len() - 1] + step;
                pending.note(number);
                noted.push(number);
            }
            noted.dedup();
            let end = noted[noted.len() - 1] + 3;
            let examined = examined(pending, end);
            if noted.len() <= STEPS + 1 {
                prop_assert_eq!(examined, noted, "nothing else, where there is place for it");
            } else {
                prop_assert_eq!(&examined[..=STEPS], &noted[..=STEPS]);
                prop_assert_eq!(&examined[STEPS..], &(noted[STEPS]..end).collect::<Vec<_>>()[..]);
            }
        }
    }

    #[test]
    fn a_new_watcher_examines_all_revisions() {
        let mut pending = PendingRevisions::all(3, Revision(103));
        pending.note(9);
        assert_eq!(examined(pending, 6), [3, 4, 5]);
    }

    #[test]
    fn a_distant_revision_is_found_by_scanning() {
        let mut pending = PendingRevisions::one(0, Revision(100));
        pending.note(1 << 40);
        assert_eq!(examined(pending, 4), [0, 1, 2, 3]);
    }
}
