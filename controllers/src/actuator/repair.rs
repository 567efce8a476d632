//! Repairs: when one is due, and the comparison.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::batch::Progress;
use super::call::{contained, limited};
use super::shared::{ErrorOf, FoundOf, Shared};
use super::{
    ActuatorError, ActuatorPort, Disturbance, ItemFailure, PortFailure, RepairOutcome, RepairReport,
    RepairRequest,
};

impl<P: ActuatorPort + ?Sized> Shared<P> {
    /// Lists the existing items, until it succeeds.
    pub(super) async fn load(&self) {
        loop {
            match self.list().await {
                Ok(listed) => return self.take_list(listed),
                Err(failure) => self.degrade(failure),
            }
            self.gate_opens().await;
        }
    }

    fn take_list(&self, listed: Vec<FoundOf<P>>) {
        {
            let mut state = self.state.lock();
            let due = state.ledger.load(listed);
            state.is_loaded = true;
            for key in &due {
                state.enqueue(key, Duration::ZERO);
            }
        }
        self.recover();
        self.changed();
    }

    /// Waits for disturbances. Never returns.
    pub(super) async fn watch(&self) {
        // Also for a port that reports without end.
        let pause = self.settings.settle.0.max(Duration::from_millis(1));
        loop {
            match contained(|| self.port.disturbed()).await {
                Ok(disturbance) => {
                    self.disturb(disturbance);
                    sleep(pause).await;
                }
                Err(text) => {
                    let failure = PortFailure::<ErrorOf<P>>::Panicked { call: "disturbed", text };
                    tracing::warn!(actuator = %self.name, %failure, "drift is found by the timer only for now");
                    sleep(self.settings.backoff.1.max(pause)).await;
                }
            }
        }
    }

    /// Records a disturbance, which is also a reason to try a degraded port again.
    fn disturb(&self, disturbance: Disturbance) {
        let now = Instant::now();
        {
            let mut state = self.state.lock();
            state.gate.shorten(now);
            state.disturbance = Some(match state.disturbance {
                Some((since, Disturbance::Changed)) => (since, disturbance),
                Some(restarted) => restarted,
                None => (now, disturbance),
            });
        }
        self.gate_moved.notify_all();
        self.repair_due.notify_all();
    }

    /// Repairs after disturbances, requests, and periodically. Never returns.
    pub(super) async fn repair_when_due(self: &Arc<Self>) {
        let (mut settle, mut timer) = (self.settings.settle.0, Instant::now() + self.settings.interval);
        loop {
            self.repair_is_due(settle, timer).await;
            let (began, waiters) = {
                let mut state = self.state.lock();
                state.disturbance = None;
                (Instant::now(), std::mem::take(&mut state.repair_waiters))
            };
            let result = self.repair_once().await;
            let (least, longest) = self.settings.settle;
            settle = (began.elapsed() * 10).clamp(least, longest.max(least));
            timer = Instant::now() + self.settings.interval;
            match &result {
                Ok(report) => self.repaired(report),
                Err(failure) => self.degrade(failure.clone()),
            }
            for waiter in waiters {
                let _ = waiter.send(result.clone().map_err(ActuatorError::Port));
            }
        }
    }

    fn repaired(&self, report: &RepairReport) {
        self.recover();
        if report.total() > 0 {
            tracing::warn!(actuator = %self.name, changes = %report, "differences were found and are repaired");
        }
        {
            let mut state = self.state.lock();
            for (kind, number) in &report.changes {
                *state.repairs.entry(kind).or_default() += *number as u64;
            }
        }
        self.changed();
    }

    /// Waits until a repair is due.
    async fn repair_is_due(&self, settle: Duration, timer: Instant) {
        loop {
            let changed = self.repair_due.listen();
            let until = {
                let state = self.state.lock();
                if !state.repair_waiters.is_empty() {
                    return;
                }
                let disturbed = state.disturbance.map(|(since, disturbance)| match disturbance {
                    Disturbance::Changed => since + settle,
                    Disturbance::Restarted => since,
                });
                let at = disturbed.map_or(timer, |at| at.min(timer));
                // A failed port is tried again by a repair.
                match (state.gate.failure(), state.gate.until(Instant::now())) {
                    (None, _) => at,
                    (Some(_), Some(until)) => until,
                    (Some(_), None) => return,
                }
            };
            tokio::select! {
                biased;
                () = sleep_until(until) => return,
                () = changed => {}
            }
        }
    }

    async fn repair_once(&self) -> Result<RepairReport, PortFailure<ErrorOf<P>>> {
        let (failed, since) = {
            let state = self.state.lock();
            let failed = state.ledger.broken().into_iter().filter_map(|(key, broken)| match broken.failure {
                ItemFailure::Failed(error) => Some((key, error)),
                _ => None,
            });
            (failed.collect(), state.ledger.now())
        };
        let request = RepairRequest { failed, progress: Progress::default() };
        let limit = (self.settings.time_limit, &request.progress);
        match limited("repair", limit, || self.port.repair(&request)).await? {
            RepairOutcome::Repaired { changes, broken } => {
                let mut state = self.state.lock();
                let (due, _) = state.ledger.repaired(broken, since);
                for key in &due {
                    state.enqueue(key, self.settings.backoff.0);
                }
                Ok(RepairReport::of(changes))
            }
            RepairOutcome::Compare => {
                let listed = self.list().await?;
                let mut state = self.state.lock();
                let found = state.ledger.compare(listed, since);
                for (key, repairs) in &found.due {
                    state.enqueue(key, self.delay(*repairs));
                }
                Ok(RepairReport::of([
                    ("missing", found.missing),
                    ("changed", found.changed),
                    ("undesired", found.undesired),
                ]))
            }
        }
    }

    async fn list(&self) -> Result<Vec<FoundOf<P>>, PortFailure<ErrorOf<P>>> {
        let progress = Progress::default();
        let listed = limited("list", (self.settings.time_limit, &progress), || self.port.list()).await?;
        if listed.len() > self.settings.items {
            return Err(PortFailure::TooMany { found: listed.len(), limit: self.settings.items });
        }
        Ok(listed)
    }
}
