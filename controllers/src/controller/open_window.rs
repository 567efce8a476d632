//! The window of a key in flight: closed with the writes of its run, or without any if the run was
//! dropped.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::WriteOutcome;
use machinery_sync::contained;

use super::run::RunContext;
use crate::Request;
use crate::fights::Side;
use crate::own_writes::{OwnWrite, ParkedChange};
use crate::reconcile::WriteWait;

/// The open window of a key. It has to be closed or dropped before the work item is completed, so
/// that the requests parked in it become the next run.
pub(super) struct OpenWindow<K: Request, S, R> {
    /// `None` if own writes request runs, or the window was closed.
    open: Option<WindowOwner<K, S, R>>,
}

/// The controller of a window, and its key.
type WindowOwner<K, S, R> = (Arc<RunContext<K, S, R>>, K);

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
    /// Returns the time by which a write fight delays the next run.
    pub(super) fn close(mut self, writes: &[WriteWait]) -> Duration {
        self.finish(writes)
    }

    fn finish(&mut self, writes: &[WriteWait]) -> Duration {
        let mut delay = Duration::ZERO;
        let Some((shared, key)) = self.open.take() else { return delay };
        let Some(windows) = &shared.windows else { return delay };
        let own: Vec<_> = writes
            .iter()
            .filter_map(|write| Some(OwnWrite { informer: write.informer?, token: write.token.clone() }))
            .collect();
        let fights = &shared.inner.fights;
        let (mut seen, mut own_events) = (Vec::new(), 0);
        for ParkedChange { change, is_own, request } in windows.close(&key, &own) {
            let side = if is_own { Side::Own } else { Side::Foreign };
            if is_own || fights.is_in_use() {
                let fields = request.fields.as_deref();
                delay = delay.max(fights.record(&key, change.informer, &change.key, side, fields));
            }
            if is_own {
                own_events += 1;
                seen.push((change.informer, change.key));
            } else {
                request.submit(&key, &shared.queue, &shared.traces);
            }
        }
        shared.inner.counters.own_events(own_events);
        // A write whose event was coalesced with a foreign one alternates, too.
        for OwnWrite { informer, token } in own {
            let is_seen = seen.iter().any(|(of, object)| *of == informer && *object == token.key);
            if !is_seen && matches!(token.wrote, WriteOutcome::Stored(_)) {
                delay = delay.max(fights.record(&key, informer, &token.key, Side::Own, None));
                seen.push((informer, token.key));
            }
        }
        delay
    }
}

impl<K: Request, S, R> Drop for OpenWindow<K, S, R> {
    fn drop(&mut self) {
        // The key is user code and may panic, also while the thread panics already.
        let _ = contained(|| self.finish(&[]));
    }
}
