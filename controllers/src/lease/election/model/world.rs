//! What happens.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{ListError, Object, SourceError, Uid, WriteError};
use serde_json::json;

use super::store::{Message, Store};
use super::{Fate, Script, TICK, TROUBLED, WELL, config};
use crate::lease::ElectionCounts;
use crate::lease::election::says::{Change, Input, Now, Order};
use crate::lease::election::step::Election;

struct Candidate {
    election: Election,
    rate: f64,
    offset: Duration,
    begin: Instant,
    /// Which of those that had its name. What is for one that is no more is not for the next.
    life: u32,
    paused_until: u32,
    /// Under what it writes, as long as it believes that it leads.
    term: Option<(Uid, u64)>,
    /// What it led for was lost, and ends at this tick.
    ends: Option<u32>,
    /// Which request is under way: answers to others are dropped.
    request: u32,
}

impl Candidate {
    fn now(&self, tick: u32) -> Now {
        let since = self.offset + Duration::from_secs_f64(f64::from(tick) * TICK * self.rate);
        // Its clock on the wall jumps back every so often.
        let wall = Timestamp::UNIX_EPOCH + Duration::from_secs(u64::from(tick * 7919 % 4096));
        Now { at: self.begin + since, wall }
    }
}

pub(super) struct World {
    script: Script,
    store: Store,
    candidates: Vec<Candidate>,
    /// When, of whom, in which life, of which request.
    wires: VecDeque<(u32, usize, u32, u32, Message)>,
    sent: usize,
    tick: u32,
    /// Each term that ever was, and whose.
    pub(super) terms: Vec<((Uid, u64), usize, u32)>,
    /// Somebody was paused, or meddled with the Lease: then two may believe that they lead, and only fences tell them apart.
    is_blurred: bool,
    /// At how many ticks somebody led, and two believed it of themselves.
    pub(super) led: u32,
    pub(super) believed: u32,
}

impl World {
    pub(super) fn new(script: Script) -> Self {
        let begin = tokio::time::Instant::now().into_std();
        let of = |(at, (rate, offset)): (usize, &(f64, u64))| {
            let offset = Duration::from_millis(*offset);
            Candidate {
                election: Election::new(config(at), ElectionCounts::default(), begin + offset),
                rate: *rate,
                offset,
                begin,
                life: 0,
                paused_until: 0,
                term: None,
                ends: None,
                request: 0,
            }
        };
        let candidates = script.clocks.iter().enumerate().map(of).collect();
        let (store, wires, terms) = (Store::default(), VecDeque::new(), Vec::new());
        Self {
            script,
            store,
            candidates,
            wires,
            sent: 0,
            tick: 0,
            terms,
            is_blurred: false,
            led: 0,
            believed: 0,
        }
    }

    pub(super) fn run(&mut self) {
        for at in 0..self.candidates.len() {
            self.tell(at, Input::Time);
        }
        while self.tick < TROUBLED + WELL {
            self.tick += 1;
            self.fates();
            self.deliver();
            for at in 0..self.candidates.len() {
                self.turn(at);
            }
            self.hold();
        }
        let leaders =
            self.candidates.iter().filter(|one| one.term.as_ref().is_some_and(|term| self.store.holds(term)));
        assert_eq!(leaders.count(), 1, "one leads in the end");
    }

