//! The search for an order of all calls that explains every answer (linearizability).
//!
//! The search goes forward, call by call. A call can be next if no unplaced call was answered
//! before it was made. A call that reports a revision without changing it (reads, conflicts,
//! commits without effect) is placed as early as possible: a store has one state per revision, so
//! this excludes no order. The commit acknowledged with the next revision comes next. A choice
//! exists only where no answer names the maker of a revision: between commits with an unknown
//! outcome, without those that contradict the entries that clients read at that revision. The
//! search backtracks over these choices, and visits no state twice. It ends with an order or with
//! [`Violation::TooHard`], which is a failure too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::Revision;

use super::calls::History;
use super::linearization::{Linearization, RevisionState, page_of};
use super::steps::{Observation, SearchStep, evidence, guarded, steps};
use super::violation::Violation;
use crate::{Commit, Condition, Key, Operation, Transaction, Value};

/// Maximum number of steps of the search.
const STEPS: usize = 5_000_000;

/// Finds an order that explains `history`.
pub(super) fn explain(history: &History) -> Result<Linearization, Violation> {
    Search::new(history)?.run()
}

struct Search<'h> {
    steps: Vec<SearchStep<'h>>,
    /// The step that made a revision, where a commit was acknowledged with it.
    makers: BTreeMap<Revision, usize>,
    /// An entry that a revision put, as a client read it.
    evidence: BTreeMap<Revision, (Key, Value)>,
    placed: Vec<bool>,
    /// All steps before this one are placed or unknown.
    low: usize,
    /// Keys with an `Unchanged` condition.
    guarded: BTreeSet<Key>,
    /// Unplaced steps with an unknown outcome.
    unknown: BTreeSet<usize>,
    /// Number of steps with a known outcome that are not placed.
    left: usize,
    replay: Linearization,
    /// The placed steps in order, and whether each made a revision.
    order: Vec<(usize, bool)>,
}

/// Key of a search state: the unknown steps, the contents, and the revisions at which each absent
/// guarded key was created and deleted.
type SearchState = (BTreeSet<usize>, Vec<(Key, Revision, Revision, Value)>, Vec<Vec<usize>>);

/// A choice point: the number of placed steps, and the untried choices.
struct SearchFork {
    placed: usize,
    choices: Vec<usize>,
}

