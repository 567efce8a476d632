//! Applies the same operations to the queue and to the model.

use super::model::{self, CauseList, Model, ModelFailure, ModelHandout, ModelTake, State};
use super::{Op, OpAnswer, OpWhen, Setup};
use crate::limiter::{Exponential, MaxOf, RateLimiter, TokenBucket};
use crate::{
    Add, AddError, Added, Cause, Causes, Config, Debounce, KeyState, ManualClock, Priority, Queue, Retried,
    Work,
};
use std::num::NonZeroU16;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const CAUSES: [&&str; 8] = [&"c0", &"c1", &"c2", &"c3", &"c4", &"c5", &"c6", &"c7"];
const DEBOUNCED_MS: (u64, u64) = (3, 8);

/// Runs `ops` on a queue and on the model, and panics where they differ.
pub fn check(setup: &Setup, ops: &[Op]) {
    let mut run = ModelRun::new(setup);
    for op in ops {
        run.step(op);
        run.compare();
    }
    run.finish();
}

struct ModelRun {
    queue: Queue<u8>,
    clock: ManualClock<u8>,
    model: Model,
    held: Vec<(Work<u8>, ModelHandout)>,
    /// The attempts of the last dead letter, until it is compared.
    dead: Arc<AtomicU16>,
}

fn limiter(setup: &Setup) -> Box<dyn RateLimiter> {
    let exponential = Exponential::new(Duration::from_millis(1), Duration::from_millis(50));
    let exponential = exponential.and_then(|limiter| limiter.jitter(0.0)).expect("these make sense");
    if !setup.bucket {
        return Box::new(exponential);
    }
    let bucket = TokenBucket::new(200.0, 2).expect("these make sense");
    Box::new(MaxOf::new(vec![Box::new(exponential), Box::new(bucket)]).expect("two are some"))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).expect("the model's times are small")
}

fn debounce((quiet, max): (u64, u64)) -> Debounce {
    Debounce::new(Duration::from_millis(quiet), Duration::from_millis(max)).expect("the quiet time is below")
}

fn cause_list(causes: &Causes) -> CauseList {
    let list = causes.iter().map(|(cause, count)| (cause.name().to_owned(), cause.detail(), count));
    CauseList { list: list.collect(), lost: causes.lost() }
}

