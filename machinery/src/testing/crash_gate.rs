//! The crash gate: counts the effects of a component, and simulates a crash at one of them.

use std::future::{Future, pending};
use std::sync::Arc;

use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::crash_point::{CrashPoint, CrashSide};

/// Number of effects whose names are kept, for messages.
const NAMES: usize = 10_000;

/// Counts the effects of a component, and simulates a crash of it before or after one of them.
///
/// An effect is anything that outlives the component: a write to an API server, a REST call, a
/// transaction on a switch, a file. After the crash no effect begins and no response arrives: its
/// callers wait until they are dropped, as those of a killed process are.
#[derive(Debug)]
pub struct CrashGate {
    point: Option<CrashPoint>,
    effects: Mutex<Effects>,
    crashed: CancellationToken,
}

#[derive(Debug, Default)]
struct Effects {
    count: usize,
    names: Vec<String>,
}

impl CrashGate {
    /// Returns a gate that only counts.
    #[must_use]
    pub fn open() -> Arc<Self> {
        Self::new(None)
    }

    /// Returns a gate that crashes its component at a point.
    #[must_use]
    pub fn crashing(point: CrashPoint) -> Arc<Self> {
        Self::new(Some(point))
    }

    fn new(point: Option<CrashPoint>) -> Arc<Self> {
        Arc::new(Self { point, effects: Mutex::default(), crashed: CancellationToken::new() })
    }

    /// Returns the point at which the gate crashes its component.
    #[must_use]
    pub const fn point(&self) -> Option<CrashPoint> {
        self.point
    }

    /// Returns the number of effects that have begun, including the one of the crash.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.effects.lock().count
    }

    /// Returns the name of an effect, numbered from 1. Only the first ten thousand are kept.
    #[must_use]
    pub fn name(&self, effect: usize) -> Option<String> {
        self.effects.lock().names.get(effect.checked_sub(1)?).cloned()
    }

    /// Returns whether the crash has happened.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.crashed.is_cancelled()
    }

    /// Waits for the crash. Cancel safe.
    pub async fn crashed(&self) {
        self.crashed.cancelled().await;
    }

    /// Performs an effect, unless the component crashes before it or has crashed. The name is shown
    /// in messages: `"PUT /rules/r1"`.
    ///
    /// The effect has to be one step: pass the steps of a longer operation one by one. Dropping the
    /// future drops the effect.
    pub async fn pass<T>(&self, name: impl Into<String>, effect: impl Future<Output = T>) -> T {
        let Some(number) = self.begin(name.into()) else { return pending().await };
        let result = effect.await;
        if self.point == Some(CrashPoint { effect: number, side: CrashSide::After }) {
            self.crashed.cancel();
        }
        self.respond(result).await
    }

    /// Performs an effect that is not counted, unless the component has crashed: one whose number
    /// depends on time, such as the renewal of a Lease.
    pub async fn pass_uncounted<T>(&self, effect: impl Future<Output = T>) -> T {
        if self.has_crashed() {
            return pending().await;
        }
        let result = effect.await;
        self.respond(result).await
    }

    /// Counts an effect. `None`: it does not take place.
    fn begin(&self, name: String) -> Option<usize> {
        // Under the lock, so that no effect gets a number after the crash.
        let mut effects = self.effects.lock();
        if self.has_crashed() {
            return None;
        }
        effects.count += 1;
        if effects.names.len() < NAMES {
            effects.names.push(name);
        }
        if self.point == Some(CrashPoint { effect: effects.count, side: CrashSide::Before }) {
            self.crashed.cancel();
            return None;
        }
        Some(effects.count)
    }

    async fn respond<T>(&self, result: T) -> T {
        match self.has_crashed() {
            true => pending().await,
            false => result,
        }
    }
}
