//! The port through which the suite creates stores.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Backend, Limits};

/// Creates the stores under test, and states their capabilities.
#[async_trait]
pub trait Subject: Send {
    /// Opens an empty store with these limits. It must not compact on its own during a test.
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend>;

    /// Closes the last opened store and reopens its data. `None` if the backend keeps none: the
    /// suite then skips the behaviours about reopening.
    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Returns the capabilities of the stores.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}

/// Differences between conforming backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether each commit's revision is the previous one plus one.
    pub gapless: bool,
    /// Whether the store enforces [`Limits::quota_bytes`].
    pub quota: bool,
    /// Whether the store enforces [`Limits::watches`].
    pub counts_watches: bool,
    /// Number of revisions that an unread watch may buffer, beyond the store's history.
    pub buffered_revisions: usize,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { gapless: true, quota: true, counts_watches: true, buffered_revisions: 0 }
    }
}
