//! The races of the talk that this system comes from, explored in every interleaving of their
//! steps. Races between two controllers with creations and deletions have too many interleavings:
//! some thousands are sampled, the same ones each time.
//!
//! Each race is also run with the mistake that causes it, and the mistake must be found: this shows
//! that the exploration would notice.

mod addresses;
mod moves;
mod subnets;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Debug, Formatter};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Deref;

use crate::model::NetworkAttachment;
use crate::plan::SplitMix64;

/// A system in which several steps may happen next.
trait Race: Clone + Debug {
    type Step: Clone + Debug;

    /// Returns all possible next steps; none at an end.
    fn steps(&self) -> Vec<Self::Step>;
    /// Executes a step.
    fn take(&mut self, step: &Self::Step);
    /// Returns the violation of an invariant of every state.
    fn violation(&self) -> Option<String>;
    /// Returns the violation of an invariant of end states.
    fn violation_at_end(&self) -> Option<String>;
}

/// An object with abbreviated `Debug` output, which still distinguishes its states.
#[derive(Clone, PartialEq)]
struct Abbreviated<T>(T);

impl<T> Deref for Abbreviated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Debug for Abbreviated<NetworkAttachment> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let NetworkAttachment { metadata, status, .. } = &self.0;
        let (uid, version) = (&metadata.uid, &metadata.resource_version);
        write!(f, "{uid:?} {version:?} {} {} {:?}", status.ipv4, status.lock_uid, status.errors.ipam)
    }
}

/// Numbers of states and of end states.
#[derive(Debug)]
struct Explored {
    states: usize,
    ends: usize,
}

/// A violation, and the steps that lead to it.
type Wrong<S> = (String, Vec<S>);

/// Above the number of states of any race here.
const STATES: usize = 300_000;

/// Above the length of any terminating run.
const STEPS: usize = 1000;

/// Visits each reachable state, and checks that an end is reachable from each.
fn explore<R: Race>(start: R) -> Result<Explored, Wrong<R::Step>> {
    let mut seen: BTreeMap<u128, usize> = BTreeMap::new();
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut reached_by: Vec<Option<(usize, R::Step)>> = Vec::new();
    let mut ends = Vec::new();
    let mut frontier = VecDeque::from([(start, None::<(usize, R::Step)>)]);
    while let Some((state, from)) = frontier.pop_front() {
        let print = fingerprint(&state);
        if let Some(known) = seen.get(&print) {
            before[*known].extend(from.map(|(from, _)| from));
            continue;
        }
        let number = reached_by.len();
        assert!(number < STATES, "there is no end to the states");
        seen.insert(print, number);
        before.push(from.iter().map(|(from, _)| *from).collect());
        reached_by.push(from);
        let steps = state.steps();
        let at_the_end = if steps.is_empty() { state.violation_at_end() } else { None };
        if let Some(wrong) = state.violation().or(at_the_end) {
            return Err((wrong, path(&reached_by, number)));
        }
        if steps.is_empty() {
            ends.push(number);
        }
        for step in steps {
            let mut next = state.clone();
            next.take(&step);
            frontier.push_back((next, Some((number, step))));
        }
    }
    let count = ends.len();
    let mut reaches_end = vec![false; before.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut reaches_end[state], true) {
            ends.extend(&before[state]);
        }
    }
    match reaches_end.iter().position(|can| !can) {
        Some(state) => Err(("no end is reachable".into(), path(&reached_by, state))),
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

fn path<S: Clone>(reached_by: &[Option<(usize, S)>], to: usize) -> Vec<S> {
    let mut path = Vec::new();
    let mut at = to;
    while let Some((from, step)) = &reached_by[at] {
        path.push(step.clone());
        at = *from;
    }
    path.reverse();
    path
}

/// Asserts that no interleaving violates an invariant.
#[track_caller]
fn assert_holds<R: Race>(start: R, at_least: usize) {
    match explore(start) {
        Ok(Explored { states, ends }) => {
            assert!(states >= at_least && ends > 0, "{states} states, {ends} ends")
        }
        Err((wrong, path)) => panic!("{wrong}, by {path:#?}"),
    }
}

/// Takes a number of random runs through a system too large to explore.
#[track_caller]
fn assert_random_walks<R: Race>(start: &R, runs: usize) {
    let mut chance = SplitMix64::new(0);
    for _ in 0..runs {
        let (mut state, mut path) = (start.clone(), Vec::new());
        loop {
            let steps = state.steps();
            let at_the_end = if steps.is_empty() { state.violation_at_end() } else { None };
            if let Some(wrong) = state.violation().or(at_the_end) {
                panic!("{wrong}, by {path:#?}");
            }
            let Some(step) = steps.get(chance.below(steps.len())) else { break };
            assert!(path.len() < STEPS, "no end of steps: {path:#?}");
            state.take(step);
            path.push(step.clone());
        }
    }
}

/// Asserts that some interleaving violates an invariant.
#[track_caller]
fn assert_fails<R: Race>(start: R, what: &str) {
    match explore(start) {
        Ok(explored) => panic!("the mistake is not found in {explored:?}"),
        Err((wrong, path)) => assert!(wrong.contains(what), "{wrong}, by {path:#?}"),
    }
}
