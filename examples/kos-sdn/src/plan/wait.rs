//! Who waits for an address of a full subnet, in the order in which they came.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Who waits for what.
///
/// For each address that is given back the one who waits longest is woken. It keeps its place until it has one or leaves; if it finds the
/// subnet full again it is still before those who came later, and if it leaves without one the next is woken in its place.
#[derive(Clone, Debug)]
pub struct WaitLists<S, A> {
    limit: usize,
    lines: BTreeMap<S, Line<A>>,
    /// Where each one stands.
    places: BTreeMap<A, (S, Place)>,
    next: u64,
}

#[derive(Clone, Debug)]
struct Line<A> {
    places: BTreeMap<Place, A>,
    /// They were told that an address is free, and have not come yet.
    woken: BTreeSet<Place>,
    /// They have one in hand that may turn out to be another's.
    taking: BTreeSet<Place>,
}

/// Since when somebody waits; of those who came just now, in which order.
type Place = (Timestamp, u64);

impl<S: Ord + Clone, A: Ord + Clone> WaitLists<S, A> {
    /// Lists on which so many may wait in all.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, lines: BTreeMap::new(), places: BTreeMap::new(), next: 0 }
    }

    /// Waits, at the place that it has, or last. False: too many wait; it has to come again by itself.
    ///
    /// Whoever waited for something else leaves that first: [`Self::leave`] says who is to be woken then. And whoever has gone since it was looked at
    /// leaves again at once: that it went was told before it waited, and whom the line wakes next must be there.
    /// Who waited before this list was made says since when, and stands where it stood.
    #[must_use = "who does not wait is never woken"]
    pub fn wait(&mut self, subnet: &S, who: &A, since: Option<Timestamp>) -> bool {
        let Some(place) = self.place(subnet, who, since) else { return false };
        if let Some(line) = self.lines.get_mut(subnet) {
            line.woken.remove(&place);
            line.taking.remove(&place);
        }
        true
    }

    /// Tries to take one. It keeps its place, or has one from now on, until it [is served](Self::served): so it comes first, if what it takes is
    /// another's. False: too many wait, and it has none.
    pub fn takes(&mut self, subnet: &S, who: &A, since: Option<Timestamp>) -> bool {
        let Some(place) = self.place(subnet, who, since) else { return false };
        if let Some(line) = self.lines.get_mut(subnet) {
            line.woken.remove(&place);
            line.taking.insert(place);
        }
        true
    }

    /// What it tried to take is free after all, and is for it, if it still stands there: then nobody is to be woken. Else for who is next.
    #[must_use = "whoever it is would sleep on"]
    pub fn missed(&mut self, subnet: &S, who: &A) -> Option<A> {
        if let Some((at, place)) = self.places.get(who)
            && at == subnet
            && let Some(line) = self.lines.get_mut(at)
            && line.taking.remove(place)
        {
            line.woken.insert(*place);
            return None;
        }
        self.freed(subnet)
    }

    /// How many free addresses are for others: they were woken for them, and have not come yet.
    #[must_use]
    pub fn owed(&self, subnet: &S, who: &A) -> usize {
        let Some(line) = self.lines.get(subnet) else { return 0 };
        let is_woken = self.places.get(who).is_some_and(|(_, place)| line.woken.contains(place));
        if is_woken { 0 } else { line.woken.len() }
    }

    /// An address is free: who is to be woken for it, if anybody waits.
    #[must_use = "whoever it is would sleep on"]
    pub fn freed(&mut self, subnet: &S) -> Option<A> {
        let line = self.lines.get_mut(subnet)?;
        let sleeps = |place| !line.woken.contains(place) && !line.taking.contains(place);
        let (place, who) = line.places.iter().find(|(place, _)| sleeps(place))?;
        line.woken.insert(*place);
        Some(who.clone())
    }

    /// Waits no more: it has an address, whoever gave it that.
    pub fn served(&mut self, who: &A) {
        self.remove(who);
    }

    /// Waits no more, without an address. If one was free for it, it is free for the one who is to be woken now.
    #[must_use = "whoever it is would sleep on"]
    pub fn leave(&mut self, who: &A) -> Option<A> {
        let (subnet, was_woken) = self.remove(who)?;
        if was_woken { self.freed(&subnet) } else { None }
    }

    /// Who was woken and has not come, or tries to take one: whoever of them is no more holds up others.
    pub fn due(&self) -> impl Iterator<Item = &A> {
        let of_line = |line: &'_ Line<A>| line.woken.iter().chain(&line.taking).copied().collect::<Vec<_>>();
        let due = self.lines.values().map(move |line| (line, of_line(line)));
        due.flat_map(|(line, due)| due.into_iter().filter_map(|place| line.places.get(&place)))
    }

    /// Everybody who waits for one of a subnet, for when that changes; they keep their places.
    pub fn waiting(&self, subnet: &S) -> impl Iterator<Item = &A> {
        self.lines.get(subnet).into_iter().flat_map(|line| line.places.values())
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where it stands from now on; nowhere, if too many wait, or it stands elsewhere.
    fn place(&mut self, subnet: &S, who: &A, since: Option<Timestamp>) -> Option<Place> {
        if let Some((at, place)) = self.places.get(who) {
            return (at == subnet).then_some(*place);
        }
        if self.places.len() >= self.limit {
            return None;
        }
        let new = || Line { places: BTreeMap::new(), woken: BTreeSet::new(), taking: BTreeSet::new() };
        let place = (since.unwrap_or(Timestamp::MAX), self.next);
        self.lines.entry(subnet.clone()).or_insert_with(new).places.insert(place, who.clone());
        self.places.insert(who.clone(), (subnet.clone(), place));
        self.next += 1;
        Some(place)
    }

    fn remove(&mut self, who: &A) -> Option<(S, bool)> {
        let (subnet, place) = self.places.remove(who)?;
        let line = self.lines.get_mut(&subnet)?;
        line.places.remove(&place);
        let was_woken = line.woken.remove(&place) | line.taking.remove(&place);
        if line.places.is_empty() {
            self.lines.remove(&subnet);
        }
        Some((subnet, was_woken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn three() -> WaitLists<&'static str, u32> {
        let mut lists = WaitLists::new(3);
        for who in [3, 1, 2] {
            assert!(lists.wait(&"s", &who, None));
        }
        lists
    }

    /// In the original they came back by their back-off, up to eight hours later, in no order.
    #[test]
    fn who_waits_longest_is_woken_first() {
        let mut lists = three();
        assert_eq!(lists.freed(&"other"), None);
        assert_eq!([lists.freed(&"s"), lists.freed(&"s")], [Some(3), Some(1)]);
        lists.served(&3);
        assert!(lists.wait(&"s", &1, None), "another was faster");
        assert_eq!(lists.freed(&"s"), Some(1), "and it is still its turn");
        assert_eq!([lists.freed(&"s"), lists.freed(&"s")], [Some(2), None]);
    }

    /// After a restart all come at once, in any order.
    #[test]
    fn who_waited_before_stands_where_it_stood() {
        let mut lists = WaitLists::new(8);
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        for (who, since) in [("new", None), ("late", at(7)), ("early", at(3)), ("newer", None)] {
            assert!(lists.wait(&(), &who, since));
        }
        let woken: Vec<_> = std::iter::from_fn(|| lists.freed(&())).collect();
        assert_eq!(woken, ["early", "late", "new", "newer"]);
    }

    #[test]
    fn who_comes_new_takes_nothing_that_others_were_woken_for() {
        let mut lists = three();
        assert_eq!(lists.owed(&"s", &9), 0);
        assert_eq!(lists.freed(&"s"), Some(3));
        assert_eq!([9, 1, 3].map(|who| lists.owed(&"s", &who)), [1, 1, 0]);
        lists.served(&3);
        assert_eq!(lists.owed(&"s", &9), 0);
    }

    #[test]
    fn who_leaves_passes_on_what_it_was_woken_for() {
        let mut lists = three();
        assert_eq!(lists.leave(&1), None, "it was not woken");
        assert_eq!(lists.freed(&"s"), Some(3));
        assert_eq!(lists.leave(&3), Some(2));
        assert_eq!(lists.leave(&2), None);
        assert!(lists.is_empty() && lists.lines.is_empty());
    }

    /// Who has one in hand that turns out to be another's comes before all who came later.
    #[test]
    fn who_missed_one_comes_first() {
        let mut lists = three();
        assert_eq!(lists.freed(&"s"), Some(3));
        assert!(lists.takes(&"s", &3, None));
        assert_eq!(
            (lists.owed(&"s", &9), lists.freed(&"s")),
            (0, Some(1)),
            "what it takes is free for nobody"
        );
        assert_eq!(lists.missed(&"s", &3), None);
        assert_eq!(lists.owed(&"s", &9), 2);
        assert!(lists.takes(&"s", &3, None));
        assert_eq!(lists.due().collect::<Vec<_>>(), [&1, &3]);
        assert_eq!(lists.leave(&3), Some(2), "who goes with one in hand passes it on");
        assert_eq!(lists.missed(&"s", &3), None, "all were woken");
        assert!(lists.wait(&"s", &2, None));
        assert_eq!(lists.missed(&"s", &3), Some(2), "it is not there any more");
    }

    #[test]
    fn too_many_are_told_so() {
        let mut lists = three();
        assert!(!lists.wait(&"s", &4, None) && lists.wait(&"s", &2, None));
        assert_eq!((lists.len(), lists.waiting(&"s").count()), (3, 3));
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Want(u8),
        GiveBack,
        Run(prop::sample::Index),
        /// What it tries to take is another's, whom nobody knows, and is free again at once.
        Miss(prop::sample::Index),
        Vanish(u8),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            2 => (0..12_u8).prop_map(Op::Want),
            1 => Just(Op::GiveBack),
            2 => any::<prop::sample::Index>().prop_map(Op::Run),
            1 => any::<prop::sample::Index>().prop_map(Op::Miss),
            1 => (0..12_u8).prop_map(Op::Vanish),
        ]
    }

    proptest! {
        /// Three addresses; whoever wants one runs, and waits if there is none.
        #[test]
        fn no_address_is_free_while_somebody_waits_who_was_not_woken(ops in proptest::collection::vec(op(), 0..200)) {
            let mut lists = WaitLists::new(64);
            let (mut free, mut have, mut due) = (3_usize, BTreeSet::new(), BTreeSet::new());
            for op in ops {
                match op {
                    Op::Want(who) if !have.contains(&who) => drop(due.insert(who)),
                    Op::GiveBack if !have.is_empty() => {
                        have.pop_first();
                        free += 1;
                        due.extend(lists.freed(&()));
                    }
                    Op::Run(which) if !due.is_empty() => {
                        let who = *due.iter().nth(which.index(due.len())).unwrap();
                        due.remove(&who);
                        if free > lists.owed(&(), &who) {
                            prop_assert!(lists.takes(&(), &who, None));
                            free -= 1;
                            have.insert(who);
                            lists.served(&who);
                        } else {
                            prop_assert!(lists.wait(&(), &who, None));
                        }
                    }
                    Op::Miss(which) if !due.is_empty() => {
                        let who = *due.iter().nth(which.index(due.len())).unwrap();
                        if free > lists.owed(&(), &who) {
                            prop_assert!(lists.takes(&(), &who, None));
                            due.extend(lists.missed(&(), &who));
                        }
                    }
                    Op::Vanish(who) if !have.contains(&who) => {
                        due.remove(&who);
                        due.extend(lists.leave(&who));
                    }
                    _ => {}
                }
                let asleep = lists.waiting(&()).filter(|who| !due.contains(who)).count();
                prop_assert!(asleep == 0 || free <= due.len(), "{free} are free, {asleep} sleep, and only {due:?} run");
            }
        }
    }
}
