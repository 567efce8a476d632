//! What the controller of addresses remembers: hints, and who waits. All of it is in the caches, and made anew from them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use machinery::objects::{ObjectKey, WriteToken};

use crate::model::Vni;
use crate::plan::{AddressKey, Addresses, Chance, WaitLists};

/// Which addresses are taken, as far as one knows, and who waits for one.
pub(super) struct Known {
    taken: BTreeMap<Vni, Addresses>,
    /// What is marked as taken because somebody claims it, or though nobody has told so yet. That may never be told: of a lock that
    /// comes and goes nothing is.
    marks: BTreeMap<AddressKey, Mark>,
    lines: WaitLists<ObjectKey, Waiting>,
    waiters: usize,
    chance: Chance,
    is_ready: bool,
}

struct Mark {
    subnet: ObjectKey,
    /// A claim on it is under way.
    is_claimed: bool,
    /// It was told meanwhile that there is a lock.
    is_told: bool,
    /// The write that made the lock, if that was here: a cache that is not there yet says nothing of it.
    made: Option<WriteToken>,
}

/// Who waits. Another of the same name is another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiting {
    pub(super) key: ObjectKey,
    pub(super) uid: String,
}

/// The line for a subnet, as it was: who waits, and since when.
pub(super) struct Line {
    pub(super) subnet: ObjectKey,
    /// Which addresses are waited for, if the subnet is there.
    pub(super) of: Option<(Vni, RangeInclusive<u32>)>,
    pub(super) waiting: Vec<(Timestamp, Waiting)>,
}

/// What there is for who wants an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This, likely.
    Free(AddressKey),
    /// Nothing: it waits.
    Full,
    /// Nothing, and too many wait.
    TooMany,
    /// It is not known yet.
    Early,
}

impl Known {
    pub(super) fn new(waiters: usize, seed: u64) -> Self {
        Self {
            taken: BTreeMap::new(),
            marks: BTreeMap::new(),
            lines: WaitLists::new(waiters),
            waiters,
            chance: Chance::new(seed),
            is_ready: false,
        }
    }

