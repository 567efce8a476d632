//! Decides which requests are executed. No clock, no lock, no task.
//!
//! A request that is admitted has a place. It is queued, executing on a seat, or waiting for
//! something else without a seat.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::pool::admits;
use super::{Flow, PriorityLevel};

const LEVELS: usize = PriorityLevel::ALL.len();

/// Seats and places, and their holders.
#[derive(Debug)]
pub(super) struct Seats {
    /// Requests that may be executed at the same time.
    seats: usize,
    /// Requests that may be queued, executing or waiting.
    places: usize,
    /// Places that are taken.
    admitted: usize,
    executing: usize,
    queued: usize,
    /// The last number of a queued request.
    arrivals: u64,
    /// The last turn of a flow.
    turns: u64,
    levels: [LevelState; LEVELS],
    /// Flows without requests are absent.
    flows: HashMap<Flow, FlowState, FixedState>,
}

/// The decision about a new request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Executing,
    /// Queued, under this number.
    Queued(u64),
    /// The flow has no place left.
    QueueFull,
    /// There are no seats at all.
    ConcurrencyLimit,
}

/// Counts of a priority level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LevelCounts {
    pub(crate) executing: usize,
    pub(crate) waiting: usize,
    pub(crate) queued: usize,
    /// Its share of the seats.
    pub(crate) nominal: usize,
    /// The part of its share that is never lent.
    pub(crate) guaranteed: usize,
}

#[derive(Debug, Default)]
struct LevelState {
    counts: LevelCounts,
    /// When a request was last executed from the queue, by the count of turns.
    turn: u64,
    /// The flows with queued requests: fewest executing requests first, then by their turns.
    backlogged: BTreeSet<(usize, u64, Flow)>,
}

#[derive(Debug, Default)]
struct FlowState {
    executing: usize,
    waiting: usize,
    /// Numbers of queued requests, ascending.
    queued: VecDeque<u64>,
    /// When the flow became backlogged, or was last executed from the queue.
    turn: u64,
}

impl Seats {
    pub(super) fn new(seats: usize, places: usize, seed: FixedState) -> Self {
        let sum: usize = PriorityLevel::ALL.iter().map(|level| level.share().shares).sum();
        let levels = PriorityLevel::ALL.map(|level| {
            let share = level.share();
            let nominal = seats.saturating_mul(share.shares) / sum;
            let kept = nominal.saturating_mul(100 - share.lendable) / 100;
            // The lane of admins exists in small servers, too, if they have another seat.
            let least = usize::from(level == PriorityLevel::Exempt && seats > 1);
            let (nominal, guaranteed) = (nominal.max(1), kept.max(least));
            LevelState {
                counts: LevelCounts { nominal, guaranteed, ..LevelCounts::default() },
                ..Default::default()
            }
        });
        let flows = HashMap::with_hasher(seed);
        Self { seats, places, admitted: 0, executing: 0, queued: 0, arrivals: 0, turns: 0, levels, flows }
    }

    /// Decides on a new request.
    pub(super) fn arrive(&mut self, flow: Flow) -> Arrival {
        if self.seats == 0 {
            return Arrival::ConcurrencyLimit;
        }
        let held = self.flows.get(&flow).map_or(0, FlowState::held);
        if !admits(self.places, self.admitted, held, 1, flow.is_exempt()) {
            return Arrival::QueueFull;
        }
        self.admitted += 1;
        if self.level(flow.level).queued == 0 && self.has_seat(flow.level) {
            self.executing += 1;
            self.change(flow, |state, counts| {
                state.executing += 1;
                counts.executing += 1;
            });
            return Arrival::Executing;
        }
        self.arrivals += 1;
        self.turns += 1;
        self.queued += 1;
        let (number, turn) = (self.arrivals, self.turns);
        self.change(flow, |state, counts| {
            if state.queued.is_empty() {
                state.turn = turn;
            }
            state.queued.push_back(number);
            counts.queued += 1;
        });
        Arrival::Queued(number)
    }

    /// Gives a free seat to a queued request and returns its number. To be called after each
    /// change until it returns none.
    pub(super) fn seat_next(&mut self) -> Option<u64> {
        if self.queued == 0 {
            return None;
        }
        let levels = PriorityLevel::ALL.into_iter();
        let ready = levels.filter(|level| self.level(*level).queued > 0 && self.has_seat(*level));
        let level = ready.min_by(|a, b| self.compare_use(*a, *b))?;
        let &(_, _, flow) = self.levels[level as usize].backlogged.first()?;
        self.turns += 1;
        self.queued -= 1;
        self.executing += 1;
        let turn = self.turns;
        self.levels[level as usize].turn = turn;
        let mut number = None;
        self.change(flow, |state, counts| {
            number = state.queued.pop_front();
            state.executing += 1;
            state.turn = turn;
            counts.queued -= 1;
            counts.executing += 1;
        });
        number
    }

