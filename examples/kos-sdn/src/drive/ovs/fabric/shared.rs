//! State shared between the actor and callers.

use std::sync::atomic::{AtomicBool, Ordering};

use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;

use crate::drive::BrokenInterface;

/// State that callers read without a request.
#[derive(Debug, Default)]
pub(super) struct FabricState {
    pub(super) view: Mutex<FabricView>,
    pub(super) disturbance: Disturbance,
}

/// A difference that a repair would change, until it is reported or repaired.
#[derive(Debug, Default)]
pub(super) struct Disturbance {
    exists: AtomicBool,
    found: Notify,
}

impl Disturbance {
    /// Records a difference.
    pub(super) fn raise(&self) {
        self.exists.store(true, Ordering::SeqCst);
        self.found.notify_one();
    }

    /// Records that there is none.
    pub(super) fn clear(&self) {
        self.exists.store(false, Ordering::SeqCst);
    }

    /// Waits for a difference, and takes the report of it.
    pub(super) async fn taken(&self) {
        while !self.exists.swap(false, Ordering::SeqCst) {
            self.found.notified().await;
        }
    }
}

/// The fabric as its last run left it.
#[derive(Debug, Default)]
pub(super) struct FabricView {
    /// Interfaces that could not be completed.
    pub(super) broken: Vec<BrokenInterface>,
    /// Number of ports of local interfaces.
    pub(super) ports: usize,
    /// Number of flows.
    pub(super) flows: usize,
}
