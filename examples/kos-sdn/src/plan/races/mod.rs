//! The races of the talk that this system comes from, each in every order in which its steps can happen: not some, all. Of what is made and deleted beside
//! two who decide there are too many orders: some thousands are taken by lot, the same ones each time.
//!
//! Each is also run with the mistake that makes it a race, and that is found: so what is not found is not there.

mod addresses;
mod moves;
mod subnets;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Debug, Formatter};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Deref;

use crate::model::NetworkAttachment;
use crate::plan::Chance;

/// A world in which several things may happen next.
trait Race: Clone + Debug {
    type Step: Clone + Debug;

    /// All that may happen next. Nothing is the end.
    fn steps(&self) -> Vec<Self::Step>;
    /// It happens.
    fn take(&mut self, step: &Self::Step);
    /// What must never be, and is.
    fn wrong(&self) -> Option<String>;
    /// What must not be at the end, and is.
    fn wrong_at_the_end(&self) -> Option<String>;
}

/// An object, with as much of its text as tells two states of it apart.
#[derive(Clone, PartialEq)]
struct Short<T>(T);

impl<T> Deref for Short<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Debug for Short<NetworkAttachment> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let NetworkAttachment { metadata, status, .. } = &self.0;
        let (uid, version) = (&metadata.uid, &metadata.resource_version);
        write!(f, "{uid:?} {version:?} {} {} {:?}", status.ipv4, status.lock_uid, status.errors.ipam)
    }
}

/// How many states there are, and how many of them are ends.
#[derive(Debug)]
struct Explored {
    states: usize,
    ends: usize,
}

/// What is wrong, and by which steps it comes to that.
type Wrong<S> = (String, Vec<S>);

/// More than any race here has.
const STATES: usize = 300_000;

/// More than any way has that comes to an end.
const STEPS: usize = 1000;

/// Looks at each state that can be reached. From each an end can be reached, too.
fn explore<R: Race>(start: R) -> Result<Explored, Wrong<R::Step>> {
    let mut seen: BTreeMap<u128, usize> = BTreeMap::new();
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut came: Vec<Option<(usize, R::Step)>> = Vec::new();
    let mut ends = Vec::new();
    let mut ahead = VecDeque::from([(start, None::<(usize, R::Step)>)]);
    while let Some((state, from)) = ahead.pop_front() {
        let print = fingerprint(&state);
        if let Some(known) = seen.get(&print) {
            before[*known].extend(from.map(|(from, _)| from));
            continue;
        }
        let number = came.len();
        assert!(number < STATES, "there is no end to the states");
        seen.insert(print, number);
        before.push(from.iter().map(|(from, _)| *from).collect());
        came.push(from);
        let steps = state.steps();
        let at_the_end = if steps.is_empty() { state.wrong_at_the_end() } else { None };
        if let Some(wrong) = state.wrong().or(at_the_end) {
            return Err((wrong, way(&came, number)));
        }
        if steps.is_empty() {
            ends.push(number);
        }
        for step in steps {
            let mut next = state.clone();
            next.take(&step);
            ahead.push_back((next, Some((number, step))));
        }
    }
    let count = ends.len();
    let mut can_end = vec![false; before.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut can_end[state], true) {
            ends.extend(&before[state]);
        }
    }
    match can_end.iter().position(|can| !can) {
        Some(state) => Err(("it never comes to an end".into(), way(&came, state))),
        None => Ok(Explored { states: before.len(), ends: count }),
    }
}

fn fingerprint(state: &impl Debug) -> u128 {
    let text = format!("{state:?}");
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        text.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

fn way<S: Clone>(came: &[Option<(usize, S)>], to: usize) -> Vec<S> {
    let mut way = Vec::new();
    let mut at = to;
    while let Some((from, step)) = &came[at] {
        way.push(step.clone());
        at = *from;
    }
    way.reverse();
    way
}

/// In no order anything goes wrong.
#[track_caller]
fn holds<R: Race>(start: R, at_least: usize) {
    match explore(start) {
        Ok(Explored { states, ends }) => {
            assert!(states >= at_least && ends > 0, "{states} states, {ends} ends")
        }
        Err((wrong, way)) => panic!("{wrong}, by {way:#?}"),
    }
}

/// Of what is too large to look at all of it: so many ways through it, in each of which whatever may happen next is as likely.
#[track_caller]
fn wanders<R: Race>(start: &R, ways: usize) {
    let mut chance = Chance::new(0);
    for _ in 0..ways {
        let (mut state, mut way) = (start.clone(), Vec::new());
        loop {
            let steps = state.steps();
            let at_the_end = if steps.is_empty() { state.wrong_at_the_end() } else { None };
            if let Some(wrong) = state.wrong().or(at_the_end) {
                panic!("{wrong}, by {way:#?}");
            }
            let Some(step) = steps.get(chance.below(steps.len())) else { break };
            assert!(way.len() < STEPS, "it never comes to an end, by {way:#?}");
            state.take(step);
            way.push(step.clone());
        }
    }
}

/// In some order it does.
#[track_caller]
fn fails<R: Race>(start: R, what: &str) {
    match explore(start) {
        Ok(explored) => panic!("the mistake is not found in {explored:?}"),
        Err((wrong, way)) => assert!(wrong.contains(what), "{wrong}, by {way:#?}"),
    }
}
