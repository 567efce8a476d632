//! Which keys are wanted, and by how many: counts, and what follows from them.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(any(test, feature = "tokio"))]
use std::ops::Bound;
use std::time::{Duration, Instant};

use machinery_objects::EditNumber;

/// The keys.
pub(crate) struct Wanted<F> {
    keys: BTreeMap<F, Want>,
    /// Those of which something changed since somebody looked.
    changed: BTreeSet<F>,
    /// Those that nobody holds, and until when they stay.
    lingering: BTreeSet<(Instant, F)>,
    tenures: u64,
    /// Those that are complete, in the order in which they became so.
    complete: BTreeMap<EditNumber, F>,
    /// How many have been so once.
    known: usize,
    /// How often one has become so.
    completions: u64,
    limit: usize,
    closed: bool,
}

/// The longest that a key lingers.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Why a key is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    TooMany(usize),
    Closed,
}

/// One key, while somebody holds it or it lingers.
struct Want {
    guards: usize,
    tenure: Tenure,
    /// All of it has come, as that many before.
    complete: Option<EditNumber>,
    /// It has once been complete. It is so no more where the source was restored and it has not come anew.
    known: bool,
    until: Option<Instant>,
    /// Whether a stream was begun for it, or for its last tenure and has not ended.
    told: bool,
}

/// From when a key is first held until it is let go. What comes for another one is nobody's any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tenure(pub(crate) u64);

