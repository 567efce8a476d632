//! The interests in keys: reference counts, tenures and completion.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(any(test, feature = "tokio"))]
use std::ops::Bound;
use std::time::{Duration, Instant};

use machinery_objects::EditNumber;

/// The keys with their reference counts.
pub(crate) struct InterestCounts<F> {
    keys: BTreeMap<F, KeyInterest>,
    /// Keys that changed since the last call of `take_changed`.
    changed: BTreeSet<F>,
    /// Keys without interests, with the end of their linger time.
    lingering: BTreeSet<(Instant, F)>,
    tenures: u64,
    /// The complete keys, in the order of completion.
    complete: BTreeMap<EditNumber, F>,
    /// Number of keys that are or were complete.
    ever_complete: usize,
    /// Number of completions.
    completions: u64,
    limit: usize,
    closed: bool,
}

/// Upper bound of the linger time.
const MAX_LINGER: Duration = Duration::from_secs(365 * 24 * 3600);

/// The reason why a key is not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcquireRefusal {
    TooMany(usize),
    Closed,
}

/// A key with interests, or one that lingers.
struct KeyInterest {
    guards: usize,
    tenure: Tenure,
    /// The completion number, if all objects of the key are cached.
    complete: Option<EditNumber>,
    /// Whether it was ever complete. After a restore of the source it is incomplete until relisted.
    was_complete: bool,
    until: Option<Instant>,
    /// Whether a stream knows of this key, or of its previous tenure.
    is_streamed: bool,
}

/// A period from the first interest in a key to its release. Events for an earlier tenure are
/// fenced off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tenure(pub(crate) u64);

