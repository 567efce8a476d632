//! The simulation: faults, network and invariants.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{ListError, Object, SourceError, Uid, WriteError};
use serde_json::json;

use super::store::{Message, Store};
use super::{FAULTY_TICKS, Fault, HEALTHY_TICKS, Script, TICK, config};
use crate::lease::ElectionCounts;
use crate::lease::election::messages::{Action, ElectionTime, Input, LeadershipChange};
use crate::lease::election::step::Election;

struct Candidate {
    election: Election,
    rate: f64,
    offset: Duration,
    begin: Instant,
    /// Incarnation of the process; messages for an earlier one are dropped.
    incarnation: u32,
    paused_until: u32,
    /// Fence of the term that the candidate believes to lead.
    term: Option<(Uid, u64)>,
    /// Tick at which the work of a lost term ends.
    ends: Option<u32>,
    /// Number of the pending request; responses to others are dropped.
    request: u32,
}

impl Candidate {
    fn now(&self, tick: u32) -> ElectionTime {
        let since = self.offset + Duration::from_secs_f64(f64::from(tick) * TICK * self.rate);
        // The wall clock jumps back regularly.
        let wall = Timestamp::UNIX_EPOCH + Duration::from_secs(u64::from(tick * 7919 % 4096));
        ElectionTime { at: self.begin + since, wall }
    }
}

pub(super) struct Simulation {
    script: Script,
    store: Store,
    candidates: Vec<Candidate>,
    /// Arrival tick, candidate, incarnation, request, message.
    in_flight: VecDeque<(u32, usize, u32, u32, Message)>,
    sent: usize,
    tick: u32,
    /// All terms, with candidate and start tick.
    pub(super) terms: Vec<((Uid, u64), usize, u32)>,
    /// After a suspension or a deletion two candidates may believe that they lead; only fences
    /// distinguish them.
    leases_may_overlap: bool,
    /// Ticks with a leader, and with two believed leaders.
    pub(super) ticks_led: u32,
    pub(super) ticks_overlapping: u32,
}

impl Simulation {
    pub(super) fn new(script: Script) -> Self {
        let begin = tokio::time::Instant::now().into_std();
        let of = |(at, (rate, offset)): (usize, &(f64, u64))| {
            let offset = Duration::from_millis(*offset);
            Candidate {
                election: Election::new(config(at), ElectionCounts::default(), begin + offset),
                rate: *rate,
                offset,
                begin,
                incarnation: 0,
                paused_until: 0,
                term: None,
                ends: None,
                request: 0,
            }
        };
        let candidates = script.clocks.iter().enumerate().map(of).collect();
        let (store, in_flight, terms) = (Store::default(), VecDeque::new(), Vec::new());
        Self {
            script,
            store,
            candidates,
            in_flight,
            sent: 0,
            tick: 0,
            terms,
            leases_may_overlap: false,
            ticks_led: 0,
            ticks_overlapping: 0,
        }
    }

    pub(super) fn run(&mut self) {
        for at in 0..self.candidates.len() {
            self.step(at, Input::Tick);
        }
        while self.tick < FAULTY_TICKS + HEALTHY_TICKS {
            self.tick += 1;
            self.faults();
            self.deliver();
            for at in 0..self.candidates.len() {
                self.tick_candidate(at);
            }
            self.check_invariants();
        }
        let leaders =
            self.candidates.iter().filter(|one| one.term.as_ref().is_some_and(|term| self.store.holds(term)));
        assert_eq!(leaders.count(), 1, "one leads in the end");
    }

    fn faults(&mut self) {
        let due: Vec<_> =
            self.script.faults.iter().filter(|(when, ..)| *when == self.tick).cloned().collect();
        for (_, whose, fate) in due {
            let at = whose % self.candidates.len();
            match fate {
                Fault::Pause(ticks) => {
                    self.leases_may_overlap = true;
                    self.candidates[at].paused_until = (self.tick + ticks).min(FAULTY_TICKS);
                }
                Fault::Crash => {
                    let (tick, one) = (self.tick, &mut self.candidates[at]);
                    let now = one.now(tick).at;
                    one.election = Election::new(config(at), ElectionCounts::default(), now);
                    (one.incarnation, one.term, one.ends, one.paused_until) =
                        (one.incarnation + 1, None, None, 0);
                    self.step(at, Input::Tick);
                }
                Fault::Leave if self.tick >= self.candidates[at].paused_until => {
                    // Its work has ended before.
                    self.candidates[at].term = None;
                    self.step(at, Input::Resign);
                }
                Fault::Leave => {}
                Fault::Delete => {
                    self.leases_may_overlap = true;
                    self.store.version += 1;
                    self.store.lease = None;
                }
                Fault::Touch => {
                    if let Some(lease) = self.store.lease.clone() {
                        let mut value = serde_json::to_value(&lease).unwrap();
                        value["spec"]["preferredHolder"] = json!(self.tick.to_string());
                        let touched = serde_json::from_value(value).unwrap();
                        self.store.put(&touched, lease.uid().unwrap());
                    }
                }
            }
        }
    }

