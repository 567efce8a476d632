//! Properties of [`Seats`] over random histories, and of its shell.

use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use futures::FutureExt as _;
use proptest::prelude::*;
use tokio::time::{advance, pause};

use super::seats::{Arrival, Seats};
use super::{Flow, FlowControl, FlowLimits, PriorityLevel, Rejection, without_seat};
use crate::metrics::FlowCounters;

/// A request of the naive model.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ModelRequest {
    flow: Flow,
    state: ModelState,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ModelState {
    Queued(u64),
    /// With or without a debt: a request that resumed without a free seat.
    Executing,
    Waiting,
}

#[derive(Clone, Copy, Debug)]
enum SeatStep {
    Arrive {
        level: usize,
        user: u64,
    },
    Suspend(usize),
    Resume(usize),
    /// Ends a request in any state.
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<SeatStep>> {
    let step = prop_oneof![
        4 => (0..5_usize, 0..4_u64).prop_map(|(level, user)| SeatStep::Arrive { level, user }),
        1 => any::<usize>().prop_map(SeatStep::Suspend),
        1 => any::<usize>().prop_map(SeatStep::Resume),
        3 => any::<usize>().prop_map(SeatStep::End),
    ];
    prop::collection::vec(step, 0..400)
}

/// Seats with a list of all requests beside them.
struct Model {
    seats: Seats,
    size: usize,
    places: usize,
    requests: Vec<ModelRequest>,
    /// Resumed requests that may exceed the seats.
    resumed: usize,
}

impl Model {
    fn new(size: usize, places: usize) -> Self {
        let seats = Seats::new(size, places, FixedState::with_seed(3));
        Self { seats, size, places, requests: Vec::new(), resumed: 0 }
    }

    fn count(&self, is: impl Fn(&ModelRequest) -> bool) -> usize {
        self.requests.iter().filter(|request| is(request)).count()
    }

    fn executing(&self, level: PriorityLevel) -> usize {
        self.count(|request| request.flow.level == level && request.state == ModelState::Executing)
    }

    fn nth(&self, at: usize, is: impl Fn(ModelState) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.requests.len()).filter(|at| is(self.requests[*at].state)).collect();
        (!found.is_empty()).then(|| found[at % found.len()])
    }

    fn step(&mut self, step: SeatStep) {
        match step {
            SeatStep::Arrive { level, user } => self.arrive(Flow::test(PriorityLevel::ALL[level], user)),
            SeatStep::Suspend(at) => {
                if let Some(at) = self.nth(at, |state| state == ModelState::Executing) {
                    self.seats.suspend(self.requests[at].flow);
                    self.requests[at].state = ModelState::Waiting;
                }
            }
            SeatStep::Resume(at) => {
                if let Some(at) = self.nth(at, |state| state == ModelState::Waiting) {
                    self.seats.resume(self.requests[at].flow);
                    self.requests[at].state = ModelState::Executing;
                    self.resumed += 1;
                }
            }
            SeatStep::End(at) => {
                if let Some(at) = self.nth(at, |_| true) {
                    let ModelRequest { flow, state } = self.requests.swap_remove(at);
                    match state {
                        ModelState::Queued(number) => assert!(self.seats.leave(flow, number), "it waits"),
                        ModelState::Executing => self.seats.finish(flow, false),
                        ModelState::Waiting => self.seats.finish(flow, true),
                    }
                }
            }
        }
        while self.dispatch() {}
        self.check();
    }

    fn arrive(&mut self, flow: Flow) {
        let held = self.count(|request| request.flow == flow);
        let free = self.places - self.requests.len();
        let state = match self.seats.arrive(flow) {
            Arrival::Executing => ModelState::Executing,
            Arrival::Queued(number) => ModelState::Queued(number),
            Arrival::QueueFull => {
                assert!(held + 1 > free.saturating_sub(self.places / 20), "{held} of {free} is a fair share");
                return;
            }
            Arrival::ConcurrencyLimit => unreachable!("there are seats"),
        };
        self.requests.push(ModelRequest { flow, state });
    }

