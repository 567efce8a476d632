//! Decides which awaited responses are overdue, and which owners are silent. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// The awaited responses, by the key of the object that awaits one.
#[derive(Clone, Debug)]
pub(super) struct SilenceTracker<K, O> {
    timeout: Duration,
    awaited: BTreeMap<K, Awaited<O>>,
    silent: BTreeSet<O>,
    checked: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Awaited<O> {
    owner: O,
    since: Instant,
    is_overdue: bool,
}

/// The result of a check of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilenceChange<K, O> {
    /// Objects with a response that is overdue since this check.
    pub overdue: Vec<K>,
    /// Owners that are silent since this check: each owes an overdue response.
    pub silent: Vec<O>,
    /// Owners that owe no overdue response any more.
    pub responsive: Vec<O>,
}

impl<K, O> SilenceChange<K, O> {
    pub(super) const fn is_empty(&self) -> bool {
        self.overdue.is_empty() && self.silent.is_empty() && self.responsive.is_empty()
    }
}

impl<K: Ord + Clone, O: Ord + Clone> SilenceTracker<K, O> {
    pub(super) const fn new(timeout: Duration) -> Self {
        Self { timeout, awaited: BTreeMap::new(), silent: BTreeSet::new(), checked: None }
    }

    /// Compares the index with that of the last check. An object is overdue if all checks of one
    /// timeout have found it awaiting the same owner.
    ///
    /// After a pause of the checks of more than half a timeout (a suspended process, a source
    /// without connection), waits that are not overdue begin again: responses may not have arrived.
    pub(super) fn check(
        &mut self,
        now: Instant,
        awaited: impl IntoIterator<Item = (K, O)>,
    ) -> SilenceChange<K, O> {
        let is_late = self.checked.is_some_and(|before| now.duration_since(before) > self.timeout / 2);
        self.checked = Some(now);
        let mut before = std::mem::take(&mut self.awaited);
        let mut overdue = Vec::new();
        for (key, owner) in awaited {
            let mut one = match before.remove(&key) {
                Some(one) if one.owner == owner => one,
                _ => Awaited { owner, since: now, is_overdue: false },
            };
            if is_late && !one.is_overdue {
                one.since = now;
            }
            if !one.is_overdue && now.duration_since(one.since) >= self.timeout {
                one.is_overdue = true;
                overdue.push(key.clone());
            }
            self.awaited.insert(key, one);
        }
        let owing = self.awaited.values().filter(|one| one.is_overdue);
        let silent: BTreeSet<O> = owing.map(|one| one.owner.clone()).collect();
        let before = std::mem::replace(&mut self.silent, silent);
        SilenceChange {
            overdue,
            silent: self.silent.difference(&before).cloned().collect(),
            responsive: before.difference(&self.silent).cloned().collect(),
        }
    }

    pub(super) fn is_overdue(&self, key: &K) -> bool {
        self.awaited.get(key).is_some_and(|one| one.is_overdue)
    }

    pub(super) fn is_silent(&self, owner: &O) -> bool {
        self.silent.contains(owner)
    }

    /// Returns the silent owners, each with the number of its overdue responses.
    pub(super) fn silent(&self) -> Vec<(O, usize)> {
        let overdue =
            |owner: &O| self.awaited.values().filter(|one| one.is_overdue && one.owner == *owner).count();
        self.silent.iter().map(|owner| (owner.clone(), overdue(owner))).collect()
    }

    pub(super) fn awaited(&self) -> usize {
        self.awaited.len()
    }