impl ModelRun {
    fn new(setup: &Setup) -> Self {
        let dead = Arc::new(AtomicU16::new(0));
        let seen = dead.clone();
        let config = Config {
            capacity: setup.capacity,
            backoff: limiter(setup),
            max_tries: setup.max_tries.and_then(NonZeroU16::new),
            dead_letter: Some(Box::new(move |letter| seen.store(letter.attempts, Ordering::Relaxed))),
            debounce: setup.debounce_ms.map(debounce),
            aging: Duration::from_millis(setup.aging_ms),
            tenants: setup.tenants.then(|| Box::new(|key: &u8| u32::from(model::tenant_of(*key))) as _),
            seed: Some(7),
        };
        let (queue, clock) = Queue::manual(config).expect("the setups make sense");
        let model = Model::new(setup.clone(), limiter(setup));
        Self { queue, clock, model, held: Vec::new(), dead }
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::Add { key, when, priority, cause } => self.add(key, when, priority, cause),
            Op::TryGet => {
                let work = self.queue.try_get();
                self.compare_handouts(work.into_iter().collect(), 1);
            }
            Op::Batch(max) => {
                let works = self.batch(usize::from(max));
                self.compare_handouts(works, usize::from(max).max(1));
            }
            Op::Answer(..) | Op::Hold(_) if self.held.is_empty() => {}
            Op::Answer(which, answer) => {
                let (work, handed) = self.held.remove(usize::from(which) % self.held.len());
                self.answer(work, &handed, answer);
            }
            Op::Hold(which) => {
                let (work, handed) = &self.held[usize::from(which) % self.held.len()];
                work.hold();
                self.model.hold(handed.key);
            }
            Op::Cancel(key) => assert_eq!(self.queue.cancel(&key), self.model.cancel(key), "cancel {key}"),
            Op::Forget(key) => assert_eq!(self.queue.forget(&key), self.model.forget(key), "forget {key}"),
            Op::Advance(by) => {
                self.clock.advance(Duration::from_micros(by));
                self.model.advance(by);
            }
            Op::Close => {
                self.queue.close();
                self.model.close();
            }
            Op::Drain(within) => {
                let drain = pin!(self.queue.drain(Duration::from_millis(within)));
                // Polled once to begin; its end is seen by getters, and by `drained` in the tests.
                let _ = drain.poll(&mut Context::from_waker(Waker::noop()));
                self.model.drain(within);
            }
        }
    }

    fn batch(&self, max: usize) -> Vec<Work<u8>> {
        let mut get = pin!(self.queue.get_batch(max));
        let mut cx = Context::from_waker(Waker::noop());
        // Twice, because a getter yields once in a while.
        for _ in 0..2 {
            if let Poll::Ready(batch) = get.as_mut().poll(&mut cx) {
                return batch.into_iter().flatten().collect();
            }
        }
        Vec::new()
    }

    fn add(&mut self, key: u8, when: OpWhen, priority: i8, cause: Option<u8>) {
        let priority = Priority::new(i32::from(priority));
        let plain = Add::new().priority(priority);
        let (add, schedule) = match (when, self.model.setup.debounce_ms) {
            (OpWhen::Now, _) => (plain.now(), self.model.schedule(0)),
            (OpWhen::Configured, None) => (plain, self.model.schedule(0)),
            (OpWhen::Configured, Some((quiet, max))) => (plain, self.model.debounced(quiet, max)),
            (OpWhen::After(us), _) => (plain.after(Duration::from_micros(us)), self.model.schedule(us)),
            (OpWhen::Debounced, _) => {
                let (quiet, max) = DEBOUNCED_MS;
                (plain.debounced(debounce(DEBOUNCED_MS)), self.model.debounced(quiet, max))
            }
        };
        let cause = cause.map(|number| (CAUSES[usize::from(number) % 8], u64::from(number)));
        let add = cause.map_or(add, |(name, detail)| add.cause(Cause::new(name, detail)));
        let added = match self.queue.add_with(key, add) {
            Ok(Added::Queued) => model::ModelAdded::Queued,
            Ok(Added::Merged) => model::ModelAdded::Merged,
            Ok(Added::Rerun) => model::ModelAdded::Rerun,
            Err(AddError::Closed(back)) => {
                assert_eq!(back, key);
                model::ModelAdded::Closed
            }
            Err(AddError::Full { key: back, limit }) => {
                assert_eq!((back, limit), (key, self.model.setup.capacity));
                model::ModelAdded::Full
            }
        };
        let cause = cause.map(|(name, detail)| (*name, detail));
        assert_eq!(added, self.model.add(key, schedule, priority.value(), cause), "add {key}");
    }

    /// Compares the hand-outs of the queue with those of the model, up to `max` keys.
    fn compare_handouts(&mut self, works: Vec<Work<u8>>, max: usize) {
        let mut works = works.into_iter();
        for _ in 0..max {
            let ModelTake::Handout(handed) = self.model.take() else { break };
            let work =
                works.next().unwrap_or_else(|| panic!("the model hands out {handed:?}, the queue nothing"));
            let got = ModelHandout {
                key: *work.key(),
                attempts: work.attempts(),
                priority: work.priority().value(),
                waited: micros(work.waited()),
                causes: cause_list(&work.causes()),
            };
            assert_eq!(got, handed);
            self.held.push((work, handed));
        }
        assert!(works.next().is_none(), "the queue hands out more than the model");
    }

    fn answer(&mut self, work: Work<u8>, handed: &ModelHandout, answer: OpAnswer) {
        match answer {
            OpAnswer::Done => {
                work.done();
                self.model.done(handed.key);
            }
            OpAnswer::After(us) => {
                work.after(Duration::from_micros(us));
                self.model.after(handed.key, us);
            }
            OpAnswer::Retry => {
                let retried = match work.retry("failed") {
                    Retried::After(wait) => ModelFailure::After(micros(wait)),
                    Retried::AtOnce => ModelFailure::AtOnce,
                    Retried::DeadLetter => ModelFailure::Dead(self.dead.swap(0, Ordering::Relaxed)),
                };
                assert_eq!(retried, self.model.fail(handed, "retry"));
            }
            OpAnswer::Drop => {
                drop(work);
                let failed = self.model.fail(handed, "abandoned");
                let dead = self.dead.swap(0, Ordering::Relaxed);
                assert_eq!(dead, if let ModelFailure::Dead(attempts) = failed { attempts } else { 0 });
            }
        }
    }

    /// Compares every key, and checks the queue's invariants.
    fn compare(&mut self) {
        self.queue.shared.with(|core| core.check_invariants());
        let mut seen = self.queue.list();
        seen.sort_by_key(|seen| seen.key);
        let keys: Vec<u8> = seen.iter().map(|seen| seen.key).collect();
        assert_eq!(keys, self.model.keys.keys().copied().collect::<Vec<_>>());
        let held = self.model.keys.values().filter(|entry| entry.is_held).count();
        assert_eq!(self.queue.stats().held, held);
        for (seen, entry) in seen.iter().zip(self.model.keys.values()) {
            let now = self.model.now;
            let until = entry.due().map(|due| Duration::from_micros(due.saturating_sub(now)));
            let state = match entry.state {
                State::Ready => KeyState::Ready,
                State::Delayed => KeyState::Delayed { next: until.expect("a delay has an end") },
                State::InFlight => KeyState::InFlight { rerun: until },
            };
            let priority = entry.priority.max(entry.rerun_priority.unwrap_or(i8::MIN));
            assert_eq!(seen.state, state, "key {}", seen.key);
            assert_eq!(seen.priority.value(), priority, "key {}", seen.key);
            assert_eq!(
                (seen.attempts, micros(seen.age)),
                (entry.attempts, now - entry.since),
                "key {}",
                seen.key
            );
            assert_eq!(cause_list(&seen.causes), entry.causes, "key {}", seen.key);
        }
    }

    /// Completes the keys in flight, and advances the time until no key is left that can run: none
    /// may be lost.
    fn finish(&mut self) {
        while let Some((work, handed)) = self.held.pop() {
            self.answer(work, &handed, OpAnswer::Done);
        }
        for _ in 0..1000 {
            let by = self.clock.next().map_or(0, micros);
            self.step(&Op::Advance(by));
            self.step(&Op::TryGet);
            self.step(&Op::Answer(0, OpAnswer::Done));
            self.compare();
            if self.model.keys.is_empty() || self.model.is_stopped() {
                return;
            }
        }
        panic!("after a thousand rounds there is still {:?}", self.model.keys);
    }
}