    /// Ends a request that is executing, or waiting if `is_waiting`.
    pub(super) fn finish(&mut self, flow: Flow, is_waiting: bool) {
        self.admitted -= 1;
        if is_waiting {
            self.change(flow, |state, counts| {
                state.waiting -= 1;
                counts.waiting -= 1;
            });
        } else {
            self.executing -= 1;
            self.change(flow, |state, counts| {
                state.executing -= 1;
                counts.executing -= 1;
            });
        }
    }

    /// Lets an executing request wait without a seat.
    pub(super) fn suspend(&mut self, flow: Flow) {
        self.executing -= 1;
        self.change(flow, |state, counts| {
            (state.executing, state.waiting) = (state.executing - 1, state.waiting + 1);
            (counts.executing, counts.waiting) = (counts.executing - 1, counts.waiting + 1);
        });
    }

    /// Executes a waiting request. It does not wait for a seat, since others may wait for it; until
    /// such requests have ended, fewer new ones are executed.
    pub(super) fn resume(&mut self, flow: Flow) {
        self.executing += 1;
        self.change(flow, |state, counts| {
            (state.executing, state.waiting) = (state.executing + 1, state.waiting - 1);
            (counts.executing, counts.waiting) = (counts.executing + 1, counts.waiting - 1);
        });
    }

    /// Removes a queued request. Returns false if it is executing.
    pub(super) fn leave(&mut self, flow: Flow, number: u64) -> bool {
        let found = self.flows.get(&flow).map(|state| state.queued.binary_search(&number));
        let Some(Ok(at)) = found else { return false };
        self.admitted -= 1;
        self.queued -= 1;
        self.change(flow, |state, counts| {
            state.queued.remove(at);
            counts.queued -= 1;
        });
        true
    }

    pub(super) const fn counts(&self, level: PriorityLevel) -> LevelCounts {
        self.levels[level as usize].counts
    }

    const fn level(&self, level: PriorityLevel) -> &LevelCounts {
        &self.levels[level as usize].counts
    }

    /// Returns whether a level may execute one more request: within its guarantee always, otherwise
    /// if a seat is free that is in no other level's guarantee.
    fn has_seat(&self, level: PriorityLevel) -> bool {
        let unused = |counts: &LevelCounts| counts.guaranteed.saturating_sub(counts.executing);
        let counts = self.level(level);
        if unused(counts) > 0 {
            return true;
        }
        let kept: usize = self.levels.iter().map(|level| unused(&level.counts)).sum();
        self.executing + kept < self.seats
    }

    /// Orders levels by the used part of their shares, so that lent seats return to a level that
    /// needs them; then by their turns.
    fn compare_use(&self, a: PriorityLevel, b: PriorityLevel) -> Ordering {
        let [a, b] = [a, b].map(|level| &self.levels[level as usize]);
        let used_a = a.counts.executing.saturating_mul(b.counts.nominal);
        let used_b = b.counts.executing.saturating_mul(a.counts.nominal);
        used_a.cmp(&used_b).then(a.turn.cmp(&b.turn))
    }

    /// Changes a flow and its level, and keeps the order of backlogged flows.
    fn change(&mut self, flow: Flow, change: impl FnOnce(&mut FlowState, &mut LevelCounts)) {
        let level = &mut self.levels[flow.level as usize];
        let state = self.flows.entry(flow).or_default();
        if !state.queued.is_empty() {
            level.backlogged.remove(&(state.executing, state.turn, flow));
        }
        change(state, &mut level.counts);
        if !state.queued.is_empty() {
            level.backlogged.insert((state.executing, state.turn, flow));
        }
        if state.held() == 0 {
            self.flows.remove(&flow);
        }
    }
}

impl FlowState {
    /// The places that the flow holds.
    fn held(&self) -> usize {
        self.executing + self.waiting + self.queued.len()
    }
}

#[cfg(test)]
impl Seats {
    /// Returns the counts of a flow: queued, executing and waiting.
    pub(super) fn of(&self, flow: Flow) -> [usize; 3] {
        let state = self.flows.get(&flow);
        state.map_or([0; 3], |state| [state.queued.len(), state.executing, state.waiting])
    }

    pub(super) fn can_execute(&self, level: PriorityLevel) -> bool {
        self.has_seat(level)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
            && (self.admitted, self.executing, self.queued) == (0, 0, 0)
            && self.levels.iter().all(|level| {
                let LevelCounts { executing, waiting, queued, .. } = level.counts;
                level.backlogged.is_empty() && (executing, waiting, queued) == (0, 0, 0)
            })
    }
}
