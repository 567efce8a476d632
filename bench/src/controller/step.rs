//! What a subject's process is told.

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
    /// Bytes that are allocated when everything is quiet.
    Idle {
        objects: usize,
        keeps: IdleContents,
    },
    /// Begins a loop over the wire, and waits until it has begun a reconcile, which waits.
    Begin {
        kubeconfig: PathBuf,
        /// What it writes is of this turn: so there is something to write in each.
        turn: usize,
    },
    /// Lets reconciles write, and waits until each object is written.
    Write {
        objects: usize,
    },
    /// Waits until so many changes since then have begun a reconcile.
    Heard {
        events: usize,
    },
}

/// What there is in the process beside the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum IdleContents {
    Cache,
    Loop,
    /// Ours without what came of each object's last run.
    LoopWithoutRecords,
}
