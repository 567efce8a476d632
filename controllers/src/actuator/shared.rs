//! The state that callers and the running actuator share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_sync::{Mutex, Notify};
use machinery_workqueue::Queue;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::gate::PortGate;
use super::ledger::Ledger;
use super::turns::KeyTurns;
use super::{
    ActuatorError, ActuatorPort, ActuatorSettings, Disturbance, FoundItem, ItemChange, ItemFailure,
    PortFailure, RepairReport,
};

pub(super) type KeyOf<P> = <P as ActuatorPort>::Key;
pub(super) type ItemOf<P> = <P as ActuatorPort>::Item;
pub(super) type ErrorOf<P> = <P as ActuatorPort>::Error;
pub(super) type CallError<P> = ActuatorError<ItemOf<P>, ErrorOf<P>>;
pub(super) type FoundOf<P> = FoundItem<KeyOf<P>, ItemOf<P>, ErrorOf<P>>;
pub(super) type ChangeOf<P> = ItemChange<KeyOf<P>, ItemOf<P>>;
/// A caller that waits for an attempt.
pub(super) type Waiter<P> = oneshot::Sender<Result<(), CallError<P>>>;
/// A caller that waits for a repair.
pub(super) type RepairWaiter<P> = oneshot::Sender<Result<RepairReport, CallError<P>>>;

pub(super) struct Shared<P: ActuatorPort + ?Sized> {
    pub(super) name: Box<str>,
    pub(super) port: Arc<P>,
    pub(super) settings: ActuatorSettings,
    pub(super) turns: KeyTurns<KeyOf<P>>,
    pub(super) state: Mutex<State<P>>,
    /// Counts changes of the state that [`status`](super::Actuator::status) shows.
    pub(super) version: watch::Sender<u64>,
    /// A repair may be due.
    pub(super) repair_due: Notify,
    /// The gate has opened or its time was shortened.
    pub(super) gate_moved: Notify,
    /// The last unclaimed item was claimed.
    pub(super) all_claimed: Notify,
}

/// The state under the lock, which is held for no await and no call of the port.
pub(super) struct State<P: ActuatorPort + ?Sized> {
    pub(super) ledger: Ledger<KeyOf<P>, ItemOf<P>, ErrorOf<P>>,
    pub(super) gate: PortGate<ErrorOf<P>>,
    /// The queue of keys with a due change; `None` while the actuator does not run.
    pub(super) queue: Option<Queue<KeyOf<P>>>,
    pub(super) is_loaded: bool,
    pub(super) has_stopped: bool,
    /// Callers that wait for the next attempt of a key.
    pub(super) waiting: BTreeMap<KeyOf<P>, Vec<Waiter<P>>>,
    /// Callers of the attempts in flight.
    pub(super) attempted: BTreeMap<KeyOf<P>, Vec<Waiter<P>>>,
    pub(super) disturbance: Option<(Instant, Disturbance)>,
    pub(super) repair_waiters: Vec<RepairWaiter<P>>,
    pub(super) repairs: BTreeMap<&'static str, u64>,
}

impl<P: ActuatorPort + ?Sized> Shared<P> {
    pub(super) fn new(name: &str, port: Arc<P>, settings: ActuatorSettings) -> Self {
        let state = State {
            ledger: Ledger::new(settings.items),
            gate: PortGate::new(settings.backoff),
            queue: None,
            is_loaded: false,
            has_stopped: false,
            waiting: BTreeMap::new(),
            attempted: BTreeMap::new(),
            disturbance: None,
            repair_waiters: Vec::new(),
            repairs: BTreeMap::new(),
        };
        Self {
            name: name.into(),
            port,
            settings,
            turns: KeyTurns::new(),
            state: Mutex::new(state),
            version: watch::Sender::new(0),
            repair_due: Notify::new(),
            gate_moved: Notify::new(),
            all_claimed: Notify::new(),
        }
    }

    /// Notifies the readers of the status.
    pub(super) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    pub(super) fn stopped(&self) -> CallError<P> {
        ActuatorError::Stopped { name: self.name.clone() }
    }

    /// Records a failure of the port. Callers that wait for an attempt get it.
    pub(super) fn degrade(&self, failure: PortFailure<ErrorOf<P>>) {
        let mut state = self.state.lock();
        let is_news = state.gate.close(Instant::now(), failure.clone());
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if is_news {
            tracing::warn!(actuator = %self.name, %failure, "the port is degraded; retrying");
            self.changed();
        }
        for waiter in waiting.into_values().flatten() {
            let _ = waiter.send(Err(ActuatorError::Port(failure.clone())));
        }
    }

    /// Records a success of the port.
    pub(super) fn recover(&self) {
        let was_closed = self.state.lock().gate.open();
        if was_closed {
            tracing::info!(actuator = %self.name, "the port works again");
            self.gate_moved.notify_all();
            self.repair_due.notify_all();
            self.changed();
        }
    }

    /// Waits until the gate permits an attempt.
    pub(super) async fn gate_opens(&self) {
        loop {
            let moved = self.gate_moved.listen();
            let until = self.state.lock().gate.until(Instant::now());
            let Some(until) = until else { return };
            tokio::select! {
                biased;
                () = moved => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Returns the wait before the repair of an item that others keep changing, or that broke.
    pub(super) fn delay(&self, repairs: u32) -> Duration {
        let (first, longest) = self.settings.backoff;
        match repairs.checked_sub(super::compare::UNSTABLE) {
            None => Duration::ZERO,
            Some(more) => first.saturating_mul(1 << more.min(16)).min(longest),
        }
    }
}

impl<P: ActuatorPort + ?Sized> State<P> {
    /// Queues a key with a due change.
    pub(super) fn enqueue(&self, key: &KeyOf<P>, delay: Duration) {
        // Full only beyond the limit of items; closed when the actuator stops.
        if let Some(queue) = &self.queue {
            let _ = queue.add_after(key.clone(), delay);
        }
    }

    /// Ends the callers of an attempt.
    pub(super) fn respond(&mut self, key: &KeyOf<P>, result: Result<(), ItemFailure<ErrorOf<P>>>) {
        for waiter in self.attempted.remove(key).into_iter().flatten() {
            let _ = waiter.send(result.clone().map_err(ActuatorError::Item));
        }
    }

    /// Takes the callers of a key into the attempt that begins.
    pub(super) fn attempt(&mut self, key: &KeyOf<P>) {
        if let Some(waiting) = self.waiting.remove(key) {
            self.attempted.entry(key.clone()).or_default().extend(waiting);
        }
    }

    /// Lets the callers of an attempt wait for the next one.
    pub(super) fn attempt_again(&mut self, key: &KeyOf<P>) {
        if let Some(attempted) = self.attempted.remove(key) {
            self.waiting.entry(key.clone()).or_default().extend(attempted);
        }
    }
}
