//! The queue, said naively.

use super::Setup;
use crate::limiter::{Ask, Charge, RateLimiter};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A queue of `u8` keys as a few maps and vectors. Times are in microseconds.
pub struct Model {
    pub(super) now: u64,
    pub(super) setup: Setup,
    pub(super) keys: BTreeMap<u8, Key>,
    /// Per priority, who has a turn next; one tenant, 0, where there are none.
    turns: BTreeMap<i8, VecDeque<u8>>,
    /// Counts the moments at which something was put in a line or given a time: ties are broken by it.
    moment: u64,
    phase: Phase,
    limiter: Box<dyn RateLimiter>,
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) state: State,
    pub(super) since: u64,
    pub(super) moment: u64,
    pub(super) priority: i8,
    pub(super) attempts: u16,
    /// Of a key that is out: of the next run, as `priority` is of this one.
    pub(super) rerun_priority: Option<i8>,
    /// Since the last hand-out: when it is wished for.
    pub(super) wishes: Vec<Wish>,
    /// Why it runs, or will.
    pub(super) why: Why,
    /// Of a key that is out: why it will run again.
    why_later: Why,
    charge: Option<Charge>,
    pub(super) is_held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Delayed,
    Out,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    At(u64),
    Debounced { quiet_until: u64, at_latest: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    Closed,
    Draining(u64),
    Stopped,
}

/// What a worker gets from the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Handed {
    pub(super) key: u8,
    pub(super) attempts: u16,
    pub(super) priority: i8,
    pub(super) waited: u64,
    pub(super) why: Why,
}

