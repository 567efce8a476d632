//! Requests to a subject's process.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ControllerStep {
    Reconciles {
        objects: usize,
        ms: u64,
        under_way: usize,
        is_limited: bool,
    },
    Hops {
        objects: usize,
        events: usize,
        every_us: u64,
    },
    /// Measures allocated bytes at rest.
    Idle {
        objects: usize,
        keeps: IdleContents,
    },
    /// Starts a loop over the wire, and waits until its first reconcile is blocked.
    Begin {
        kubeconfig: PathBuf,
        /// Distinguishes the writes of this turn from earlier ones.
        turn: usize,
    },
    /// Permits writes, and waits until each object is written.
    Write {
        objects: usize,
    },
    /// Creates locks without an allocator.
    PlainCreates {
        kubeconfig: PathBuf,
        creates: usize,
    },
    /// Allocates a member for each owner.
    Allocate {
        kubeconfig: PathBuf,
        owners: usize,
    },
    /// Releases the only member again and again.
    HandOver {
        kubeconfig: PathBuf,
        waiting: usize,
        releases: usize,
    },
    /// Waits until this many changes have started a reconcile.
    Heard {
        events: usize,
    },
}

/// The components of the process besides the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum IdleContents {
    Cache,
    Loop,
    /// Our control loop without the record of each object's last run.
    LoopWithoutRecords,
}
