//! The surroundings of a plane, replaced in tests: its wall clock, and the gate of its effects.

use std::sync::Arc;

use jiff::Timestamp;
use machinery_objects::{Kind, Object, Writer};

#[cfg(feature = "testing")]
use super::builder::PlaneBuilder;
use super::handle::Plane;
#[cfg(feature = "testing")]
use crate::testing::CrashGate;

/// The wall clock and, in tests, the crash gate of a plane.
#[derive(Clone, Default)]
pub(super) struct Surroundings {
    /// When a paused wall clock began to follow tokio's.
    #[cfg(feature = "testing")]
    paused_since: Option<tokio::time::Instant>,
    #[cfg(feature = "testing")]
    gate: Option<Arc<CrashGate>>,
}

impl Surroundings {
    /// Returns the wall clock.
    pub(super) fn clock(&self) -> impl Fn() -> Timestamp + Send + Sync + 'static {
        #[cfg(feature = "testing")]
        let since = self.paused_since;
        move || {
            #[cfg(feature = "testing")]
            if let Some(since) = since {
                return PAUSED_AT.checked_add(since.elapsed()).unwrap_or(Timestamp::MAX);
            }
            Timestamp::now()
        }
    }

    /// Returns the writer with each write as an effect of the crash gate, if there is one.
    pub(super) fn writer<O: Object>(&self, kind: &Kind, writer: Arc<dyn Writer<O>>) -> Arc<dyn Writer<O>> {
        let _ = kind;
        #[cfg(feature = "testing")]
        if let Some(gate) = &self.gate {
            return gate.writer(kind, writer);
        }
        writer
    }

    /// Returns the writer, which writes nothing after a crash.
    pub(super) fn uncounted_writer<O: Object>(&self, writer: Arc<dyn Writer<O>>) -> Arc<dyn Writer<O>> {
        #[cfg(feature = "testing")]
        if let Some(gate) = &self.gate {
            return gate.uncounted_writer(writer);
        }
        writer
    }

    /// Returns the surroundings of another plane on the same server: the same clock, and no gate.
    pub(super) fn beside(&self) -> Self {
        #[cfg_attr(not(feature = "testing"), expect(unused_mut, reason = "only tests have a gate"))]
        let mut beside = self.clone();
        #[cfg(feature = "testing")]
        {
            beside.gate = None;
        }
        beside
    }
}

impl Plane {
    /// Returns the wall clock, for timestamps in statuses. In tests it follows the paused clock.
    pub fn clock(&self) -> impl Fn() -> Timestamp + Send + Sync + 'static {
        self.0.surroundings.clock()
    }
}

/// The wall clock of a plane on a paused clock starts here: 2026-01-01T00:00:00Z.
#[cfg(feature = "testing")]
const PAUSED_AT: Timestamp = Timestamp::constant(1_767_225_600, 0);

#[cfg(feature = "testing")]
impl PlaneBuilder {
    /// Puts the plane behind a crash gate: each write of an object is an effect, except those of
    /// Events and Leases, the number of which depends on time. After the crash none takes place.
    pub fn crash_gate(mut self, gate: &Arc<CrashGate>) -> Self {
        self.surroundings.gate = Some(gate.clone());
        self
    }

    /// Lets the wall clocks of the plane and of its embedded server follow tokio's clock, from
    /// 2026-01-01T00:00:00Z. For tests on a paused clock (`start_paused`), in which a day passes at
    /// once: timestamps then agree with the time that has passed. The server has to be in memory,
    /// as a paused clock does not wait for a disk.
    pub fn paused_clock(mut self) -> Self {
        self.surroundings.paused_since = Some(tokio::time::Instant::now());
        self
    }
}

#[cfg(feature = "testing")]
impl Plane {
    /// Ends all tasks of the plane at once, as the end of its process would: no run is drained and
    /// no Lease is released. Tasks that were not spawned by the plane are only cancelled. An
    /// embedded server runs until the last clone of the plane is dropped.
    pub async fn kill(&self) {
        const GRACE: std::time::Duration = std::time::Duration::from_millis(100);
        self.0.controllers.kill(GRACE).await;
        self.0.informers.kill(GRACE).await;
    }
}
