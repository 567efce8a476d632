//! State shared between the actor and callers.

use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;

use crate::drive::BrokenInterface;

/// State that callers read without a request.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) view: Mutex<FabricView>,
    /// Holds one permit while an unreported disturbance exists.
    pub(super) disturbance: Notify,
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
