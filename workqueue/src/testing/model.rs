//! A naive model of the queue.

use super::Setup;
use crate::limiter::{RateLimiter, Reservation, RetryContext};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A queue of `u8` keys as a few maps and vectors. Times are in microseconds.
pub struct Model {
    pub(super) now: u64,
    pub(super) setup: Setup,
    pub(super) keys: BTreeMap<u8, ModelEntry>,
    /// Per priority, the tenants in the order of their turns; one tenant, 0, if the queue has none.
    rings: BTreeMap<i8, VecDeque<u8>>,
    /// Number of the last change of an entry's list or time: breaks ties.
    sequence: u64,
    phase: ModelPhase,
    limiter: Box<dyn RateLimiter>,
}

#[derive(Clone, Debug)]
pub(super) struct ModelEntry {
    pub(super) state: State,
    pub(super) since: u64,
    pub(super) sequence: u64,
    pub(super) priority: i8,
    pub(super) attempts: u16,
    /// Of a key in flight: the priority of its next run.
    pub(super) rerun_priority: Option<i8>,
    /// The schedules of adds since the last hand-out.
    pub(super) schedules: Vec<ModelSchedule>,
    /// Causes of its run.
    pub(super) causes: CauseList,
    /// Of a key in flight: causes of its next run.
    rerun_causes: CauseList,
    reservation: Option<Reservation>,
    pub(super) is_held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Delayed,
    InFlight,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ModelSchedule {
    At(u64),
    Debounced { quiet_until: u64, at_latest: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ModelPhase {
    Open,
    Closed,
    Draining(u64),
    Stopped,
}

/// A key as the model hands it out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelHandout {
    pub(super) key: u8,
    pub(super) attempts: u16,
    pub(super) priority: i8,
    pub(super) waited: u64,
    pub(super) causes: CauseList,
}

/// Causes by name, with the latest detail and the number of adds; and the number of replaced ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CauseList {
    pub(super) list: Vec<(String, u64, u8)>,
    pub(super) lost: u8,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelAdded {
    Queued,
    Merged,
    Rerun,
    Closed,
    Full,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelTake {
    Handout(ModelHandout),
    Empty,
    Ended,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelFailure {
    After(u64),
    AtOnce,
    Dead(u16),
}

const MILLI: u64 = 1000;

pub(super) fn tenant_of(key: u8) -> u8 {
    key % 3
}

impl ModelEntry {
    /// Returns the first of: the earliest plain time, the earliest end of a debounce, and the quiet
    /// time after the latest debounced add.
    pub(super) fn due(&self) -> Option<u64> {
        let at = self.schedules.iter().map(|schedule| match schedule {
            ModelSchedule::At(at) => *at,
            ModelSchedule::Debounced { at_latest, .. } => *at_latest,
        });
        let quiet = self.schedules.iter().rev().find_map(|schedule| match schedule {
            ModelSchedule::At(_) => None,
            ModelSchedule::Debounced { quiet_until, .. } => Some(*quiet_until),
        });
        at.chain(quiet).min()
    }
}

impl CauseList {
    fn merge(&mut self, name: &str, detail: u64, count: u8) {
        if let Some(known) = self.list.iter_mut().find(|(known, ..)| known == name) {
            known.1 = detail;
            known.2 = known.2.saturating_add(count);
            return;
        }
        if self.list.len() == 4 {
            self.list.remove(0);
            self.lost = (self.lost + 1).min(28);
        }
        self.list.push((name.to_owned(), detail, count));
    }
}

impl Model {
    /// Creates an empty queue.
    pub fn new(setup: Setup, limiter: Box<dyn RateLimiter>) -> Self {
        let keys = BTreeMap::new();
        Self { now: 0, setup, keys, rings: BTreeMap::new(), sequence: 0, phase: ModelPhase::Open, limiter }
    }

    pub(super) fn advance(&mut self, by: u64) {
        self.now += by;
        // Due keys become ready in the order of whole milliseconds, then of their sequence.
        let due = |key: &ModelEntry| {
            key.due().filter(|&due| key.state == State::Delayed && due <= self.whole_now())
        };
        let mut expired: Vec<(u64, u64, u8)> = self
            .keys
            .iter()
            .filter_map(|(&k, key)| Some((due(key)?.div_ceil(MILLI), key.sequence, k)))
            .collect();
        expired.sort_unstable();
        for (_, _, key) in expired {
            let since = self.keys[&key].due().expect("it was due");
            self.make_ready(key, since);
        }
        self.settle();
    }

    /// Delays end at whole milliseconds.
    fn whole_now(&self) -> u64 {
        self.now / MILLI * MILLI
    }

    pub(super) fn schedule(&self, after: u64) -> ModelSchedule {
        ModelSchedule::At(self.now + after)
    }

    pub(super) fn debounced(&self, quiet_ms: u64, max_ms: u64) -> ModelSchedule {
        let (quiet_until, at_latest) = (self.now + quiet_ms * MILLI, self.now + max_ms * MILLI);
        ModelSchedule::Debounced { quiet_until, at_latest }
    }

    pub(super) fn add(
        &mut self,
        key: u8,
        schedule: ModelSchedule,
        priority: i8,
        cause: Option<(&str, u64)>,
    ) -> ModelAdded {
        self.settle();
        if self.phase != ModelPhase::Open {
            return ModelAdded::Closed;
        }
        let fresh = !self.keys.contains_key(&key);
        if fresh && self.keys.len() >= self.setup.capacity {
            return ModelAdded::Full;
        }
        let new = ModelEntry {
            state: State::Delayed,
            since: self.now,
            sequence: 0,
            priority,
            attempts: 0,
            rerun_priority: None,
            schedules: Vec::new(),
            causes: CauseList::default(),
            rerun_causes: CauseList::default(),
            reservation: None,
            is_held: false,
        };
        let entry = self.keys.entry(key).or_insert(new);
        if let Some((name, detail)) = cause {
            let out = !fresh && entry.state == State::InFlight;
            let causes = if out { &mut entry.rerun_causes } else { &mut entry.causes };
            causes.merge(name, detail, 1);
        }
        match entry.state {
            _ if fresh => {
                entry.schedules.push(schedule);
                self.place(key);
                return ModelAdded::Queued;
            }
            State::InFlight => {
                entry.schedules.push(schedule);
                entry.rerun_priority = entry.rerun_priority.max(Some(priority));
                return ModelAdded::Rerun;
            }
            State::Ready if priority > entry.priority => {
                let since = entry.since;
                entry.priority = priority;
                self.enqueue(key, since);
            }
            State::Ready => {}
            State::Delayed => {
                entry.priority = entry.priority.max(priority);
                let before = entry.due();
                entry.schedules.push(schedule);
                if entry.due() != before {
                    if let Some(reservation) = entry.reservation.take() {
                        self.limiter.refund(reservation);
                    }
                    self.place(key);
                }
            }
        }
        ModelAdded::Merged
    }

    pub(super) fn take(&mut self) -> ModelTake {
        self.settle();
        if self.phase == ModelPhase::Stopped {
            return ModelTake::Ended;
        }
        let Some(key) = self.next_key() else {
            return if self.phase == ModelPhase::Closed { ModelTake::Ended } else { ModelTake::Empty };
        };
        let entry = self.keys.get_mut(&key).expect("it is in line");
        entry.state = State::InFlight;
        let waited = self.now - entry.since;
        entry.since = self.now;
        entry.schedules.clear();
        ModelTake::Handout(ModelHandout {
            key,
            attempts: entry.attempts,
            priority: entry.priority,
            waited,
            causes: entry.causes.clone(),
        })
    }

    pub(super) fn hold(&mut self, key: u8) {
        let now = self.now;
        let entry = self.entry(key);
        if !std::mem::replace(&mut entry.is_held, true) {
            entry.since = now;
        }
    }

    pub(super) fn done(&mut self, key: u8) {
        let entry = self.entry(key);
        entry.attempts = 0;
        entry.causes = std::mem::take(&mut entry.rerun_causes);
        self.leave_in_flight(key, false);
    }

    pub(super) fn after(&mut self, key: u8, delay: u64) {
        let schedule = self.schedule(delay);
        let entry = self.entry(key);
        entry.attempts = 0;
        entry.causes = std::mem::take(&mut entry.rerun_causes);
        entry.causes.merge("after", 0, 1);
        entry.schedules.push(schedule);
        self.leave_in_flight(key, true);
    }

    /// `name` is the cause: failed or abandoned.
    pub(super) fn fail(&mut self, handed: &ModelHandout, name: &str) -> ModelFailure {
        let (key, now, max_tries) = (handed.key, self.now, self.setup.max_tries);
        let entry = self.entry(key);
        entry.attempts += 1;
        let attempt = entry.attempts;
        if max_tries.is_some_and(|max| attempt >= max) {
            entry.attempts = 0;
            entry.causes = std::mem::take(&mut entry.rerun_causes);
            self.leave_in_flight(key, false);
            return ModelFailure::Dead(attempt);
        }
        entry.causes.merge(name, u64::from(attempt), 1);
        for (name, detail, count) in std::mem::take(&mut entry.rerun_causes).list {
            entry.causes.merge(&name, detail, count);
        }
        let rerun = entry.due();
        if rerun.is_none_or(|due| due > now) {
            let context = RetryContext { attempt, now: Duration::from_micros(now), chance: 0 };
            let delay = self.limiter.take(&context);
            let back = now + u64::try_from(delay.wait.as_micros()).expect("small");
            if rerun.is_some_and(|due| due < back) {
                delay.reservation.into_iter().for_each(|reservation| self.limiter.refund(reservation));
            } else {
                self.entry(key).reservation = delay.reservation;
            }
            self.entry(key).schedules.push(ModelSchedule::At(back));
        } else {
            self.entry(key).schedules.push(ModelSchedule::At(now));
        }
        let due = self.entry(key).due().expect("there is a schedule");
        self.leave_in_flight(key, true);
        match due.saturating_sub(now) {
            0 => ModelFailure::AtOnce,
            wait => ModelFailure::After(wait),
        }
    }

    pub(super) fn cancel(&mut self, key: u8) -> bool {
        self.settle();
        let Some(entry) = self.keys.get_mut(&key) else { return false };
        if entry.state == State::InFlight {
            entry.rerun_priority = None;
            entry.rerun_causes = CauseList::default();
            return !std::mem::take(&mut entry.schedules).is_empty();
        }
        entry.reservation.take().into_iter().for_each(|reservation| self.limiter.refund(reservation));
        self.keys.remove(&key);
        self.drop_idle_tenants();
        self.settle();
        true
    }

    pub(super) fn forget(&mut self, key: u8) -> u16 {
        self.keys.get_mut(&key).map_or(0, |entry| std::mem::take(&mut entry.attempts))
    }

    pub(super) fn close(&mut self) {
        if self.phase != ModelPhase::Stopped {
            self.phase = ModelPhase::Closed;
        }
    }

    pub(super) fn drain(&mut self, within_ms: u64) {
        let until = self.now + within_ms * MILLI;
        self.phase = match self.phase {
            ModelPhase::Open | ModelPhase::Closed => ModelPhase::Draining(until),
            ModelPhase::Draining(other) => ModelPhase::Draining(until.min(other)),
            ModelPhase::Stopped => ModelPhase::Stopped,
        };
        self.settle();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.phase == ModelPhase::Stopped
    }

    fn entry(&mut self, key: u8) -> &mut ModelEntry {
        self.keys.get_mut(&key).expect("a key that is out has an entry")
    }

    fn leave_in_flight(&mut self, key: u8, again: bool) {
        let entry = self.entry(key);
        let rerun = entry.rerun_priority.take();
        entry.is_held = false;
        if entry.schedules.is_empty() {
            self.keys.remove(&key);
        } else {
            let own = again.then_some(entry.priority);
            entry.priority = rerun.max(own).expect("it runs again for its own sake or another's");
            self.place(key);
        }
        self.settle();
    }

    fn place(&mut self, key: u8) {
        let (now, sequence) = (self.now, self.next_sequence());
        let entry = self.entry(key);
        entry.state = State::Delayed;
        entry.since = now;
        entry.sequence = sequence;
        if entry.due().is_some_and(|due| due <= now) {
            self.make_ready(key, now);
        }
    }

    fn make_ready(&mut self, key: u8, since: u64) {
        let entry = self.entry(key);
        entry.schedules.clear();
        entry.reservation = None;
        self.enqueue(key, since);
    }

    fn enqueue(&mut self, key: u8, since: u64) {
        let (sequence, tenant) = (self.next_sequence(), self.tenant(key));
        let entry = self.entry(key);
        entry.state = State::Ready;
        entry.since = since;
        entry.sequence = sequence;
        let priority = entry.priority;
        self.drop_idle_tenants();
        let rings = self.rings.entry(priority).or_default();
        if !rings.contains(&tenant) {
            rings.push_back(tenant);
        }
    }

    fn tenant(&self, key: u8) -> u8 {
        if self.setup.tenants { tenant_of(key) } else { 0 }
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Returns the first ready key of a priority and tenant.
    fn first(&self, priority: i8, tenant: u8) -> Option<u8> {
        let queued = self.keys.iter().filter(|&(&key, entry)| {
            entry.state == State::Ready && entry.priority == priority && self.tenant(key) == tenant
        });
        queued.min_by_key(|(_, entry)| entry.sequence).map(|(&key, _)| key)
    }

    /// Removes tenants without ready keys from their rings.
    fn drop_idle_tenants(&mut self) {
        let mut rings = std::mem::take(&mut self.rings);
        for (&priority, ring) in &mut rings {
            ring.retain(|&tenant| self.first(priority, tenant).is_some());
        }
        self.rings = rings;
    }

    /// Takes the next key: of the tenants whose turn it is, per priority, the key that has waited
    /// longest, counting a level of priority as additional waiting. At a tie the higher priority.
    fn next_key(&mut self) -> Option<u8> {
        let heads = self.rings.iter().filter_map(|(&priority, ring)| {
            let key = self.first(priority, *ring.front()?)?;
            let bonus = (i64::from(priority) + 32) * (self.setup.aging_ms * MILLI).cast_signed();
            Some((self.keys[&key].since.cast_signed() - bonus, -priority, key))
        });
        let (_, priority, key) = heads.min()?;
        let ring = self.rings.get_mut(&-priority).expect("it has a head");
        let tenant = ring.pop_front().expect("it has a head");
        ring.push_back(tenant);
        self.entry(key).state = State::InFlight;
        self.drop_idle_tenants();
        Some(key)
    }

    fn settle(&mut self) {
        let ModelPhase::Draining(until) = self.phase else { return };
        let waits =
            |entry: &ModelEntry| entry.state != State::Delayed || entry.due().is_some_and(|due| due < until);
        if self.now >= until || !self.keys.values().any(waits) {
            self.phase = ModelPhase::Stopped;
        }
    }
}