impl<F: Ord + Clone> Wanted<F> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            keys: BTreeMap::new(),
            changed: BTreeSet::new(),
            lingering: BTreeSet::new(),
            tenures: 0,
            complete: BTreeMap::new(),
            known: 0,
            completions: 0,
            limit,
            closed: false,
        }
    }

    /// One more who wants it; and whether that begins its tenure, or ends that it lingers.
    pub(crate) fn acquire(&mut self, key: &F) -> Result<(Tenure, bool), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if let Some(want) = self.keys.get_mut(key) {
            want.guards += 1;
            let until = want.until.take();
            if let Some(until) = until {
                self.lingering.remove(&(until, key.clone()));
            }
            return Ok((want.tenure, until.is_some()));
        }
        if self.keys.len() >= self.limit {
            return Err(Refused::TooMany(self.limit));
        }
        self.tenures += 1;
        let tenure = Tenure(self.tenures);
        // Of one that has changed already the end of its last tenure is still to be heard.
        let told = !self.changed.insert(key.clone());
        let want = Want { guards: 1, tenure, complete: None, known: false, until: None, told };
        self.keys.insert(key.clone(), want);
        Ok((tenure, true))
    }

    /// One less, if it is not the last.
    pub(crate) fn release_one_of_many(&mut self, key: &F, tenure: Tenure) -> bool {
        let want = self.keys.get_mut(key).filter(|want| want.tenure == tenure && want.guards > 1);
        want.map(|want| want.guards -= 1).is_some()
    }

    /// One less. True: nobody wants it any more, and its tenure is over; with a linger it is only later, if nobody comes.
    pub(crate) fn release(&mut self, key: &F, tenure: Tenure, now: Instant, linger: Duration) -> bool {
        let Some(want) = self.keys.get_mut(key).filter(|want| want.tenure == tenure) else { return false };
        want.guards -= 1;
        if want.guards > 0 {
            return false;
        }
        if linger.is_zero() {
            self.forget(key);
            return true;
        }
        let until = now + linger.min(LONGEST);
        want.until = Some(until);
        self.lingering.insert((until, key.clone()));
        false
    }

    /// Those whose time is over. Their tenures are, too.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<F> {
        let mut over = Vec::new();
        while let Some((until, key)) = self.lingering.first().cloned().filter(|(until, _)| *until <= now) {
            self.lingering.remove(&(until, key.clone()));
            self.forget(&key);
            over.push(key);
        }
        over
    }

    /// When the next one's is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.lingering.first().map(|(until, _)| *until)
    }

    /// Where there are as many as there may be, the one goes that has lingered longest. Its tenure is over.
    pub(crate) fn make_room(&mut self) -> Option<F> {
        if self.keys.len() < self.limit {
            return None;
        }
        let (_, key) = self.lingering.pop_first()?;
        self.forget(&key);
        Some(key)
    }

    fn forget(&mut self, key: &F) {
        let want = self.keys.remove(key);
        if let Some(number) = want.as_ref().and_then(|want| want.complete) {
            self.complete.remove(&number);
        }
        self.known -= usize::from(want.as_ref().is_some_and(|want| want.known));
        // Of one that nobody began a stream for nobody has to hear.
        if want.is_some_and(|want| want.told) {
            self.changed.insert(key.clone());
        } else {
            self.changed.remove(key);
        }
    }

    /// Nothing is held any more, and nothing will be. Returns what was.
    pub(crate) fn close(&mut self) -> Vec<F> {
        self.closed = true;
        self.lingering.clear();
        self.changed.clear();
        self.complete.clear();
        self.known = 0;
        std::mem::take(&mut self.keys).into_keys().collect()
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn tenure(&self, key: &F) -> Option<Tenure> {
        self.keys.get(key).map(|want| want.tenure)
    }

    /// All of a key has come, if that is still its tenure. Whether that is news.
    pub(crate) fn complete(&mut self, key: &F, tenure: Tenure) -> bool {
        let want = self.keys.get_mut(key).filter(|want| want.tenure == tenure && want.complete.is_none());
        let Some(want) = want else { return false };
        self.completions += 1;
        let number = EditNumber(self.completions);
        want.complete = Some(number);
        self.complete.insert(number, key.clone());
        self.known += usize::from(!std::mem::replace(&mut want.known, true));
        true
    }

    /// What is held of a key is of a time that never was, if that is still its tenure.
    pub(crate) fn outdate(&mut self, key: &F, tenure: Tenure) {
        let want = self.keys.get_mut(key).filter(|want| want.tenure == tenure);
        if let Some(number) = want.and_then(|want| want.complete.take()) {
            self.complete.remove(&number);
        }
    }

    /// Those that became complete after this number, and are so.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn complete_since(&self, number: EditNumber) -> Vec<(EditNumber, F)> {
        let after = (Bound::Excluded(number), Bound::Unbounded);
        self.complete.range(after).map(|(number, key)| (*number, key.clone())).collect()
    }

    /// The number of the last one that became complete.
    pub(crate) const fn last_complete(&self) -> EditNumber {
        EditNumber(self.completions)
    }

    /// The number with which it became complete, if it is. `None`: that tenure is over.
    pub(crate) fn completed(&self, key: &F, tenure: Tenure) -> Option<Option<EditNumber>> {
        self.keys.get(key).filter(|want| want.tenure == tenure).map(|want| want.complete)
    }

    /// Whether all of it has come once, for whomever.
    pub(crate) fn is_known(&self, key: &F) -> bool {
        self.keys.get(key).is_some_and(|want| want.known)
    }

    /// What changed since this was asked last: each key, and whose it is now.
    pub(crate) fn take_changed(&mut self) -> Vec<(F, Option<Tenure>)> {
        let changed = std::mem::take(&mut self.changed);
        let mut now = Vec::with_capacity(changed.len());
        for key in changed {
            let want = self.keys.get_mut(&key);
            let tenure = want.map(|want| {
                want.told = true;
                want.tenure
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

    pub(crate) const fn knows_any(&self) -> bool {
        self.known > 0
    }

    pub(crate) fn guards(&self) -> usize {
        self.keys.values().map(|want| want.guards).sum()
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
    fn the_first_begins_a_tenure_and_the_last_ends_it() {
        let mut wanted = Wanted::new(9);
        let (first, _) = wanted.acquire(&1).unwrap();
        assert_eq!(wanted.acquire(&1), Ok((first, false)));
        assert_eq!(wanted.take_changed(), [(1, Some(first))]);
        assert!(!wanted.release(&1, first, now(), NONE));
        assert!(wanted.take_changed().is_empty());
        assert!(wanted.release(&1, first, now(), NONE));
        assert_eq!(wanted.take_changed(), [(1, None)]);
        let (second, _) = wanted.acquire(&1).unwrap();
        assert!(second > first);
        assert!(!wanted.complete(&1, first));
        assert_eq!((wanted.completed(&1, first), wanted.completed(&1, second)), (None, Some(None)));
        assert!(wanted.complete(&1, second) && !wanted.complete(&1, second));
        assert_eq!(wanted.completed(&1, second), Some(Some(EditNumber(1))));
        assert!(wanted.is_known(&1) && wanted.count_complete() == 1);
        let (third, _) = wanted.acquire(&3).unwrap();
        assert!(wanted.complete(&3, third));
        assert_eq!(
            (wanted.completed(&3, third), wanted.last_complete()),
            (Some(Some(EditNumber(2))), EditNumber(2))
        );
        assert!(wanted.release(&1, second, now(), NONE));
        assert_eq!((wanted.count_complete(), wanted.is_known(&1)), (1, false));
        wanted.close();
        assert_eq!(wanted.count_complete(), 0);
    }

    #[test]
    fn a_key_that_is_out_of_date_is_known_and_becomes_complete_again() {
        let mut wanted = Wanted::new(9);
        let (tenure, _) = wanted.acquire(&1).unwrap();
        wanted.outdate(&1, tenure);
        assert!(!wanted.knows_any() && wanted.complete(&1, tenure));
        wanted.outdate(&1, Tenure(99));
        assert_eq!(wanted.count_complete(), 1, "it is another tenure");
        wanted.outdate(&1, tenure);
        wanted.outdate(&1, tenure);
        assert_eq!((wanted.completed(&1, tenure), wanted.count_complete()), (Some(None), 0));
        assert!(wanted.is_known(&1) && wanted.knows_any());
        assert!(wanted.complete(&1, tenure));
        assert_eq!(wanted.completed(&1, tenure), Some(Some(EditNumber(2))));
        assert_eq!(wanted.complete_since(EditNumber::FIRST), [(EditNumber(2), 1)], "as it is now");
        assert_eq!(wanted.complete_since(EditNumber(2)), []);
        wanted.outdate(&1, tenure);
        assert!(wanted.release(&1, tenure, now(), NONE));
        assert!(!wanted.knows_any() && !wanted.is_known(&1) && wanted.count_complete() == 0);
    }

    #[test]
    fn one_that_lingers_makes_room_for_one_that_is_held() {
        let (mut wanted, start, linger) = (Wanted::new(2), now(), Duration::from_secs(5));
        let (first, _) = wanted.acquire(&1).unwrap();
        let (second, _) = wanted.acquire(&2).unwrap();
        assert_eq!(wanted.make_room(), None);
        assert!(!wanted.release(&2, second, start, linger));
        assert!(!wanted.release(&1, first, start + linger / 2, linger));
        assert_eq!(wanted.make_room(), Some(2), "it has lingered longest");
        assert_eq!(wanted.make_room(), None, "there is room");
        assert!(wanted.acquire(&3).is_ok());
        assert_eq!(wanted.make_room(), Some(1));
        assert_eq!((wanted.len(), wanted.due()), (1, None));
    }

    #[test]
    fn of_a_key_that_came_and_went_unheard_nothing_is_left() {
        let mut wanted = Wanted::new(9);
        for key in 0..1_000 {
            let (tenure, _) = wanted.acquire(&key).unwrap();
            assert!(wanted.release(&key, tenure, now(), NONE));
        }
        assert_eq!((wanted.len(), wanted.changed.len()), (0, 0));
    }

    #[test]
    fn the_end_of_a_tenure_is_heard_also_where_another_came_and_went_unheard() {
        let mut wanted = Wanted::new(9);
        let (heard, _) = wanted.acquire(&1).unwrap();
        assert_eq!(wanted.take_changed(), [(1, Some(heard))]);
        assert!(wanted.release(&1, heard, now(), NONE));
        for _ in 0..2 {
            let (unheard, _) = wanted.acquire(&1).unwrap();
            assert!(wanted.release(&1, unheard, now(), NONE));
        }
        assert_eq!(wanted.take_changed(), [(1, None)]);
        assert!(wanted.take_changed().is_empty());
    }

    #[test]
    fn who_comes_while_it_lingers_has_the_same_tenure() {
        let (mut wanted, start, linger) = (Wanted::new(9), now(), Duration::from_secs(5));
        let (first, _) = wanted.acquire(&1).unwrap();
        assert!(!wanted.release(&1, first, start, linger));
        assert!(wanted.overdue(start + linger - Duration::from_millis(1)).is_empty());
        assert_eq!(wanted.acquire(&1), Ok((first, true)));
        assert!(wanted.due().is_none() && wanted.overdue(start + 2 * linger).is_empty());
        assert!(!wanted.release(&1, first, start + linger, linger));
        assert_eq!(wanted.due(), Some(start + 2 * linger));
        assert_eq!(wanted.overdue(start + 2 * linger), [1]);
        assert_eq!((wanted.len(), wanted.guards(), wanted.due()), (0, 0, None));
    }

    #[test]
    fn a_key_has_many_guards_and_there_are_so_many_keys() {
        let mut wanted = Wanted::new(2);
        for _ in 0..1_000_000 {
            wanted.acquire(&1).unwrap();
        }
        let (second, _) = wanted.acquire(&2).unwrap();
        assert_eq!(wanted.acquire(&3), Err(Refused::TooMany(2)));
        assert_eq!((wanted.len(), wanted.guards()), (2, 1_000_001));
        assert!(wanted.release(&2, second, now(), NONE));
        let (third, _) = wanted.acquire(&3).unwrap();
        assert_eq!(wanted.close(), [1, 3]);
        assert!(!wanted.release(&3, third, now(), NONE));
        assert_eq!(wanted.acquire(&3), Err(Refused::Closed));
    }
}
