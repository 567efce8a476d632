//! The test kit: crashes at each effect, invariants of each commit, and planes on a paused clock.
//!
//! - [`CrashPoints`] runs a scenario once for each effect of a component, with a crash before and
//!   after it. The effects pass a [`CrashGate`]: the writes of a plane by
//!   [`crash_gate`](crate::PlaneBuilder::crash_gate), and any other future (a REST call, a
//!   transaction on a switch) by [`CrashGate::pass`]. [`CrashingProgram`] restarts the component.
//! - [`InvariantChecker`] verifies user-written invariants after every commit of a server, the world
//!   outside of it, and the state at rest.
//! - [`paused_clock`](crate::PlaneBuilder::paused_clock) lets the timestamps of a plane agree with
//!   tokio's paused clock.
//! - [`Objects::until`](crate::Objects::until), which needs no feature, waits for a condition.
//!
//! Faulty list/watch sources are in [`informers::testing`](crate::informers::testing). Guides:
//! `docs/guides/crash-points.md`, `docs/guides/test-under-faults.md`. Design:
//! `docs/designs/032-test-kit.md`.

#[cfg(feature = "embedded")]
mod checker;
#[cfg(feature = "embedded")]
mod committed_state;
mod crash_gate;
mod crash_point;
mod crash_points;
#[cfg(any(feature = "embedded", feature = "kube"))]
mod crashing_program;
mod gated_writer;
mod panic_message;

#[cfg(feature = "embedded")]
pub use checker::{
    InvariantChecker, InvariantCheckerBuilder, InvariantViolation, NoEmbeddedServer, Violations,
};
#[cfg(feature = "embedded")]
pub use committed_state::{CheckedCommit, CommittedState, ObjectChange};
pub use crash_gate::CrashGate;
pub use crash_point::{CrashPoint, CrashSide};
pub use crash_points::{CrashFailure, CrashPoints, CrashReport, CrashRun};
#[cfg(any(feature = "embedded", feature = "kube"))]
pub use crashing_program::{CrashingProgram, NotReached};