    /// Whether it is known what is taken, and who waits: nobody is given an address before.
    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        *self = Self { chance: self.chance.clone(), ..Self::new(self.waiters, 0) };
    }

    /// What was there at the beginning: locks, with whose subnet, and lines. Whoever stands first is woken for what is free.
    #[must_use = "whoever it is would sleep on"]
    pub(super) fn begin(&mut self, locks: Vec<(AddressKey, ObjectKey)>, lines: Vec<Line>) -> Vec<Waiting> {
        for (key, subnet) in locks {
            if self.taken.entry(key.vni).or_default().take(key.address.into()) {
                self.marks.insert(key, Mark { subnet, is_claimed: false, is_told: false, made: None });
            }
        }
        let mut woken = Vec::new();
        for Line { subnet, of, waiting } in lines {
            let all = waiting.len();
            for (since, who) in waiting {
                // Whoever comes after them looks again from time to time.
                let _ = self.lines.wait(&subnet, &who, Some(since));
            }
            let free = of.map(|(vni, range)| self.taken.entry(vni).or_default().free(&range, all));
            woken.extend((0..free.unwrap_or(0)).filter_map(|_| self.lines.freed(&subnet)));
        }
        self.is_ready = true;
        woken
    }

    /// An address for who wants one of a subnet, or a place in the line: that of who waits since then.
    pub(super) fn find(
        &mut self,
        subnet: &ObjectKey,
        who: &Waiting,
        since: Option<Timestamp>,
        vni: Vni,
        range: &RangeInclusive<u32>,
    ) -> Found {
        if !self.is_ready {
            return Found::Early;
        }
        let (taken, owed) = (self.taken.entry(vni).or_default(), self.lines.owed(subnet, who));
        let picked = match taken.free(range, owed + 1) > owed {
            true => taken.pick(range, self.chance.next()),
            false => None,
        };
        match picked {
            Some(address) => {
                let key = AddressKey { vni, address: Ipv4Addr::from(address) };
                self.marks.insert(
                    key,
                    Mark { subnet: subnet.clone(), is_claimed: true, is_told: false, made: None },
                );
                // Whoever has no place in the line is woken for nothing.
                let _ = self.lines.takes(subnet, who, since);
                Found::Free(key)
            }
            None if self.lines.wait(subnet, who, since) => Found::Full,
            None => Found::TooMany,
        }
    }

    /// There is a lock on it.
    pub(super) fn taken(&mut self, key: AddressKey) {
        self.taken.entry(key.vni).or_default().take(key.address.into());
        match self.marks.get_mut(&key) {
            Some(mark) if mark.is_claimed => mark.is_told = true,
            _ => drop(self.marks.remove(&key)),
        }
    }

    /// There is none. Who is to be woken, if it was one of a subnet for which somebody waits: not while somebody claims it, who is first.
    pub(super) fn freed(&mut self, key: AddressKey, subnet: Option<&ObjectKey>) -> Option<Waiting> {
        if let Some(mark) = self.marks.get_mut(&key).filter(|mark| mark.is_claimed) {
            mark.is_told = false;
            return None;
        }
        self.let_go(key);
        self.lines.freed(subnet?)
    }

    /// A claim has ended: the address is locked, or it is free, and then for who claimed it. Who is to be woken, if that one has gone.
    pub(super) fn claimed(&mut self, key: AddressKey, who: &Waiting, is_locked: bool) -> Option<Waiting> {
        let mark = self.marks.get_mut(&key)?;
        mark.is_claimed = false;
        match (mark.is_told, is_locked) {
            // When that lock goes it will be told.
            (true, _) => drop(self.marks.remove(&key)),
            (false, true) => {}
            (false, false) => {
                let Mark { subnet, .. } = self.marks.remove(&key)?;
                self.let_go(key);
                return self.lines.missed(&subnet, who);
            }
        }
        None
    }

    /// A claim has ended with a lock.
    pub(super) fn made(&mut self, key: AddressKey, who: &Waiting, made: &WriteToken) {
        if let Some(mark) = self.marks.get_mut(&key) {
            mark.made = Some(made.clone());
        }
        let _none = self.claimed(key, who, true);
    }

    /// Whether something is due of which nobody may tell.
    pub(super) fn has_untold(&self) -> bool {
        self.lines.due().next().is_some() || self.marks.values().any(|mark| !mark.is_claimed)
    }

    /// Lets go of what is marked and not claimed where there is no lock, and of who is due and no more.
    pub(super) fn sweep(
        &mut self,
        is_locked: impl Fn(&AddressKey, &ObjectKey, Option<&WriteToken>) -> bool,
        is_there: impl Fn(&Waiting) -> bool,
    ) -> Vec<Waiting> {
        let is_free = |(key, of): &(&AddressKey, &Mark)| {
            !of.is_claimed && !is_locked(key, &of.subnet, of.made.as_ref())
        };
        let free = self.marks.iter().filter(is_free);
        let free: Vec<_> = free.map(|(key, mark)| (*key, mark.subnet.clone())).collect();
        let mut woken: Vec<_> =
            free.into_iter().filter_map(|(key, subnet)| self.freed(key, Some(&subnet))).collect();
        loop {
            let gone = self.lines.due().find(|who| !is_there(who)).cloned();
            let Some(gone) = gone else { return woken };
            woken.extend(self.lines.leave(&gone));
        }
    }

    /// It has an address.
    pub(super) fn served(&mut self, who: &Waiting) {
        self.lines.served(who);
    }

    /// It wants none. Who is to be woken instead.
    pub(super) fn leaves(&mut self, who: &Waiting) -> Option<Waiting> {
        self.lines.leave(who)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.lines.len()
    }

    fn let_go(&mut self, key: AddressKey) {
        self.marks.remove(&key);
        let Some(taken) = self.taken.get_mut(&key.vni) else { return };
        taken.release(key.address.into());
        if taken.is_empty() {
            self.taken.remove(&key.vni);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet() -> ObjectKey {
        ObjectKey::new(Some("n"), "s").unwrap()
    }

    fn who(name: &str) -> Waiting {
        Waiting { key: ObjectKey::new(Some("n"), name).unwrap(), uid: format!("uid-{name}") }
    }

    fn vni() -> Vni {
        Vni::new(1).unwrap()
    }

    /// Who knows of one address, which a lock is on.
    fn full() -> (Known, AddressKey) {
        let key = AddressKey { vni: vni(), address: Ipv4Addr::new(10, 0, 0, 0) };
        let mut known = Known::new(8, 0);
        assert_eq!(find(&mut known, "early"), Found::Early);
        assert_eq!(known.begin(vec![(key, subnet())], Vec::new()), []);
        (known, key)
    }

    fn find(known: &mut Known, name: &str) -> Found {
        let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
        known.find(&subnet(), &who(name), None, vni(), &(first..=first))
    }

    #[test]
    fn a_lock_that_comes_and_goes_untold_is_found_to_be_gone() {
        let (mut known, key) = full();
        assert_eq!(find(&mut known, "a"), Found::Full);
        assert!(known.has_untold());
        assert_eq!(known.sweep(|_, _, _| true, |_| true), [], "it is there still");
        assert_eq!(known.sweep(|_, _, _| false, |_| true), [who("a")]);
        assert_eq!(find(&mut known, "a"), Found::Free(key));
    }

    #[test]
    fn what_is_told_is_not_looked_for() {
        let (mut known, key) = full();
        known.taken(key);
        assert!(!known.has_untold());
        assert_eq!(find(&mut known, "a"), Found::Full);
        assert_eq!(known.sweep(|_, _, _| false, |_| true), []);
        assert_eq!(known.freed(key, Some(&subnet())), Some(who("a")));
    }

    /// Who comes, waits and goes before it is told of is no more, and is told of by nobody.
    #[test]
    fn who_is_due_and_no_more_makes_way() {
        let (mut known, key) = full();
        known.taken(key);
        for name in ["ghost", "a"] {
            assert_eq!(find(&mut known, name), Found::Full);
        }
        assert_eq!(known.freed(key, Some(&subnet())), Some(who("ghost")));
        assert_eq!(known.sweep(|_, _, _| true, |one| *one != who("ghost")), [who("a")]);
        assert_eq!(known.waiting(), 1);
    }

    #[test]
    fn who_claims_in_vain_comes_before_who_waits() {
        let (mut known, key) = full();
        known.taken(key);
        for name in ["a", "b"] {
            assert_eq!(find(&mut known, name), Found::Full);
        }
        assert_eq!(known.freed(key, Some(&subnet())), Some(who("a")));
        assert_eq!(find(&mut known, "a"), Found::Free(key));
        // Another lock came and went meanwhile: that is nobody's but its own turn.
        known.taken(key);
        assert_eq!(known.freed(key, Some(&subnet())), None);
        assert_eq!(known.claimed(key, &who("a"), false), None);
        assert_eq!(find(&mut known, "b"), Found::Full, "it is a's");
        assert_eq!(find(&mut known, "a"), Found::Free(key));
        known.served(&who("a"));
        assert_eq!(known.claimed(key, &who("a"), true), None);
        assert_eq!(known.sweep(|_, _, _| false, |_| true), [who("b")], "the lock that was made is gone");
    }

    #[test]
    fn whoever_stood_first_is_woken_for_what_is_free_at_the_beginning() {
        let mut known = Known::new(8, 0);
        let at = |second| Timestamp::from_second(second).unwrap();
        let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
        let line = Line {
            subnet: subnet(),
            of: Some((vni(), first..=first)),
            waiting: vec![(at(1), who("a")), (at(2), who("b"))],
        };
        assert_eq!(known.begin(Vec::new(), vec![line]), [who("a")]);
        assert_eq!(find(&mut known, "new"), Found::Full);
        assert_eq!(find(&mut known, "b"), Found::Full);
        assert!(matches!(find(&mut known, "a"), Found::Free(_)));
    }
}