/// Causes by name, with the latest detail and how often; and how many gave way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) list: Vec<(String, u64, u8)>,
    pub(super) lost: u8,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Added {
    Queued,
    Merged,
    Rerun,
    Closed,
    Full,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Handed(Handed),
    Empty,
    Over,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failed {
    After(u64),
    AtOnce,
    Dead(u16),
}

const MILLI: u64 = 1000;

pub(super) fn tenant_of(key: u8) -> u8 {
    key % 3
}

impl Key {
    /// The earliest plain wish, the earliest end of a debounce, and the quiet time after the latest event: whichever
    /// is first.
    pub(super) fn due(&self) -> Option<u64> {
        let at = self.wishes.iter().map(|wish| match wish {
            Wish::At(at) => *at,
            Wish::Debounced { at_latest, .. } => *at_latest,
        });
        let quiet = self.wishes.iter().rev().find_map(|wish| match wish {
            Wish::At(_) => None,
            Wish::Debounced { quiet_until, .. } => Some(*quiet_until),
        });
        at.chain(quiet).min()
    }
}

impl Why {
    fn because(&mut self, name: &str, detail: u64, count: u8) {
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
    /// An empty queue.
    pub fn new(setup: Setup, limiter: Box<dyn RateLimiter>) -> Self {
        let keys = BTreeMap::new();
        Self { now: 0, setup, keys, turns: BTreeMap::new(), moment: 0, phase: Phase::Open, limiter }
    }

    pub(super) fn advance(&mut self, by: u64) {
        self.now += by;
        // What is due becomes ready in the order of whole milliseconds, then of the moment it was given its time.
        let due = |key: &Key| key.due().filter(|&due| key.state == State::Delayed && due <= self.whole_now());
        let mut expired: Vec<(u64, u64, u8)> = self
            .keys
            .iter()
            .filter_map(|(&k, key)| Some((due(key)?.div_ceil(MILLI), key.moment, k)))
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

    pub(super) fn wish(&self, after: u64) -> Wish {
        Wish::At(self.now + after)
    }

    pub(super) fn debounced(&self, quiet_ms: u64, max_ms: u64) -> Wish {
        let (quiet_until, at_latest) = (self.now + quiet_ms * MILLI, self.now + max_ms * MILLI);
        Wish::Debounced { quiet_until, at_latest }
    }

    pub(super) fn add(&mut self, key: u8, wish: Wish, priority: i8, cause: Option<(&str, u64)>) -> Added {
        self.settle();
        if self.phase != Phase::Open {
            return Added::Closed;
        }
        let fresh = !self.keys.contains_key(&key);
        if fresh && self.keys.len() >= self.setup.capacity {
            return Added::Full;
        }
        let new = Key {
            state: State::Delayed,
            since: self.now,
            moment: 0,
            priority,
            attempts: 0,
            rerun_priority: None,
            wishes: Vec::new(),
            why: Why::default(),
            why_later: Why::default(),
            charge: None,
            is_held: false,
        };
        let entry = self.keys.entry(key).or_insert(new);
        if let Some((name, detail)) = cause {
            let out = !fresh && entry.state == State::Out;
            let why = if out { &mut entry.why_later } else { &mut entry.why };
            why.because(name, detail, 1);
        }
        match entry.state {
            _ if fresh => {
                entry.wishes.push(wish);
                self.place(key);
                return Added::Queued;
            }
            State::Out => {
                entry.wishes.push(wish);
                entry.rerun_priority = entry.rerun_priority.max(Some(priority));
                return Added::Rerun;
            }
            State::Ready if priority > entry.priority => {
                let since = entry.since;
                entry.priority = priority;
                self.line_up(key, since);
            }
            State::Ready => {}
            State::Delayed => {
                entry.priority = entry.priority.max(priority);
                let before = entry.due();
                entry.wishes.push(wish);
                if entry.due() != before {
                    if let Some(charge) = entry.charge.take() {
                        self.limiter.refund(charge);
                    }
                    self.place(key);
                }
            }
        }
        Added::Merged
    }

    pub(super) fn take(&mut self) -> Taken {
        self.settle();
        if self.phase == Phase::Stopped {
            return Taken::Over;
        }
        let Some(key) = self.next_in_line() else {
            return if self.phase == Phase::Closed { Taken::Over } else { Taken::Empty };
        };
        let entry = self.keys.get_mut(&key).expect("it is in line");
        entry.state = State::Out;
        let waited = self.now - entry.since;
        entry.since = self.now;
        entry.wishes.clear();
        Taken::Handed(Handed {
            key,
            attempts: entry.attempts,
            priority: entry.priority,
            waited,
            why: entry.why.clone(),
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
        entry.why = std::mem::take(&mut entry.why_later);
        self.bring_in(key, false);
    }

    pub(super) fn after(&mut self, key: u8, delay: u64) {
        let wish = self.wish(delay);
        let entry = self.entry(key);
        entry.attempts = 0;
        entry.why = std::mem::take(&mut entry.why_later);
        entry.why.because("after", 0, 1);
        entry.wishes.push(wish);
        self.bring_in(key, true);
    }

    /// `name` says whether it failed or was abandoned.
    pub(super) fn fail(&mut self, handed: &Handed, name: &str) -> Failed {
        let (key, now, max_tries) = (handed.key, self.now, self.setup.max_tries);
        let entry = self.entry(key);
        entry.attempts += 1;
        let attempt = entry.attempts;
        if max_tries.is_some_and(|max| attempt >= max) {
            entry.attempts = 0;
            entry.why = std::mem::take(&mut entry.why_later);
            self.bring_in(key, false);
            return Failed::Dead(attempt);
        }
        entry.why.because(name, u64::from(attempt), 1);
        for (name, detail, count) in std::mem::take(&mut entry.why_later).list {
            entry.why.because(&name, detail, count);
        }
        let rerun = entry.due();
        if rerun.is_none_or(|due| due > now) {
            let ask = Ask { attempt, now: Duration::from_micros(now), chance: 0 };
            let delay = self.limiter.take(&ask);
            let back = now + u64::try_from(delay.wait.as_micros()).expect("small");
            if rerun.is_some_and(|due| due < back) {
                delay.charge.into_iter().for_each(|charge| self.limiter.refund(charge));
            } else {
                self.entry(key).charge = delay.charge;
            }
            self.entry(key).wishes.push(Wish::At(back));
        } else {
            self.entry(key).wishes.push(Wish::At(now));
        }
        let due = self.entry(key).due().expect("there is a wish");
        self.bring_in(key, true);
        match due.saturating_sub(now) {
            0 => Failed::AtOnce,
            wait => Failed::After(wait),
        }
    }

    pub(super) fn cancel(&mut self, key: u8) -> bool {
        self.settle();
        let Some(entry) = self.keys.get_mut(&key) else { return false };
        if entry.state == State::Out {
            entry.rerun_priority = None;
            entry.why_later = Why::default();
            return !std::mem::take(&mut entry.wishes).is_empty();
        }
        entry.charge.take().into_iter().for_each(|charge| self.limiter.refund(charge));
        self.keys.remove(&key);
        self.tidy();
        self.settle();
        true
    }

    pub(super) fn forget(&mut self, key: u8) -> u16 {
        self.keys.get_mut(&key).map_or(0, |entry| std::mem::take(&mut entry.attempts))
    }

    pub(super) fn close(&mut self) {
        if self.phase != Phase::Stopped {
            self.phase = Phase::Closed;
        }
    }

    pub(super) fn drain(&mut self, within_ms: u64) {
        let until = self.now + within_ms * MILLI;
        self.phase = match self.phase {
            Phase::Open | Phase::Closed => Phase::Draining(until),
            Phase::Draining(other) => Phase::Draining(until.min(other)),
            Phase::Stopped => Phase::Stopped,
        };
        self.settle();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    fn entry(&mut self, key: u8) -> &mut Key {
        self.keys.get_mut(&key).expect("a key that is out has an entry")
    }

    fn bring_in(&mut self, key: u8, again: bool) {
        let entry = self.entry(key);
        let rerun = entry.rerun_priority.take();
        entry.is_held = false;
        if entry.wishes.is_empty() {
            self.keys.remove(&key);
        } else {
            let own = again.then_some(entry.priority);
            entry.priority = rerun.max(own).expect("it runs again for its own sake or another's");
            self.place(key);
        }
        self.settle();
    }

    fn place(&mut self, key: u8) {
        let (now, moment) = (self.now, self.next_moment());
        let entry = self.entry(key);
        entry.state = State::Delayed;
        entry.since = now;
        entry.moment = moment;
        if entry.due().is_some_and(|due| due <= now) {
            self.make_ready(key, now);
        }
    }

    fn make_ready(&mut self, key: u8, since: u64) {
        let entry = self.entry(key);
        entry.wishes.clear();
        entry.charge = None;
        self.line_up(key, since);
    }

    fn line_up(&mut self, key: u8, since: u64) {
        let (moment, tenant) = (self.next_moment(), self.tenant(key));
        let entry = self.entry(key);
        entry.state = State::Ready;
        entry.since = since;
        entry.moment = moment;
        let priority = entry.priority;
        self.tidy();
        let turns = self.turns.entry(priority).or_default();
        if !turns.contains(&tenant) {
            turns.push_back(tenant);
        }
    }

    fn tenant(&self, key: u8) -> u8 {
        if self.setup.tenants { tenant_of(key) } else { 0 }
    }

    fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// The first in line of a priority and tenant.
    fn first(&self, priority: i8, tenant: u8) -> Option<u8> {
        let in_line = self.keys.iter().filter(|&(&key, entry)| {
            entry.state == State::Ready && entry.priority == priority && self.tenant(key) == tenant
        });
        in_line.min_by_key(|(_, entry)| entry.moment).map(|(&key, _)| key)
    }

    /// A tenant without anything leaves its ring.
    fn tidy(&mut self) {
        let mut turns = std::mem::take(&mut self.turns);
        for (&priority, ring) in &mut turns {
            ring.retain(|&tenant| self.first(priority, tenant).is_some());
        }
        self.turns = turns;
    }

    /// Per priority, whoever has the turn; among those, the one that has waited longest, counting a level of priority
    /// as so much waiting. The higher priority at a tie.
    fn next_in_line(&mut self) -> Option<u8> {
        let heads = self.turns.iter().filter_map(|(&priority, ring)| {
            let key = self.first(priority, *ring.front()?)?;
            let bonus = (i64::from(priority) + 32) * (self.setup.aging_ms * MILLI).cast_signed();
            Some((self.keys[&key].since.cast_signed() - bonus, -priority, key))
        });
        let (_, priority, key) = heads.min()?;
        let ring = self.turns.get_mut(&-priority).expect("it has a head");
        let tenant = ring.pop_front().expect("it has a head");
        ring.push_back(tenant);
        self.entry(key).state = State::Out;
        self.tidy();
        Some(key)
    }

    fn settle(&mut self) {
        let Phase::Draining(until) = self.phase else { return };
        let waits = |entry: &Key| entry.state != State::Delayed || entry.due().is_some_and(|due| due < until);
        if self.now >= until || !self.keys.values().any(waits) {
            self.phase = Phase::Stopped;
        }
    }
}
