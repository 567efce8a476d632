//! Where the suite gets its stores from.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Backend, Limits};

/// Makes the stores that the suite looks at, and says what they cannot do.
#[async_trait]
pub trait Subject: Send {
    /// An empty store with these limits. It compacts nothing by itself while a test runs.
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend>;

    /// Ends the store that was opened last, and opens what it left. None, if it leaves nothing: the behaviours that are
    /// about this are then not looked at.
    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// What to expect of the stores.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}

/// What differs between backends that are all right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A commit's revision is one more than the one before it.
    pub gapless: bool,
    /// The store enforces [`Limits::quota_bytes`].
    pub quota: bool,
    /// The store enforces [`Limits::watches`].
    pub counts_watches: bool,
    /// So many revisions may wait in a watch that nobody reads, beyond what can be read from the store.
    pub buffered_revisions: usize,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { gapless: true, quota: true, counts_watches: true, buffered_revisions: 0 }
    }
}
