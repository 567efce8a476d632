//! The start of a controller: its sources start, and their initial lists are waited for.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::SetOnce;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::handle::Inner;
use super::run::{RunContext, RunError};
use super::source::{Feed, Feeding};
use crate::Request;

/// A started source.
pub(super) struct StartedSource {
    name: Arc<str>,
    synced: Arc<SetOnce<()>>,
    ended: CancellationToken,
}

/// Starts the sources; their keys go into the queue.
pub(super) fn start_sources<K: Request, S, R>(
    shared: &RunContext<K, S, R>,
) -> Result<Vec<StartedSource>, RunError> {
    let RunContext { inner, queue, traces, windows, stopping, tasks, .. } = shared;
    let (mut all, mut progress) = (Vec::new(), Vec::new());
    for source in &inner.spec.sources {
        let (name, synced) = (source.name().clone(), Arc::new(SetOnce::new()));
        let feed = Feed {
            name: name.clone(),
            queue: queue.clone(),
            counters: inner.counters.clone(),
            traces: traces.clone(),
            windows: windows.clone(),
            fights: inner.fights.clone(),
            documents: inner.spec.documents.clone(),
            priority: inner.spec.priority.clone(),
            synced: synced.clone(),
        };
        let feeding: Feeding =
            source.start(feed).map_err(|_| RunError::SourceEnded { source_name: name.to_string() })?;
        let ended = CancellationToken::new();
        let (stop, over) = (stopping.clone(), ended.clone().drop_guard());
        progress.extend(feeding.progress);
        tasks.spawn(async move {
            stop.run_until_cancelled(feeding.run).await;
            drop(over);
        });
        all.push(StartedSource { name, synced, ended });
    }
    // Set once per run of the controller.
    let _ = shared.progress.set(progress);
    Ok(all)
}

/// Waits until all sources have synced; returns `false` when the controller is cancelled.
pub(super) async fn wait_for_sync<K: Request, S>(
    inner: &Inner<K, S>,
    sources: &[StartedSource],
    stop: &CancellationToken,
) -> Result<bool, RunError> {
    let after = inner.spec.settings.sync_time;
    let until = Instant::now().checked_add(after);
    for (at, StartedSource { name, synced, ended }) in sources.iter().enumerate() {
        inner.lifecycle.lock().waits_for = sources[at..].iter().map(|source| source.name.clone()).collect();
        let waited = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Ok(false),
                _ = synced.wait() => Ok(true),
                () = ended.cancelled() => Err(RunError::SourceEnded { source_name: name.to_string() }),
            }
        };
        let waited = match until {
            Some(until) => timeout_at(until, waited).await,
            None => Ok(waited.await),
        };
        match waited {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Ok(false),
            Ok(Err(_)) if stop.is_cancelled() => return Ok(false),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(RunError::NotSynced { source_name: name.to_string(), after }),
        }
    }
    inner.lifecycle.lock().waits_for.clear();
    Ok(true)
}

/// Returns the name of the first source that stops.
pub(super) async fn first_source_end(sources: &[StartedSource]) -> String {
    let mut ends: FuturesUnordered<_> = sources
        .iter()
        .map(|source| async {
            source.ended.cancelled().await;
            source.name.to_string()
        })
        .collect();
    match ends.next().await {
        Some(name) => name,
        None => std::future::pending().await,
    }
}
