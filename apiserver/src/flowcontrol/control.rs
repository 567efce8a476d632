//! Queues and seats of running requests: the shell of [`Seats`].

use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_sync::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::seat::Seat;
use super::seats::{Arrival, LevelCounts, Seats};
use super::{Flow, PriorityLevel};
use crate::metrics::FlowCounters;

/// Executes requests on a limited number of seats.
pub(crate) struct FlowControl {
    state: Mutex<ControlState>,
    queue_time: Duration,
    counters: FlowCounters,
}

/// Limits of one instance of flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowLimits {
    /// Requests that are executed at the same time.
    pub(crate) seats: usize,
    /// Requests that are queued, executed or waiting.
    pub(crate) places: usize,
    /// Timeout in a queue.
    pub(crate) queue_time: Duration,
}

struct ControlState {
    seats: Seats,
    /// Wakes queued requests, by number.
    queued: HashMap<u64, oneshot::Sender<()>, FixedState>,
}

/// The reason that a request is not executed, by its name in Kubernetes' metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    QueueFull,
    ConcurrencyLimit,
    TimeOut,
}

/// A request in a queue. If it is dropped, it leaves the queue, or gives its seat back.
struct QueuedRequest {
    control: Arc<FlowControl>,
    flow: Flow,
    number: u64,
    is_settled: bool,
}

impl FlowControl {
    pub(crate) fn new(limits: &FlowLimits, counters: FlowCounters, seed: FixedState) -> Self {
        let FlowLimits { seats, places, queue_time } = *limits;
        let seats = Seats::new(seats, places, seed.clone());
        let state = ControlState { seats, queued: HashMap::with_hasher(seed) };
        Self { state: Mutex::new(state), queue_time, counters }
    }

    /// Waits for a seat, up to the limit of time. If the future is dropped, the request has left.
    pub(crate) async fn enter(self: &Arc<Self>, flow: Flow) -> Result<Seat, Rejection> {
        let level = flow.level;
        let arrived = self.arrive(flow);
        let arrived = arrived.inspect_err(|why| self.counters.rejected(level, why.name()))?;
        let Some((mut queued, seated)) = arrived else {
            self.counters.dispatched(level, Duration::ZERO);
            return Ok(Seat::new(self.clone(), flow));
        };
        let began = Instant::now();
        let _ = timeout(self.queue_time, seated).await;
        queued.is_settled = true;
        // At the deadline, too, it may have a seat.
        if self.leave(flow, queued.number) {
            self.counters.waited(level, began.elapsed());
            self.counters.rejected(level, Rejection::TimeOut.name());
            return Err(Rejection::TimeOut);
        }
        self.counters.dispatched(level, began.elapsed());
        Ok(Seat::new(self.clone(), flow))
    }

    /// Returns none if the request has a seat, otherwise its place in a queue.
    fn arrive(
        self: &Arc<Self>,
        flow: Flow,
    ) -> Result<Option<(QueuedRequest, oneshot::Receiver<()>)>, Rejection> {
        let mut state = self.state.lock();
        let number = match state.seats.arrive(flow) {
            Arrival::Executing => return Ok(None),
            Arrival::Queued(number) => number,
            Arrival::QueueFull => return Err(Rejection::QueueFull),
            Arrival::ConcurrencyLimit => return Err(Rejection::ConcurrencyLimit),
        };
        let (wakes, seated) = oneshot::channel();
        state.queued.insert(number, wakes);
        Ok(Some((QueuedRequest { control: self.clone(), flow, number, is_settled: false }, seated)))
    }

    /// Removes a request from its queue. Returns false if it has a seat.
    fn leave(&self, flow: Flow, number: u64) -> bool {
        let mut state = self.state.lock();
        state.queued.remove(&number);
        state.seats.leave(flow, number)
    }

    /// Changes the seats and then, without the lock, wakes the requests that have one now.
    pub(super) fn update(&self, change: impl FnOnce(&mut Seats)) {
        let mut seated = Vec::new(); // most changes seat no queued request and allocate nothing
        {
            let mut state = self.state.lock();
            change(&mut state.seats);
            while let Some(number) = state.seats.seat_next() {
                seated.extend(state.queued.remove(&number));
            }
        }
        for wakes in seated {
            let _ = wakes.send(()); // a request that was dropped has given its seat back
        }
    }

    /// Exports the counts of all levels.
    pub(crate) fn export(&self) {
        let counts: [(PriorityLevel, LevelCounts); PriorityLevel::ALL.len()] = {
            let state = self.state.lock();
            PriorityLevel::ALL.map(|level| (level, state.seats.counts(level)))
        };
        for (level, counts) in counts {
            self.counters.export(level, &counts);
        }
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        self.control.counters.rejected(self.flow.level, "cancelled");
        if !self.control.leave(self.flow, self.number) {
            self.control.update(|seats| seats.finish(self.flow, false));
        }
    }
}

impl Rejection {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::TimeOut => "time-out",
        }
    }
}
