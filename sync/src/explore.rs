//! Exploration of every interleaving of the steps of a model.
//!
//! For systems beyond the reach of loom: several processes with caches, a store and lost responses,
//! modelled as a value that is cloned at each step. A race with too many states to visit is
//! sampled.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A system in which several steps may happen next.
///
/// Its `Debug` output has to distinguish its states. Each race deserves a second run with the
/// mistake that it is about, by [`assert_fails`]: that shows that the exploration would notice.
pub trait Race: Clone + Debug {
    /// One step.
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

/// Numbers of visited states and of end states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// States.
    pub states: usize,
    /// End states.
    pub ends: usize,
}

/// A violation, and the steps that lead to it.
#[derive(Clone, Debug)]
pub struct RaceViolation<S> {
    /// The violated invariant.
    pub invariant: String,
    /// The steps from the start.
    pub path: Vec<S>,
}

/// Maximum number of states of an explored race.
const STATES: usize = 1_000_000;
/// Maximum length of a random walk.
const STEPS: usize = 2000;

/// Visits each reachable state once, and checks that an end is reachable from each.
///
/// # Errors
/// The shortest path to a violation.
///
/// # Panics
/// The race has more than a million states: sample it by [`assert_random_walks`].
pub fn explore<R: Race>(start: R) -> Result<Explored, RaceViolation<R::Step>> {
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
        assert!(number < STATES, "more than {STATES} states: sample it by random walks");
        seen.insert(print, number);
        before.push(from.iter().map(|(from, _)| *from).collect());
        reached_by.push(from);
        let steps = state.steps();
        if let Some(invariant) = violation(&state, &steps) {
            return Err(RaceViolation { invariant, path: path(&reached_by, number) });
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
        Some(state) => {
            Err(RaceViolation { invariant: "no end is reachable".into(), path: path(&reached_by, state) })
        }
        None => Ok(Explored { states: before.len(), ends: count }),
    }
}

/// Asserts that no interleaving violates an invariant, and that there are this many states.
///
/// # Panics
/// With the path to a violation.
#[track_caller]
pub fn assert_holds<R: Race>(start: R, at_least: usize) -> Explored {
    match explore(start) {
        Ok(explored) => {
            assert!(explored.states >= at_least && explored.ends > 0, "{explored:?}");
            explored
        }
        Err(RaceViolation { invariant, path }) => panic!("{invariant}, by {path:#?}"),
    }
}

/// Takes a number of random walks through a race that is too large to explore, the same ones for
/// each seed.
///
/// # Panics
/// With the path to a violation, or with a path that does not end.
#[track_caller]
pub fn assert_random_walks<R: Race>(start: &R, walks: usize, seed: u64) {
    let mut chance = seed;
    for _ in 0..walks {
        let (mut state, mut path) = (start.clone(), Vec::new());
        loop {
            let steps = state.steps();
            if let Some(invariant) = violation(&state, &steps) {
                panic!("{invariant}, by {path:#?}");
            }
            let at = below(&mut chance, steps.len());
            let Some(step) = at.and_then(|at| steps.get(at)) else { break };
            assert!(path.len() < STEPS, "no end of steps: {path:#?}");
            state.take(step);
            path.push(step.clone());
        }
    }
}

/// Asserts that some interleaving violates an invariant, with this text in its own.
///
/// # Panics
/// There is no violation, or another one.
#[track_caller]
pub fn assert_fails<R: Race>(start: R, text: &str) {
    match explore(start) {
        Ok(explored) => panic!("the mistake is not found in {explored:?}"),
        Err(RaceViolation { invariant, path }) => {
            assert!(invariant.contains(text), "{invariant}, by {path:#?}");
        }
    }
}

fn violation<R: Race>(state: &R, steps: &[R::Step]) -> Option<String> {
    let at_end = || if steps.is_empty() { state.violation_at_end() } else { None };
    state.violation().or_else(at_end)
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

/// Returns a pseudo-random number below a limit (SplitMix64); `None` for the limit 0.
fn below(chance: &mut u64, limit: usize) -> Option<usize> {
    *chance = chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*chance ^ (*chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((mixed ^ (mixed >> 31)).checked_rem(limit as u64)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads increment a counter: read, then write.
    #[derive(Clone, Debug, Default)]
    struct Counter {
        value: u32,
        read: [Option<u32>; 2],
        done: [bool; 2],
        /// The mistake: the increment is not atomic.
        is_torn: bool,
    }

    impl Race for Counter {
        type Step = usize;

        fn steps(&self) -> Vec<usize> {
            (0..2).filter(|thread| !self.done[*thread]).collect()
        }

        fn take(&mut self, thread: &usize) {
            if self.is_torn && self.read[*thread].is_none() {
                self.read[*thread] = Some(self.value);
                return;
            }
            self.value = self.read[*thread].unwrap_or(self.value) + 1;
            self.done[*thread] = true;
        }

        fn violation(&self) -> Option<String> {
            (self.value > 2).then(|| "too many".into())
        }

        fn violation_at_end(&self) -> Option<String> {
            (self.value != 2).then(|| format!("an update was lost: {}", self.value))
        }
    }

    #[test]
    fn every_interleaving_is_visited() {
        assert_eq!(assert_holds(Counter::default(), 4), Explored { states: 4, ends: 1 });
        assert_random_walks(&Counter::default(), 10, 0);
    }

    #[test]
    fn a_lost_update_is_found_by_its_shortest_path() {
        let torn = Counter { is_torn: true, ..Counter::default() };
        let Err(found) = explore(torn.clone()) else { panic!("not found") };
        assert_eq!(found.path.len(), 4);
        assert_fails(torn, "an update was lost: 1");
    }

    #[test]
    #[should_panic(expected = "an update was lost")]
    fn random_walks_find_a_lost_update() {
        assert_random_walks(&Counter { is_torn: true, ..Counter::default() }, 100, 0);
    }

    /// A state that has no way to an end.
    #[derive(Clone, Debug)]
    struct Endless(bool);

    impl Race for Endless {
        type Step = ();

        fn steps(&self) -> Vec<()> {
            vec![()]
        }

        fn take(&mut self, (): &()) {
            self.0 = !self.0;
        }

        fn violation(&self) -> Option<String> {
            None
        }

        fn violation_at_end(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn a_livelock_is_found() {
        assert_fails(Endless(true), "no end is reachable");
    }
}