impl<'h> Search<'h> {
    fn new(history: &'h History) -> Result<Self, Violation> {
        let mut steps = steps(history);
        steps.sort_by_key(|step| step.called);
        let mut makers = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            if let Observation::Done(_, Commit { revision, changed: true, .. }) = step.says
                && let Some(other) = makers.insert(*revision, place)
            {
                let (first, second) = (steps[other].call, step.call);
                return Err(Violation::RevisionReused { revision: *revision, first, second });
            }
        }
        let is_unknown = |step: &SearchStep<'_>| matches!(step.says, Observation::Unknown(_));
        let unknown: BTreeSet<usize> = (0..steps.len()).filter(|place| is_unknown(&steps[*place])).collect();
        Ok(Self {
            makers,
            evidence: evidence(history),
            guarded: guarded(&steps),
            placed: vec![false; steps.len()],
            low: 0,
            left: steps.len() - unknown.len(),
            unknown,
            replay: Linearization::new(history.first),
            order: Vec::new(),
            steps,
        })
    }

    fn run(mut self) -> Result<Linearization, Violation> {
        let mut forks: Vec<SearchFork> = Vec::new();
        let mut been = BTreeSet::new();
        let mut furthest = (Revision::ZERO, None);
        for _ in 0..STEPS {
            if self.left == 0 {
                return Ok(self.replay);
            }
            let horizon = self.horizon();
            if self.place_fixed_steps(horizon) {
                continue;
            }
            let mut choices = self.choices(horizon);
            if choices.len() > 1 && !been.insert(self.state_key()) {
                choices.clear();
            }
            loop {
                let placed = self.order.len();
                if let Some(choice) = choices.pop() {
                    if self.make(choice) {
                        if !choices.is_empty() {
                            forks.push(SearchFork { placed, choices });
                        }
                        break;
                    }
                    continue;
                }
                let now = self.replay.last();
                if furthest.0 < now {
                    furthest = (now, Some(self.stuck()));
                }
                let Some(fork) = forks.pop() else {
                    let stuck = furthest.1.unwrap_or_else(|| self.stuck());
                    return Err(stuck);
                };
                while self.order.len() > fork.placed {
                    self.undo_last();
                }
                choices = fork.choices;
            }
        }
        Err(Violation::TooHard { steps: STEPS })
    }

    /// Returns the candidates for the next revision: the commit acknowledged with it, or else the
    /// unknown commits.
    fn choices(&self, horizon: u64) -> Vec<usize> {
        let next = self.replay.last().next();
        let is_due = |place: &usize| self.steps[*place].called < horizon;
        match self.makers.get(&next) {
            Some(maker) => Some(*maker).filter(is_due).into_iter().collect(),
            None => {
                let fits = |place: &usize| is_due(place) && self.may_have_made(*place, next);
                self.unknown.iter().copied().filter(fits).collect()
            }
        }
    }

    /// Returns the key of the current search state: two paths to the same state need not both be
    /// continued.
    fn state_key(&self) -> SearchState {
        let held = &self.replay.moments[self.replay.moments.len() - 1].held;
        let entries = held.values();
        let entries = entries
            .map(|entry| (Arc::clone(&entry.key), entry.created, entry.modified, Arc::clone(&entry.value)));
        // An `Unchanged` condition depends on whether an absent key existed before.
        let absent = self.guarded.iter().filter(|key| !held.contains_key(*key)).map(|key| {
            let there = |moment: &RevisionState| moment.held.contains_key(key);
            let moments = &self.replay.moments;
            (1..moments.len()).filter(|at| there(&moments[*at]) != there(&moments[*at - 1])).collect()
        });
        (self.unknown.clone(), entries.collect(), absent.collect())
    }

    /// Returns the earliest answer of an unplaced step: no call made after it can be placed before
    /// it.
    fn horizon(&mut self) -> u64 {
        while self.low < self.steps.len()
            && (self.placed[self.low] || self.steps[self.low].answered == u64::MAX)
        {
            self.low += 1;
        }
        let mut horizon = u64::MAX;
        for (place, step) in self.steps.iter().enumerate().skip(self.low) {
            if step.called > horizon {
                break;
            }
            if !self.placed[place] {
                horizon = horizon.min(step.answered);
            }
        }
        horizon
    }

    /// Places every step that reports the current revision and changes nothing.
    fn place_fixed_steps(&mut self, horizon: u64) -> bool {
        let mut any = false;
        for place in self.low..self.steps.len() {
            if self.steps[place].called > horizon {
                break;
            }
            if !self.placed[place] && self.contradiction(place).is_none() {
                self.place(place, false);
                any = true;
            }
        }
        any
    }

    /// Returns the reason why a step that changes nothing cannot be placed here.
    fn contradiction(&self, place: usize) -> Option<String> {
        let now = self.replay.last();
        let step = &self.steps[place];
        let held = &self.replay.moments[self.replay.moments.len() - 1].held;
        let elsewhere = |said: Revision| (said != now).then(|| format!("it reports revision {said}"));
        match step.says {
            Observation::Newest(revision) => elsewhere(revision),
            Observation::Held(range, page) => elsewhere(page.at).or_else(|| {
                (page_of(held, range).0 != page.entries).then(|| "it read other entries".to_string())
            }),
            Observation::Done(_, commit) if commit.changed => {
                Some(format!("it made revision {}", commit.revision))
            }
            Observation::Done(transaction, commit) => elsewhere(commit.revision).or_else(|| {
                let (moment, before) = self.replay.apply(transaction, step.called);
                let is_so = moment.events.is_empty() && before == commit.before;
                self.fails(transaction, step.compacted)
                    .or_else(|| (!is_so).then(|| "it would have changed something".to_string()))
            }),
            Observation::Refused(transaction, conflict) => elsewhere(conflict.revision).or_else(|| {
                let (holding, rest) =
                    transaction.conditions.split_at(conflict.condition.min(transaction.conditions.len()));
                let failed = rest.first()?;
                let before = Transaction { conditions: holding.to_vec(), operations: vec![] };
                self.fails(&before, step.compacted).or_else(|| {
                    let is_so = self.replay.holds(failed, step.compacted) != Some(true)
                        && failed.key() == &conflict.key
                        && held.get(&conflict.key) == conflict.current.as_ref();
                    (!is_so).then(|| format!("it was refused for {:?} with {:?}", failed, conflict.current))
                })
            }),
            Observation::Unknown(_) => Some("its outcome is unknown".to_string()),
        }
    }

    fn fails(&self, transaction: &Transaction, compacted: Option<Revision>) -> Option<String> {
        let fails = |condition: &&Condition| self.replay.holds(condition, compacted) == Some(false);
        transaction.conditions.iter().find(fails).map(|condition| format!("{condition:?} does not hold"))
    }

    /// Returns whether an unknown commit may have made `revision`.
    fn may_have_made(&self, place: usize, revision: Revision) -> bool {
        let Observation::Unknown(transaction) = self.steps[place].says else { return false };
        let put = |key: &Key, value: &Value| {
            let is_it = |operation: &Operation| matches!(operation, Operation::Put(name, put) if name == key && put == value);
            transaction.operations.iter().any(is_it)
        };
        self.evidence.get(&revision).is_none_or(|(key, value)| put(key, value))
    }

    /// Places a commit next in the order, if it makes the next revision and explains its answer.
    /// Returns whether it was placed.
    fn make(&mut self, place: usize) -> bool {
        let step = &self.steps[place];
        let (transaction, said) = match step.says {
            Observation::Done(transaction, commit) => (transaction, Some(commit)),
            Observation::Unknown(transaction) => (transaction, None),
            _ => return false,
        };
        if self.fails(transaction, step.compacted).is_some() {
            return false;
        }
        let (moment, before) = self.replay.apply(transaction, step.called);
        if moment.events.is_empty() || said.is_some_and(|commit| commit.before != before) {
            return false;
        }
        self.replay.moments.push(moment);
        self.place(place, true);
        true
    }

    fn place(&mut self, place: usize, makes: bool) {
        self.placed[place] = true;
        if !self.unknown.remove(&place) {
            self.left -= 1;
        }
        self.order.push((place, makes));
    }

    fn undo_last(&mut self) {
        let Some((place, makes)) = self.order.pop() else { return };
        self.placed[place] = false;
        if makes {
            self.replay.moments.pop();
        }
        if matches!(self.steps[place].says, Observation::Unknown(_)) {
            self.unknown.insert(place);
        } else {
            self.left += 1;
            self.low = self.low.min(place);
        }
    }

    fn stuck(&mut self) -> Violation {
        let horizon = self.horizon();
        let waiting = (self.low..self.steps.len()).filter(|place| !self.placed[*place]);
        let candidates = waiting.take_while(|place| self.steps[*place].called < horizon).take(12);
        let tell = |place: usize| {
            let why = match self.steps[place].says {
                Observation::Done(transaction, commit)
                    if commit.changed && commit.revision == self.replay.last().next() =>
                {
                    self.fails(transaction, self.steps[place].compacted)
                        .or(Some("it returned other previous entries".into()))
                }
                _ => self.contradiction(place),
            };
            format!("call {}: {}", self.steps[place].call, why.unwrap_or_default())
        };
        let stuck = candidates.map(tell).collect();
        Violation::NotLinearizable { revision: self.replay.last(), stuck }
    }
}
