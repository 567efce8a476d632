//! A program under test that is restarted after its crash.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep};

use super::crash_gate::CrashGate;
use crate::Plane;

/// Default deadline of a wait: above the time that anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Interval of checks of a condition.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// A program under test: the tasks of a plane, killed at the crash and started again with nothing
/// in memory.
pub struct CrashingProgram<S> {
    start: S,
    gate: Arc<CrashGate>,
    plane: Plane,
    restarts: usize,
    deadline: Duration,
}

/// A state that did not come.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not reached within {deadline:?}: {expected}; the program was restarted {restarts} times, and had \
     {effects} effects since its last start"
)]
pub struct NotReached {
    expected: String,
    deadline: Duration,
    restarts: usize,
    effects: usize,
}

impl<S: AsyncFn(Arc<CrashGate>) -> crate::Result<Plane>> CrashingProgram<S> {
    /// Starts the program. `start` returns its plane, behind the gate, as
    /// [`PlaneBuilder::crash_gate`](crate::PlaneBuilder::crash_gate) builds it; it is called again
    /// after the crash, with an open gate.
    ///
    /// # Errors
    /// As `start`.
    pub async fn start(gate: Arc<CrashGate>, start: S) -> crate::Result<Self> {
        let plane = start(gate.clone()).await?;
        Ok(Self { start, gate, plane, restarts: 0, deadline: DEADLINE })
    }

    /// Sets the deadline of [`until`](Self::until). Default: one minute.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Waits until a condition holds, and restarts the program if it crashes before that. `expected`
    /// describes the state in messages.
    ///
    /// # Errors
    /// [`NotReached`] at the deadline; or as `start`.
    pub async fn until(&mut self, expected: &str, condition: impl AsyncFn() -> bool) -> crate::Result {
        let end = Instant::now() + self.deadline;
        loop {
            if self.gate.has_crashed() {
                self.restart().await?;
            }
            if condition().await && !self.gate.has_crashed() {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(self.not_reached(expected.into()).into());
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Waits until the program has had no effect for a time; long enough for a retry, which costs
    /// nothing on a paused clock.
    ///
    /// # Errors
    /// [`NotReached`] at the deadline, or as `start`.
    pub async fn until_quiet(&mut self, quiet: Duration) -> crate::Result {
        let end = Instant::now() + self.deadline + quiet;
        loop {
            if self.gate.has_crashed() {
                self.restart().await?;
            }
            let (gate, before) = (self.gate.clone(), self.gate.effects());
            sleep(quiet).await;
            if gate.effects() == before && !gate.has_crashed() {
                return Ok(());
            }
            if Instant::now() >= end {
                let last = gate.name(gate.effects()).unwrap_or_default();
                return Err(self
                    .not_reached(format!("{quiet:?} without an effect; the last one is {last:?}"))
                    .into());
            }
        }
    }

    /// Kills the program and starts it again, as after a crash.
    ///
    /// # Errors
    /// As `start`.
    pub async fn restart(&mut self) -> crate::Result {
        self.plane.kill().await;
        self.gate = CrashGate::open();
        self.restarts += 1;
        self.plane = (self.start)(self.gate.clone()).await?;
        Ok(())
    }

    /// Returns the plane of the running program. A restart replaces it.
    pub const fn plane(&self) -> &Plane {
        &self.plane
    }

    /// Returns the number of restarts.
    pub const fn restarts(&self) -> usize {
        self.restarts
    }

    /// Stops the program in order.
    pub async fn stop(self) {
        self.plane.stop().await;
    }

    fn not_reached(&self, expected: String) -> NotReached {
        let (restarts, effects) = (self.restarts, self.gate.effects());
        NotReached { expected, deadline: self.deadline, restarts, effects }
    }
}

impl<S> fmt::Debug for CrashingProgram<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrashingProgram").field("restarts", &self.restarts).finish_non_exhaustive()
    }
}
