//! Whether a CNF is reachable. An unreachable one neither refuses nor answers: its clients wait.

use std::sync::Arc;

use machinery::tokio::sync::watch;

/// Connects and disconnects a CNF, as a pulled cable does. The CNF keeps its state meanwhile.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Connectivity(Arc<watch::Sender<bool>>);

impl Default for Connectivity {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }
}

impl Connectivity {
    /// Sets whether the CNF is reachable.
    pub fn set(&self, is_connected: bool) {
        self.0.send_if_modified(|now| std::mem::replace(now, is_connected) != is_connected);
    }

    /// Returns whether the CNF is reachable.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the CNF is reachable. Cancel safe.
    pub async fn connected(&self) {
        // The sender lives as long as this handle.
        let _ = self.0.subscribe().wait_for(|is_connected| *is_connected).await;
    }
}
