//! Publication of snapshots to callers that wait for changes.

use std::sync::Arc;

use machinery::tokio::sync::watch;

use super::snapshot::DatabaseSnapshot;

/// Holds the current snapshot and notifies waiters of a new one.
#[derive(Debug)]
pub(super) struct SnapshotPublisher {
    current: watch::Sender<Arc<DatabaseSnapshot>>,
}

impl Default for SnapshotPublisher {
    fn default() -> Self {
        Self { current: watch::Sender::new(Arc::default()) }
    }
}

impl SnapshotPublisher {
    /// Returns the current snapshot.
    pub(super) fn current(&self) -> Arc<DatabaseSnapshot> {
        self.current.borrow().clone()
    }

    /// Changes the snapshot and increments its version, unless the change makes no difference.
    pub(super) fn change(&self, change: impl FnOnce(&mut DatabaseSnapshot)) {
        self.current.send_if_modified(|current| {
            let mut next = DatabaseSnapshot::clone(current);
            change(&mut next);
            // Rows are compared by identity: a comparison by value would cost more than a wake-up.
            let same_rows = Arc::ptr_eq(&next.rows, &current.rows);
            let same = same_rows
                && (next.epoch, next.sessions, next.lock) == (current.epoch, current.sessions, current.lock)
                && next.connection == current.connection;
            if !same {
                next.version = current.version + 1;
                *current = Arc::new(next);
            }
            !same
        });
    }

    /// Waits until the version differs.
    pub(super) async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        let mut receiver = self.current.subscribe();
        let next = receiver.wait_for(|snapshot| snapshot.version != version).await.map(|next| next.clone());
        match next {
            Ok(next) => next,
            // The sender is `self`, which outlives this call.
            Err(_) => std::future::pending().await,
        }
    }
}
