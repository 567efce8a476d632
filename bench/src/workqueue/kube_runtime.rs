//! kube-runtime's scheduler, polled by hand. It has no priorities, metrics, back-off or exclusion:
//! its `runner` and `Controller` have them, which need an API server.

use super::keys::{self, QueueKey};
use super::shape::{QueueShape, QueueWork};
use crate::interleave::Subject;
use crate::measure::{Figures, Lap, count};
use crate::memory;
use anyhow::{bail, ensure};
use futures::stream::Stream;
use kube_runtime::scheduler::{ScheduleRequest, Scheduler, scheduler};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::Instant;

pub(super) struct KubeRuntime {
    runtime: Runtime,
}

impl KubeRuntime {
    pub(super) fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
        Ok(Self { runtime })
    }
}

impl Subject<QueueShape> for KubeRuntime {
    fn name(&self) -> &'static str {
        "kube-runtime"
    }

    fn run(&mut self, shape: &QueueShape) -> anyhow::Result<Figures> {
        let _timers = self.runtime.enter();
        match shape.kind {
            QueueWork::AddGetDone { keys, passes, .. } => add_pop(keys, passes),
            QueueWork::DuplicateAdd { keys, passes } => duplicate_add(keys, passes),
            QueueWork::DelayedAdd { keys, passes, sooner } => delayed_add(keys, passes, sooner),
            QueueWork::DelayedAddNew { keys } => delayed_add_new(keys),
            QueueWork::GetDone { keys, passes } => pop_pending(keys, passes),
            QueueWork::BytesPerKey { keys } => bytes_per_key(keys),
            _ => bail!("kube-runtime has no such thing"),
        }
    }
}

/// Requests reach the scheduler in batches of this size, as in a controller with many triggers.
const PORTION: usize = 1000;

type Requests = Pin<Box<dyn Stream<Item = ScheduleRequest<QueueKey>>>>;

struct Fed {
    scheduler: Pin<Box<Scheduler<QueueKey, Requests>>>,
    waiting: Rc<RefCell<VecDeque<ScheduleRequest<QueueKey>>>>,
    /// The due time of requests: the start, so that each is due at once.
    due: Instant,
}

impl Fed {
    fn new() -> Self {
        let waiting: Rc<RefCell<VecDeque<ScheduleRequest<QueueKey>>>> = Rc::default();
        let source = waiting.clone();
        let requests: Requests = Box::pin(futures::stream::poll_fn(move |_| {
            source.borrow_mut().pop_front().map_or(Poll::Pending, |request| Poll::Ready(Some(request)))
        }));
        let due = Instant::now();
        Self { scheduler: Box::pin(scheduler(requests)), waiting, due }
    }

    fn request(&self, key: &QueueKey, run_at: Instant) {
        self.waiting.borrow_mut().push_back(ScheduleRequest { message: key.clone(), run_at });
    }

    /// Accepts all waiting requests, and returns the next due key.
    fn pop(&mut self) -> Option<QueueKey> {
        match self.scheduler.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(key) => key,
            Poll::Pending => None,
        }
    }

    /// Accepts all waiting requests; due ones become pending.
    fn hold(&mut self) {
        let mut held = self.scheduler.as_mut().hold();
        let polled = Pin::new(&mut held).poll_next(&mut Context::from_waker(Waker::noop()));
        debug_assert!(polled.is_pending(), "what is held is not handed out");
    }

    fn hold_all(&mut self, keys: &[QueueKey]) {
        for portion in keys.chunks(PORTION) {
            portion.iter().for_each(|key| self.request(key, self.due));
            self.hold();
        }
    }

    fn pop_all(&mut self, n: usize) -> anyhow::Result<()> {
        for _ in 0..n {
            ensure!(self.pop().is_some(), "the scheduler kept a key that was due");
        }
        Ok(())
    }
}

/// Requests are due *now*, as those of `kube_runtime::Controller`. They wait for the timer's next
/// millisecond, which is latency and not cost: the clock is paused meanwhile.
fn add_pop(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, mut fed) = (keys::make(n), Fed::new());
    add_pop_once(&mut fed, &keys, &mut Lap::default())?;
    let mut lap = Lap::default();
    for _ in 0..passes {
        add_pop_once(&mut fed, &keys, &mut lap)?;
    }
    Ok(lap.per(passes * n))
}

fn add_pop_once(fed: &mut Fed, keys: &[QueueKey], lap: &mut Lap) -> anyhow::Result<()> {
    const TICK: Duration = Duration::from_millis(2);
    const TIMEOUT: usize = 1000;
    lap.start();
    keys.iter().for_each(|key| fed.request(key, Instant::now()));
    let mut popped = 0;
    for _ in 0..TIMEOUT {
        while fed.pop().is_some() {
            popped += 1;
        }
        lap.stop();
        if popped == keys.len() {
            return Ok(());
        }
        std::thread::sleep(TICK);
        lap.start();
    }
    bail!("the scheduler kept {} keys that were due", keys.len() - popped)
}

fn duplicate_add(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, visits, mut fed) = (keys::make(n), keys::order(n), Fed::new());
    fed.hold_all(&keys);
    let mut lap = Lap::started();
    for _ in 0..passes {
        for portion in visits.chunks(PORTION) {
            portion.iter().for_each(|&i| fed.request(&keys[i], fed.due));
            fed.hold();
        }
    }
    lap.stop();
    Ok(lap.per(passes * n))
}

fn delayed_add(n: usize, passes: usize, sooner: bool) -> anyhow::Result<Figures> {
    let (keys, waits, visits, mut fed) = (keys::make(n), keys::delays(n), keys::order(n), Fed::new());
    add_delayed(&mut fed, &keys, &waits);
    let mut lap = Lap::started();
    for pass in 0..passes {
        for portion in visits.chunks(PORTION) {
            for &i in portion {
                fed.request(&keys[i], Instant::now() + keys::readd(waits[i], sooner, pass, i));
            }
            fed.hold();
        }
    }
    lap.stop();
    Ok(lap.per(passes * n))
}

fn delayed_add_new(n: usize) -> anyhow::Result<Figures> {
    let (keys, waits, mut fed) = (keys::make(n), keys::delays(n), Fed::new());
    let mut lap = Lap::started();
    add_delayed(&mut fed, &keys, &waits);
    lap.stop();
    Ok(lap.per(n))
}

fn add_delayed(fed: &mut Fed, keys: &[QueueKey], waits: &[Duration]) {
    for (portion, waits) in keys.chunks(PORTION).zip(waits.chunks(PORTION)) {
        portion.iter().zip(waits).for_each(|(key, &wait)| fed.request(key, Instant::now() + wait));
        fed.hold();
    }
}

fn pop_pending(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, mut fed) = (keys::make(n), Fed::new());
    let mut lap = Lap::default();
    for _ in 0..passes {
        fed.hold_all(&keys);
        lap.start();
        fed.pop_all(n)?;
        lap.stop();
    }
    Ok(lap.per(passes * n))
}

fn bytes_per_key(n: usize) -> anyhow::Result<Figures> {
    let keys = keys::make(n);
    let before = memory::live();
    let mut fed = Fed::new();
    fed.hold_all(&keys);
    let bytes = count(memory::live().saturating_sub(before)) / count(n);
    fed.pop().ok_or_else(|| anyhow::anyhow!("the scheduler kept a key that was due"))?;
    Ok(Figures::default().with("bytes", bytes))
}