    /// Gives away a seat, and checks that it is the right request's.
    fn dispatch(&mut self) -> bool {
        let before: Vec<_> =
            PriorityLevel::ALL.map(|level| (self.executing(level), self.seats.counts(level))).into();
        let Some(number) = self.seats.seat_next() else { return false };
        let at = self.nth(0, |state| state == ModelState::Queued(number)).expect("a queued request");
        let ModelRequest { flow, .. } = self.requests[at];
        let same = |request: &ModelRequest| request.flow == flow;
        let earlier =
            |request: &ModelRequest| matches!(request.state, ModelState::Queued(other) if other < number);
        assert_eq!(self.count(|request| same(request) && earlier(request)), 0, "first in, first out");
        let (mine, counts) = before[flow.level as usize];
        let over = mine >= counts.nominal;
        let needs = |at: usize| before[at].1.queued > 0 && before[at].0 < before[at].1.nominal;
        let other = (0..before.len()).find(|at| *at != flow.level as usize && needs(*at));
        assert!(!over || other.is_none(), "{flow:?} borrows, while {other:?} needs its own seats");
        self.requests[at].state = ModelState::Executing;
        true
    }

    fn check(&mut self) {
        let executing = self.count(|request| request.state == ModelState::Executing);
        let counts = PriorityLevel::ALL.map(|level| self.seats.counts(level));
        let kept: usize =
            counts.iter().map(|counts| counts.guaranteed.saturating_sub(counts.executing)).sum();
        if executing + kept <= self.size {
            self.resumed = 0;
        }
        assert!(executing + kept <= self.size + self.resumed, "{executing} are executed, {kept} kept");
        assert!(self.requests.len() <= self.places, "{} have a place", self.requests.len());
        for level in PriorityLevel::ALL {
            let counts = self.seats.counts(level);
            let in_level = |request: &ModelRequest| request.flow.level == level;
            let queued =
                self.count(|request| in_level(request) && matches!(request.state, ModelState::Queued(_)));
            let waiting = self.count(|request| in_level(request) && request.state == ModelState::Waiting);
            assert_eq!(
                (counts.queued, counts.executing, counts.waiting),
                (queued, self.executing(level), waiting)
            );
            assert!(queued == 0 || !self.seats.can_execute(level), "a seat is free, and {level:?} is queued");
            assert!(queued == 0 || counts.executing >= counts.guaranteed, "{level:?} has its guarantee");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// No more requests than seats and places, no free seat beside a queue, guarantees are kept,
    /// lent seats return first, and nothing stays behind.
    #[test]
    fn seats_are_bounded_used_and_returned(size in 1..40_usize, places in 1..120_usize, steps in steps()) {
        let mut model = Model::new(size, places);
        for step in steps {
            model.step(step);
        }
        while !model.requests.is_empty() {
            model.step(SeatStep::End(0));
        }
        prop_assert!(model.seats.is_empty());
    }

    /// The first request of a flow is executed after at most one of each other flow of its level,
    /// however many they queue and whichever end.
    #[test]
    fn no_flow_starves(
        others in 1..12_u64, backlog in 1..20_usize, ends in prop::collection::vec(any::<usize>(), 200),
    ) {
        let mut model = Model::new(8, 100_000);
        let flow = |user| Flow::test(PriorityLevel::WorkloadLow, user);
        for user in 0..others {
            for _ in 0..backlog + 8 {
                model.arrive(flow(user));
            }
        }
        let polite = flow(1000);
        model.arrive(polite);
        let mut dispatched = 0;
        for end in ends {
            if model.seats.of(polite)[1] == 1 {
                break;
            }
            // Each end of a request is followed by another request of its user.
            let at = model.nth(end, |state| state == ModelState::Executing).expect("all seats are used");
            let ModelRequest { flow, .. } = model.requests.swap_remove(at);
            model.seats.finish(flow, false);
            model.arrive(flow);
            while model.dispatch() {
                dispatched += 1;
            }
        }
        prop_assert_eq!(model.seats.of(polite)[1], 1, "after {} others", dispatched);
        prop_assert!(dispatched <= others + 1, "after {} others", dispatched);
    }
}

/// The seats of a server with four hundred: users of one level borrow, and get back.
#[test]
fn a_level_borrows_free_seats_and_returns_them() {
    let mut model = Model::new(400, 100_000);
    let [ann, robot] =
        [PriorityLevel::GlobalDefault, PriorityLevel::WorkloadLow].map(|level| Flow::test(level, 1));
    for _ in 0..1000 {
        model.arrive(ann);
    }
    let nominal = model.seats.counts(PriorityLevel::GlobalDefault).nominal;
    let borrowed = model.executing(PriorityLevel::GlobalDefault) - nominal;
    assert!(borrowed > 100, "{borrowed} are borrowed");
    for _ in 0..500 {
        model.arrive(robot);
    }
    for _ in 0..borrowed {
        let at = model
            .requests
            .iter()
            .position(|request| request.flow == ann && request.state == ModelState::Executing)
            .expect("there are many");
        model.requests.swap_remove(at);
        model.seats.finish(ann, false);
        while model.dispatch() {}
    }
    model.check();
    let counts = model.seats.counts(PriorityLevel::WorkloadLow);
    assert!(counts.executing >= counts.nominal, "{counts:?}");
}

/// A viewer with waiting requests left no seat to others.
#[test]
fn waiting_requests_hold_no_seat() {
    let mut model = Model::new(10, 1000);
    let viewer = Flow::test(PriorityLevel::GlobalDefault, 1);
    for _ in 0..200 {
        model.step(SeatStep::Arrive { level: PriorityLevel::GlobalDefault as usize, user: 1 });
        model.step(SeatStep::Suspend(0));
    }
    assert_eq!(model.seats.of(viewer), [0, 0, 200]);
    model.arrive(Flow::test(PriorityLevel::GlobalDefault, 2));
    assert_eq!(model.executing(PriorityLevel::GlobalDefault), 1);
}

fn control(in_flight: usize) -> Arc<FlowControl> {
    let limits = FlowLimits { seats: in_flight, places: 4096, queue_time: Duration::from_secs(15) };
    Arc::new(FlowControl::new(&limits, FlowCounters::default(), FixedState::with_seed(1)))
}

const ANN: Flow = Flow::test(PriorityLevel::GlobalDefault, 1);

#[tokio::test]
async fn a_dropped_request_leaves_its_queue_or_its_seat() {
    let control = control(1);
    let first = control.enter(ANN).await.expect("a free seat");
    let mut second = Box::pin(control.enter(ANN));
    let mut third = Box::pin(control.enter(ANN));
    assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
    drop(first); // the second request has the seat now, without having been polled
    drop(second);
    let third = third.await.expect("the seat of the second one");
    let mut fourth = Box::pin(control.enter(ANN));
    assert!(fourth.as_mut().now_or_never().is_none());
    drop(fourth);
    drop(third);
    control.update(|seats| assert!(seats.is_empty()));
}

#[tokio::test]
async fn a_request_is_rejected_after_its_time_in_the_queue() {
    pause();
    let control = control(1);
    let seat = control.enter(ANN).await.expect("a free seat");
    let mut late = Box::pin(control.enter(ANN));
    assert!(late.as_mut().now_or_never().is_none());
    advance(Duration::from_secs(14)).await;
    assert!(late.as_mut().now_or_never().is_none());
    advance(Duration::from_secs(2)).await;
    assert!(matches!(late.await, Err(Rejection::TimeOut)));
    drop(seat);
    control.update(|seats| assert!(seats.is_empty()));
}

#[tokio::test]
async fn overlapping_waits_give_up_the_seat_once() {
    let control = control(1);
    let seat = control.enter(ANN).await.expect("a free seat");
    let of = |control: &Arc<FlowControl>| {
        let mut counts = [0; 3];
        control.update(|seats| counts = seats.of(ANN));
        counts
    };
    let (first, second) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let mut work = Box::pin(seat.run(async {
        futures::join!(without_seat(first.notified()), without_seat(second.notified()));
        assert_eq!(of(&control), [0, 1, 0], "it works again");
        without_seat(std::future::pending::<()>()).await;
    }));
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(of(&control), [0, 0, 1]);
    first.notify_one();
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(of(&control), [0, 0, 1], "the other wait goes on");
    second.notify_one();
    assert!(work.as_mut().now_or_never().is_none());
    assert_eq!(of(&control), [0, 0, 1], "it waits again");
    drop(work);
    control.update(|seats| assert!(seats.is_empty()));
}