    fn deliver(&mut self) {
        let tick = self.tick;
        let (due, rest): (VecDeque<_>, _) =
            std::mem::take(&mut self.in_flight).into_iter().partition(|(when, ..)| *when <= tick);
        self.in_flight = rest;
        for (_, at, incarnation, request, message) in due {
            let Message::Answer(input) = message else {
                let answer = self.store.answer(message);
                self.send(at, incarnation, request, Message::Answer(answer));
                continue;
            };
            let one = &self.candidates[at];
            if one.paused_until > tick {
                self.in_flight.push_back((
                    one.paused_until,
                    at,
                    incarnation,
                    request,
                    Message::Answer(input),
                ));
            } else if (one.incarnation, one.request) == (incarnation, request) {
                self.step(at, input);
            }
        }
    }

    /// Delivers due timers, and ends the work of a lost term.
    fn tick_candidate(&mut self, at: usize) {
        let (tick, one) = (self.tick, &mut self.candidates[at]);
        if one.paused_until > tick {
            return;
        }
        if one.election.due().is_some_and(|due| due <= one.now(tick).at) {
            self.step(at, Input::Tick);
        }
        let one = &mut self.candidates[at];
        if one.ends.is_some_and(|ends| ends <= tick) {
            one.ends = None;
            self.step(at, Input::Rejoin);
        }
    }

    fn step(&mut self, at: usize, input: Input) {
        let tick = self.tick;
        let one = &mut self.candidates[at];
        let output = one.election.step(one.now(tick), input);
        match output.change {
            Some(LeadershipChange::Acquired { uid, epoch }) => {
                let term = (uid, epoch);
                let other = self.terms.iter().find(|(other, ..)| *other == term);
                assert!(other.is_none(), "{term:?} of {at} was {other:?}");
                self.terms.push((term.clone(), at, tick));
                one.term = Some(term);
            }
            Some(LeadershipChange::Lost(_)) => {
                one.term = None;
                one.ends = Some(tick + 1 + tick % 40);
            }
            None => {}
        }
        let (incarnation, message) = (
            one.incarnation,
            match output.action {
                Action::AwaitResponse => return,
                Action::Sleep => {
                    one.request += 1;
                    return;
                }
                Action::Stop => {
                    // The candidate has ended; the next incarnation starts.
                    one.election = Election::new(config(at), ElectionCounts::default(), one.now(tick).at);
                    (one.incarnation, one.ends) = (one.incarnation + 1, None);
                    return self.step(at, Input::Tick);
                }
                Action::Read => Message::Read,
                Action::Create(lease) => Message::Create(lease),
                Action::Update(lease) => Message::Update(lease),
            },
        );
        one.request += 1;
        let request = one.request;
        self.send(at, incarnation, request, message);
    }

    fn send(&mut self, at: usize, incarnation: u32, request: u32, message: Message) {
        let (is_lost, delay) = self.script.network[self.sent % self.script.network.len()];
        self.sent += 1;
        let (is_lost, delay) = if self.tick < FAULTY_TICKS { (is_lost, delay) } else { (false, delay % 4) };
        if is_lost {
            // Half of the lost messages return an error at once, the others nothing.
            let error = match &message {
                Message::Read => Input::Read(Err(ListError::Source(SourceError::TimedOut))),
                Message::Answer(Input::Read(_)) => Input::Read(Err(ListError::Source(SourceError::TimedOut))),
                _ => Input::Wrote(Err(WriteError::UnknownOutcome { reason: "lost".into() })),
            };
            if delay % 2 == 0 {
                self.in_flight.push_back((self.tick + 1, at, incarnation, request, Message::Answer(error)));
            }
            return;
        }
        self.in_flight.push_back((self.tick + 1 + delay, at, incarnation, request, message));
    }

    /// Checks the invariants of a tick.
    fn check_invariants(&mut self) {
        let leading: Vec<_> = self.candidates.iter().filter_map(|one| one.term.as_ref()).collect();
        self.ticks_led += u32::from(!leading.is_empty());
        self.ticks_overlapping += u32::from(leading.len() > 1);
        let writing = leading.iter().filter(|term| self.store.holds(term)).count();
        assert!(writing <= 1, "two write under their fences: {leading:?}");
        assert!(self.leases_may_overlap || leading.len() <= 1, "two believe that they lead: {leading:?}");
    }
}
