//! The window of a key in flight: closed with the writes of its run, or without any if the run was
//! dropped.

use std::sync::Arc;

use machinery_sync::contained;

use super::run::RunContext;
use crate::Request;
use crate::own_writes::OwnWrite;
use crate::reconcile::WriteWait;

/// The open window of a key. It has to be closed or dropped before the work item is completed, so
/// that the requests parked in it become the next run.
pub(super) struct OpenWindow<K: Request, S, R> {
    /// `None` if own writes request runs, or the window was closed.
    open: Option<(Arc<RunContext<K, S, R>>, K)>,
}

impl<K: Request, S, R> OpenWindow<K, S, R> {
    /// Opens the window. Called before the subject is read: an earlier change may be missing in it.
    pub(super) fn open(shared: &Arc<RunContext<K, S, R>>, key: &K) -> Self {
        let open = shared.windows.as_ref().map(|windows| {
            windows.open(key);
            (shared.clone(), key.clone())
        });
        Self { open }
    }

    /// Waits until the sources have delivered the events of writes that the caches show.
    pub(super) async fn delivered(&self, writes: &[WriteWait]) {
        let Some((shared, _)) = &self.open else { return };
        for (informer, progress) in shared.progress.get().into_iter().flatten() {
            if writes.iter().any(|write| write.informer == Some(*informer)) {
                progress.handled().await;
            }
        }
    }

    /// Closes the window: changes that these writes did not make request the next run.
    pub(super) fn close(mut self, writes: &[WriteWait]) {
        self.finish(writes);
    }

    fn finish(&mut self, writes: &[WriteWait]) {
        let Some((shared, key)) = self.open.take() else { return };
        let Some(windows) = &shared.windows else { return };
        let own: Vec<_> = writes
            .iter()
            .filter_map(|write| Some(OwnWrite { informer: write.informer?, token: write.token.clone() }))
            .collect();
        let closed = windows.close(&key, &own);
        shared.inner.counters.own_events(closed.own);
        for request in closed.foreign {
            request.submit(&key, &shared.queue, &shared.traces);
        }
    }
}

impl<K: Request, S, R> Drop for OpenWindow<K, S, R> {
    fn drop(&mut self) {
        // The key is user code and may panic, also while the thread panics already.
        let _ = contained(|| self.finish(&[]));
    }
}
