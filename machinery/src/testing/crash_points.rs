//! Runs a scenario with a crash at each of its points.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use thiserror::Error;
use tokio::time;

use super::crash_gate::CrashGate;
use super::crash_point::CrashPoint;
use super::panic_message;

/// Default limit of one run of a scenario.
const RUN_TIME: Duration = Duration::from_secs(120);

/// The points of a scenario at which its component is crashed: all, or a share of them.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct CrashPoints {
    one_in: u64,
    seed: u64,
    run_time: Duration,
}

/// The runs of a scenario, none of which failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrashReport {
    /// The names of the effects without a crash, in order.
    pub effects: Vec<String>,
    /// Number of runs with a crash.
    pub crashes: usize,
    /// Number of runs that had fewer effects than the first one, and so no crash. More than a few
    /// are a scenario whose effects depend on time.
    pub missed: usize,
}

/// A run of a scenario failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrashFailure {
    /// The scenario returned an error.
    #[error("the scenario failed {run}")]
    Failed {
        /// The run.
        run: CrashRun,
        /// The error.
        source: crate::Error,
    },
    /// The scenario panicked.
    #[error("the scenario panicked {run}: {message}")]
    Panicked {
        /// The run.
        run: CrashRun,
        /// The message of the panic.
        message: String,
    },
    /// The scenario did not end in time.
    #[error("the scenario did not end within {limit:?} {run}: wait with a deadline that names the state")]
    TimedOut {
        /// The run.
        run: CrashRun,
        /// The limit, [`CrashPoints::run_time`].
        limit: Duration,
    },
    /// No effect passed the gate.
    #[error("no effect passed the gate: start the component's plane with `crash_gate`, or call `pass`")]
    NoEffects,
    /// Each run had more effects than the one before.
    #[error("{effects} effects and still more: the component never comes to rest")]
    Endless {
        /// Number of effects so far.
        effects: usize,
    },
}

/// A run of a scenario, as shown in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashRun {
    /// The point of the crash; `None` for the first run, which has none.
    pub point: Option<CrashPoint>,
    /// The name of the effect at that point, if the run got there.
    pub effect: Option<String>,
}

impl CrashPoints {
    /// Before and after every effect.
    pub const fn all() -> Self {
        Self { one_in: 1, seed: 0, run_time: RUN_TIME }
    }

    /// A share of the points, chosen by a seed: about one in this number.
    pub fn one_in(number: u64, seed: u64) -> Self {
        Self { one_in: number.max(1), seed, run_time: RUN_TIME }
    }

    /// Sets the limit of one run of the scenario. Default: two minutes.
    pub const fn run_time(self, limit: Duration) -> Self {
        Self { run_time: limit, ..self }
    }

    /// Runs a scenario without a crash, and then once for each point. The scenario passes the gate
    /// to the component, restarts the component after a crash (see
    /// [`CrashingProgram`](super::CrashingProgram)) and checks that the state converges; it starts
    /// from nothing each time.
    ///
    /// Effects that a crashed run has in addition are enumerated too.
    ///
    /// # Errors
    /// A run fails, panics or does not end; the error names its crash point. The scenario has no
    /// effects.
    pub async fn run(
        self,
        scenario: impl AsyncFn(Arc<CrashGate>) -> crate::Result,
    ) -> Result<CrashReport, CrashFailure> {
        let first = self.run_once(&scenario, None).await?;
        let effects: Vec<_> = (1..=first.effects()).map_while(|effect| first.name(effect)).collect();
        let mut report = CrashReport { effects, crashes: 0, missed: 0 };
        let mut known = first.effects();
        if known == 0 {
            return Err(CrashFailure::NoEffects);
        }
        let limit = 10 * known + 100;
        for effect in 1.. {
            for point in [CrashPoint::before(effect), CrashPoint::after(effect)] {
                if !self.includes(point) {
                    continue;
                }
                let gate = self.run_once(&scenario, Some(point)).await?;
                match gate.has_crashed() {
                    true => report.crashes += 1,
                    false if effect > known => {}
                    false => report.missed += 1,
                }
                known = known.max(gate.effects());
            }
            if effect > known || (self.one_in > 1 && effect == known) {
                return Ok(report);
            }
            if effect > limit {
                return Err(CrashFailure::Endless { effects: effect });
            }
        }
        Ok(report)
    }

    async fn run_once(
        &self,
        scenario: impl AsyncFn(Arc<CrashGate>) -> crate::Result,
        point: Option<CrashPoint>,
    ) -> Result<Arc<CrashGate>, CrashFailure> {
        let gate = point.map_or_else(CrashGate::open, CrashGate::crashing);
        let running = AssertUnwindSafe(scenario(gate.clone())).catch_unwind();
        let ended = time::timeout(self.run_time, running).await;
        let run = || CrashRun { point, effect: point.and_then(|point| gate.name(point.effect)) };
        match ended {
            Ok(Ok(Ok(()))) => Ok(gate),
            Ok(Ok(Err(source))) => Err(CrashFailure::Failed { run: run(), source }),
            Ok(Err(panic)) => Err(CrashFailure::Panicked { run: run(), message: panic_message::of(&*panic) }),
            Err(_) => Err(CrashFailure::TimedOut { run: run(), limit: self.run_time }),
        }
    }

    fn includes(&self, point: CrashPoint) -> bool {
        let number = 2 * point.effect as u64 + point.side as u64;
        mix(self.seed ^ mix(number)).is_multiple_of(self.one_in)
    }
}

/// SplitMix64: spreads neighbouring numbers evenly.
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl fmt::Display for CrashRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.point, &self.effect) {
            (None, _) => f.write_str("without a crash"),
            (Some(point), Some(effect)) => write!(f, "with a crash {point}, {effect:?}"),
            (Some(point), None) => write!(f, "which did not reach the crash {point}"),
        }
    }
}