impl<F: Ord + Clone> InterestCounts<F> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            keys: BTreeMap::new(),
            changed: BTreeSet::new(),
            lingering: BTreeSet::new(),
            tenures: 0,
            complete: BTreeMap::new(),
            ever_complete: 0,
            completions: 0,
            limit,
            closed: false,
        }
    }

    /// Adds an interest; returns whether that begins a tenure or ends a linger time.
    pub(crate) fn acquire(&mut self, key: &F) -> Result<(Tenure, bool), AcquireRefusal> {
        if self.closed {
            return Err(AcquireRefusal::Closed);
        }
        if let Some(interest) = self.keys.get_mut(key) {
            interest.guards += 1;
            let until = interest.until.take();
            if let Some(until) = until {
                self.lingering.remove(&(until, key.clone()));
            }
            return Ok((interest.tenure, until.is_some()));
        }
        // After the lookup: another interest in a present key needs no capacity.
        if self.keys.len() >= self.limit {
            return Err(AcquireRefusal::TooMany(self.limit));
        }
        self.tenures += 1;
        let tenure = Tenure(self.tenures);
        // A key that has changed already still has the end of its last tenure to report.
        let is_streamed = !self.changed.insert(key.clone());
        let interest =
            KeyInterest { guards: 1, tenure, complete: None, was_complete: false, until: None, is_streamed };
        self.keys.insert(key.clone(), interest);
        Ok((tenure, true))
    }

    /// Removes an interest, unless it is the last.
    pub(crate) fn release_one_of_many(&mut self, key: &F, tenure: Tenure) -> bool {
        let interest =
            self.keys.get_mut(key).filter(|interest| interest.tenure == tenure && interest.guards > 1);
        interest.map(|interest| interest.guards -= 1).is_some()
    }

    /// Removes an interest. Returns true if its tenure ended; with a linger time it ends later.
    pub(crate) fn release(&mut self, key: &F, tenure: Tenure, now: Instant, linger: Duration) -> bool {
        let Some(interest) = self.keys.get_mut(key).filter(|interest| interest.tenure == tenure) else {
            return false;
        };
        interest.guards -= 1;
        if interest.guards > 0 {
            return false;
        }
        if linger.is_zero() {
            self.remove(key);
            return true;
        }
        let until = now + linger.min(MAX_LINGER);
        interest.until = Some(until);
        self.lingering.insert((until, key.clone()));
        false
    }

    /// Removes and returns the keys with an expired linger time.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<F> {
        let mut over = Vec::new();
        while let Some((until, key)) = self.lingering.first().cloned().filter(|(until, _)| *until <= now) {
            self.lingering.remove(&(until, key.clone()));
            self.remove(&key);
            over.push(key);
        }
        over
    }

    /// Returns the earliest end of a linger time; `None` if no key lingers.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.lingering.first().map(|(until, _)| *until)
    }

    /// If the limit of keys is reached, removes the key that has lingered longest.
    pub(crate) fn evict_lingering(&mut self) -> Option<F> {
        if self.keys.len() < self.limit {
            return None;
        }
        let (_, key) = self.lingering.pop_first()?;
        self.remove(&key);
        Some(key)
    }

    fn remove(&mut self, key: &F) {
        let interest = self.keys.remove(key);
        if let Some(number) = interest.as_ref().and_then(|interest| interest.complete) {
            self.complete.remove(&number);
        }
        self.ever_complete -= usize::from(interest.as_ref().is_some_and(|interest| interest.was_complete));
        // No stream has to be closed for it.
        if interest.is_some_and(|interest| interest.is_streamed) {
            self.changed.insert(key.clone());
        } else {
            self.changed.remove(key);
        }
    }

    /// Removes all keys and accepts no more. Returns the keys.
    pub(crate) fn close(&mut self) -> Vec<F> {
        self.closed = true;
        self.lingering.clear();
        self.changed.clear();
        self.complete.clear();
        self.ever_complete = 0;
        std::mem::take(&mut self.keys).into_keys().collect()
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn tenure(&self, key: &F) -> Option<Tenure> {
        self.keys.get(key).map(|interest| interest.tenure)
    }

    /// Marks a key complete, unless the tenure is over. Returns whether it was incomplete.
    pub(crate) fn complete(&mut self, key: &F, tenure: Tenure) -> bool {
        let interest = self
            .keys
            .get_mut(key)
            .filter(|interest| interest.tenure == tenure && interest.complete.is_none());
        let Some(interest) = interest else { return false };
        self.completions += 1;
        let number = EditNumber(self.completions);
        interest.complete = Some(number);
        self.complete.insert(number, key.clone());
        self.ever_complete += usize::from(!std::mem::replace(&mut interest.was_complete, true));
        true
    }

    /// Marks a key incomplete as its objects predate a restore, unless the tenure is over.
    pub(crate) fn outdate(&mut self, key: &F, tenure: Tenure) {
        let interest = self.keys.get_mut(key).filter(|interest| interest.tenure == tenure);
        if let Some(number) = interest.and_then(|interest| interest.complete.take()) {
            self.complete.remove(&number);
        }
    }

    /// Returns the complete keys with a greater number.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn complete_since(&self, number: EditNumber) -> Vec<(EditNumber, F)> {
        let after = (Bound::Excluded(number), Bound::Unbounded);
        self.complete.range(after).map(|(number, key)| (*number, key.clone())).collect()
    }

    /// Returns the last completion number.
    pub(crate) const fn last_complete(&self) -> EditNumber {
        EditNumber(self.completions)
    }

    /// Returns the completion number of a key, if complete; `None` if the tenure is over.
    pub(crate) fn completed(&self, key: &F, tenure: Tenure) -> Option<Option<EditNumber>> {
        self.keys.get(key).filter(|interest| interest.tenure == tenure).map(|interest| interest.complete)
    }

    /// Returns whether the key is or was complete.
    pub(crate) fn was_complete(&self, key: &F) -> bool {
        self.keys.get(key).is_some_and(|interest| interest.was_complete)
    }

    /// Takes the keys that changed, with their current tenures.
    pub(crate) fn take_changed(&mut self) -> Vec<(F, Option<Tenure>)> {
        let changed = std::mem::take(&mut self.changed);
        let mut now = Vec::with_capacity(changed.len());
        for key in changed {
            let interest = self.keys.get_mut(&key);
            let tenure = interest.map(|interest| {
                interest.is_streamed = true;
                interest.tenure
            });
            now.push((key, tenure));
        }
        now
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn count_complete(&self) -> usize {
        self.complete.len()
    }

    pub(crate) const fn any_was_complete(&self) -> bool {
        self.ever_complete > 0
    }

    pub(crate) fn guards(&self) -> usize {
        self.keys.values().map(|interest| interest.guards).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;

    fn now() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    #[test]
    fn the_first_interest_begins_a_tenure_and_the_last_ends_it() {
        let mut counts = InterestCounts::new(9);
        let (first, _) = counts.acquire(&1).unwrap();
        assert_eq!(counts.acquire(&1), Ok((first, false)));
        assert_eq!(counts.take_changed(), [(1, Some(first))]);
        assert!(!counts.release(&1, first, now(), NONE));
        assert!(counts.take_changed().is_empty());
        assert!(counts.release(&1, first, now(), NONE));
        assert_eq!(counts.take_changed(), [(1, None)]);
        let (second, _) = counts.acquire(&1).unwrap();
        assert!(second > first);
        assert!(!counts.complete(&1, first));
        assert_eq!((counts.completed(&1, first), counts.completed(&1, second)), (None, Some(None)));
        assert!(counts.complete(&1, second) && !counts.complete(&1, second));
        assert_eq!(counts.completed(&1, second), Some(Some(EditNumber(1))));
        assert!(counts.was_complete(&1) && counts.count_complete() == 1);
        let (third, _) = counts.acquire(&3).unwrap();
        assert!(counts.complete(&3, third));
        assert_eq!(
            (counts.completed(&3, third), counts.last_complete()),
            (Some(Some(EditNumber(2))), EditNumber(2))
        );
        assert!(counts.release(&1, second, now(), NONE));
        assert_eq!((counts.count_complete(), counts.was_complete(&1)), (1, false));
        counts.close();
        assert_eq!(counts.count_complete(), 0);
    }

    #[test]
    fn an_outdated_key_becomes_complete_again() {
        let mut counts = InterestCounts::new(9);
        let (tenure, _) = counts.acquire(&1).unwrap();
        counts.outdate(&1, tenure);
        assert!(!counts.any_was_complete() && counts.complete(&1, tenure));
        counts.outdate(&1, Tenure(99));
        assert_eq!(counts.count_complete(), 1, "it is another tenure");
        counts.outdate(&1, tenure);
        counts.outdate(&1, tenure);
        assert_eq!((counts.completed(&1, tenure), counts.count_complete()), (Some(None), 0));
        assert!(counts.was_complete(&1) && counts.any_was_complete());
        assert!(counts.complete(&1, tenure));
        assert_eq!(counts.completed(&1, tenure), Some(Some(EditNumber(2))));
        assert_eq!(counts.complete_since(EditNumber::FIRST), [(EditNumber(2), 1)], "as it is now");
        assert_eq!(counts.complete_since(EditNumber(2)), []);
        counts.outdate(&1, tenure);
        assert!(counts.release(&1, tenure, now(), NONE));
        assert!(!counts.any_was_complete() && !counts.was_complete(&1) && counts.count_complete() == 0);
    }

    #[test]
    fn a_lingering_key_is_evicted_for_a_held_one() {
        let (mut counts, start, linger) = (InterestCounts::new(2), now(), Duration::from_secs(5));
        let (first, _) = counts.acquire(&1).unwrap();
        let (second, _) = counts.acquire(&2).unwrap();
        assert_eq!(counts.evict_lingering(), None);
        assert!(!counts.release(&2, second, start, linger));
        assert!(!counts.release(&1, first, start + linger / 2, linger));
        assert_eq!(counts.evict_lingering(), Some(2), "it has lingered longest");
        assert_eq!(counts.evict_lingering(), None, "there is room");
        assert!(counts.acquire(&3).is_ok());
        assert_eq!(counts.evict_lingering(), Some(1));
        assert_eq!((counts.len(), counts.due()), (1, None));
    }

    #[test]
    fn a_key_released_before_it_is_streamed_leaves_nothing() {
        let mut counts = InterestCounts::new(9);
        for key in 0..1_000 {
            let (tenure, _) = counts.acquire(&key).unwrap();
            assert!(counts.release(&key, tenure, now(), NONE));
        }
        assert_eq!((counts.len(), counts.changed.len()), (0, 0));
    }

    #[test]
    fn the_end_of_a_streamed_tenure_is_reported_despite_unstreamed_ones() {
        let mut counts = InterestCounts::new(9);
        let (streamed, _) = counts.acquire(&1).unwrap();
        assert_eq!(counts.take_changed(), [(1, Some(streamed))]);
        assert!(counts.release(&1, streamed, now(), NONE));
        for _ in 0..2 {
            let (unstreamed, _) = counts.acquire(&1).unwrap();
            assert!(counts.release(&1, unstreamed, now(), NONE));
        }
        assert_eq!(counts.take_changed(), [(1, None)]);
        assert!(counts.take_changed().is_empty());
    }

    #[test]
    fn acquiring_a_lingering_key_keeps_its_tenure() {
        let (mut counts, start, linger) = (InterestCounts::new(9), now(), Duration::from_secs(5));
        let (first, _) = counts.acquire(&1).unwrap();
        assert!(!counts.release(&1, first, start, linger));
        assert!(counts.overdue(start + linger - Duration::from_millis(1)).is_empty());
        assert_eq!(counts.acquire(&1), Ok((first, true)));
        assert!(counts.due().is_none() && counts.overdue(start + 2 * linger).is_empty());
        assert!(!counts.release(&1, first, start + linger, linger));
        assert_eq!(counts.due(), Some(start + 2 * linger));
        assert_eq!(counts.overdue(start + 2 * linger), [1]);
        assert_eq!((counts.len(), counts.guards(), counts.due()), (0, 0, None));
    }

    #[test]
    fn interests_per_key_are_unlimited_and_keys_are_limited() {
        let mut counts = InterestCounts::new(2);
        for _ in 0..1_000_000 {
            counts.acquire(&1).unwrap();
        }
        let (second, _) = counts.acquire(&2).unwrap();
        assert_eq!(counts.acquire(&3), Err(AcquireRefusal::TooMany(2)));
        assert_eq!((counts.len(), counts.guards()), (2, 1_000_001));
        assert!(counts.release(&2, second, now(), NONE));
        let (third, _) = counts.acquire(&3).unwrap();
        assert_eq!(counts.close(), [1, 3]);
        assert!(!counts.release(&3, third, now(), NONE));
        assert_eq!(counts.acquire(&3), Err(AcquireRefusal::Closed));
    }
}