    fn fates(&mut self) {
        let due: Vec<_> = self.script.fates.iter().filter(|(when, ..)| *when == self.tick).cloned().collect();
        for (_, whose, fate) in due {
            let at = whose % self.candidates.len();
            match fate {
                Fate::Pause(ticks) => {
                    self.is_blurred = true;
                    self.candidates[at].paused_until = (self.tick + ticks).min(TROUBLED);
                }
                Fate::Crash => {
                    let (tick, one) = (self.tick, &mut self.candidates[at]);
                    let now = one.now(tick).at;
                    one.election = Election::new(config(at), ElectionCounts::default(), now);
                    (one.life, one.term, one.ends, one.paused_until) = (one.life + 1, None, None, 0);
                    self.tell(at, Input::Time);
                }
                Fate::Leave if self.tick >= self.candidates[at].paused_until => {
                    // What it did has ended before.
                    self.candidates[at].term = None;
                    self.tell(at, Input::Leave);
                }
                Fate::Leave => {}
                Fate::Delete => {
                    self.is_blurred = true;
                    self.store.version += 1;
                    self.store.lease = None;
                }
                Fate::Touch => {
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
            std::mem::take(&mut self.wires).into_iter().partition(|(when, ..)| *when <= tick);
        self.wires = rest;
        for (_, at, life, request, message) in due {
            let Message::Answer(input) = message else {
                let answer = self.store.answer(message);
                self.send(at, life, request, Message::Answer(answer));
                continue;
            };
            let one = &self.candidates[at];
            if one.paused_until > tick {
                self.wires.push_back((one.paused_until, at, life, request, Message::Answer(input)));
            } else if (one.life, one.request) == (life, request) {
                self.tell(at, input);
            }
        }
    }

    /// What is due is told, and what was done while it led ends.
    fn turn(&mut self, at: usize) {
        let (tick, one) = (self.tick, &mut self.candidates[at]);
        if one.paused_until > tick {
            return;
        }
        if one.election.due().is_some_and(|due| due <= one.now(tick).at) {
            self.tell(at, Input::Time);
        }
        let one = &mut self.candidates[at];
        if one.ends.is_some_and(|ends| ends <= tick) {
            one.ends = None;
            self.tell(at, Input::Stand);
        }
    }

    fn tell(&mut self, at: usize, input: Input) {
        let tick = self.tick;
        let one = &mut self.candidates[at];
        let output = one.election.step(one.now(tick), input);
        match output.change {
            Some(Change::Leads { uid, epoch }) => {
                let term = (uid, epoch);
                let other = self.terms.iter().find(|(other, ..)| *other == term);
                assert!(other.is_none(), "{term:?} of {at} was {other:?}");
                self.terms.push((term.clone(), at, tick));
                one.term = Some(term);
            }
            Some(Change::Lost(_)) => {
                one.term = None;
                one.ends = Some(tick + 1 + tick % 40);
            }
            None => {}
        }
        let (life, message) = (
            one.life,
            match output.order {
                Order::Await => return,
                Order::Rest => {
                    one.request += 1;
                    return;
                }
                Order::End => {
                    // It is done, and another of its name begins.
                    one.election = Election::new(config(at), ElectionCounts::default(), one.now(tick).at);
                    (one.life, one.ends) = (one.life + 1, None);
                    return self.tell(at, Input::Time);
                }
                Order::Read => Message::Read,
                Order::Create(lease) => Message::Create(lease),
                Order::Update(lease) => Message::Update(lease),
            },
        );
        one.request += 1;
        let request = one.request;
        self.send(at, life, request, message);
    }

    fn send(&mut self, at: usize, life: u32, request: u32, message: Message) {
        let (is_lost, delay) = self.script.network[self.sent % self.script.network.len()];
        self.sent += 1;
        let (is_lost, delay) = if self.tick < TROUBLED { (is_lost, delay) } else { (false, delay % 4) };
        if is_lost {
            // Half of them with an error at once, and half without a word.
            let error = match &message {
                Message::Read => Input::Read(Err(ListError::Source(SourceError::TimedOut))),
                Message::Answer(Input::Read(_)) => Input::Read(Err(ListError::Source(SourceError::TimedOut))),
                _ => Input::Wrote(Err(WriteError::UnknownOutcome { reason: "lost".into() })),
            };
            if delay % 2 == 0 {
                self.wires.push_back((self.tick + 1, at, life, request, Message::Answer(error)));
            }
            return;
        }
        self.wires.push_back((self.tick + 1 + delay, at, life, request, message));
    }

    /// What must be so at any time.
    fn hold(&mut self) {
        let leading: Vec<_> = self.candidates.iter().filter_map(|one| one.term.as_ref()).collect();
        self.led += u32::from(!leading.is_empty());
        self.believed += u32::from(leading.len() > 1);
        let writing = leading.iter().filter(|term| self.store.holds(term)).count();
        assert!(writing <= 1, "two write under their fences: {leading:?}");
        assert!(self.is_blurred || leading.len() <= 1, "two believe that they lead: {leading:?}");
    }
}