    pub(super) fn overdue(&self) -> usize {
        self.awaited.values().filter(|one| one.is_overdue).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(8);

    /// A tracker with a clock of whole seconds.
    struct Clocked {
        start: Instant,
        tracker: SilenceTracker<u8, &'static str>,
    }

    impl Clocked {
        fn new() -> Self {
            Self { start: Instant::now(), tracker: SilenceTracker::new(TIMEOUT) }
        }

        fn check(&mut self, second: u64, awaited: &[(u8, &'static str)]) -> SilenceChange<u8, &'static str> {
            self.tracker.check(self.start + Duration::from_secs(second), awaited.iter().copied())
        }
    }

    fn change(
        overdue: &[u8],
        silent: &[&'static str],
        responsive: &[&'static str],
    ) -> SilenceChange<u8, &'static str> {
        SilenceChange { overdue: overdue.into(), silent: silent.into(), responsive: responsive.into() }
    }

    #[test]
    fn p50_an_owner_is_silent_after_the_timeout_until_it_responds() {
        let mut clocked = Clocked::new();
        for second in [0, 2, 4, 6] {
            assert!(clocked.check(second, &[(1, "a"), (2, "a"), (3, "b")]).is_empty());
        }
        // The owner of 3 has responded in time, and 4 is new.
        assert_eq!(clocked.check(8, &[(1, "a"), (2, "a"), (4, "b")]), change(&[1, 2], &["a"], &[]));
        assert!(clocked.tracker.is_silent(&"a") && !clocked.tracker.is_silent(&"b"));
        assert_eq!(clocked.tracker.silent(), [("a", 2)]);
        assert!(clocked.check(10, &[(2, "a"), (4, "b")]).is_empty(), "one response is still overdue");
        assert_eq!(clocked.check(12, &[(4, "b")]), change(&[], &[], &["a"]));
        assert!(clocked.check(14, &[(4, "b")]).is_empty());
        assert_eq!(clocked.check(16, &[(4, "b")]), change(&[4], &["b"], &[]));
    }

    #[test]
    fn p50_a_wait_begins_again_after_a_response_and_with_another_owner() {
        let mut clocked = Clocked::new();
        for (second, awaited) in [
            (0, &[(1, "a")][..]),
            (4, &[]),
            (5, &[(1, "a")]),
            (8, &[(1, "a")]),
            (12, &[(1, "b")]),
            (16, &[(1, "b")]),
        ] {
            assert!(clocked.check(second, awaited).is_empty(), "{second}");
        }
        assert_eq!(clocked.check(20, &[(1, "b")]), change(&[1], &["b"], &[]));
    }

    /// After a suspension of the process, the cache is as old as the suspension.
    #[test]
    fn p51_waits_begin_again_after_a_pause_of_the_checks() {
        let mut clocked = Clocked::new();
        assert!(clocked.check(0, &[(1, "a")]).is_empty());
        assert!(clocked.check(3600, &[(1, "a")]).is_empty());
        assert!(clocked.check(3604, &[(1, "a")]).is_empty());
        assert_eq!(clocked.check(3608, &[(1, "a")]), change(&[1], &["a"], &[]));
        assert!(clocked.check(9000, &[(1, "a")]).is_empty(), "it stays silent");
        assert!(clocked.tracker.is_overdue(&1));
    }

    proptest! {
        /// A naive model keeps the whole history of checks.
        #[test]
        fn p50_overdue_objects_were_awaited_at_all_checks_of_one_timeout(
            history in prop::collection::vec((1_u64..5, prop::collection::btree_map(0_u8..4, 0_usize..2, 0..4)), 1..40)
        ) {
            const OWNERS: [&str; 2] = ["a", "b"];
            let mut clocked = Clocked::new();
            let mut seen: Vec<(u64, std::collections::BTreeMap<u8, usize>)> = Vec::new();
            let mut second = 0;
            for (gap, awaited) in history {
                second += gap;
                seen.push((second, awaited.clone()));
                let list: Vec<(u8, &'static str)> =
                    awaited.iter().map(|(key, owner)| (*key, OWNERS[*owner])).collect();
                clocked.check(second, &list);
                for key in 0..4 {
                    let expected = awaited.get(&key).is_some_and(|owner| {
                        let since = seen.iter().rev().take_while(|(_, all)| all.get(&key) == Some(owner)).last();
                        since.is_some_and(|(at, _)| second - at >= TIMEOUT.as_secs())
                    });
                    prop_assert_eq!(clocked.tracker.is_overdue(&key), expected, "{} at {}", key, second);
                }
                for owner in OWNERS {
                    let owes = list.iter().any(|(key, of)| *of == owner && clocked.tracker.is_overdue(key));
                    prop_assert_eq!(clocked.tracker.is_silent(&owner), owes);
                }
            }
        }
    }
}
