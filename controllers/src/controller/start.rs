//! The start of a controller: its sources start, and their initial lists are waited for.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use machinery_informers::ReflectorError;
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::handle::Inner;
use super::run::{RunContext, RunError};
use super::source::Feeding;
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

/// Interval of checks for a source that is refused.
const REFUSAL_CHECK: Duration = Duration::from_millis(50);
/// Time for which a kind may be unknown: a new definition takes a moment to be served.
const NOT_SERVED_TIME: Duration = Duration::from_secs(1);

/// Returns the error of a source that can never be listed; otherwise never returns.
async fn refusal(source: &impl Fn() -> Option<ReflectorError>) -> ReflectorError {
    let mut unserved_since = None;
    loop {
        sleep(REFUSAL_CHECK).await;
        let now = Instant::now();
        match source() {
            Some(error) if error.is_refusal() => return error,
            Some(error) if error.is_not_served() => {
                if now >= *unserved_since.get_or_insert(now) + NOT_SERVED_TIME {
                    return error;
                }
            }
            _ => unserved_since = None,
        }
    }
}

/// Waits until all sources have synced; returns `false` when the controller is cancelled.
pub(super) async fn wait_for_sync<K: Request, S>(
    inner: &Inner<K, S>,
    sources: &[StartedSource],
    stop: &CancellationToken,
) -> Result<bool, RunError> {
    let after = inner.spec.settings.sync_time;
    let until = Instant::now().checked_add(after);
    for (at, (StartedSource { name, synced, ended }, source)) in
        sources.iter().zip(&inner.spec.sources).enumerate()
    {
        let trouble = || source.trouble();
        inner.lifecycle.lock().waits_for = sources[at..].iter().map(|source| source.name.clone()).collect();
        let waited = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Ok(false),
                _ = synced.wait() => Ok(true),
                () = ended.cancelled() => Err(RunError::SourceEnded { source_name: name.to_string() }),
                trouble = refusal(&trouble) => Err(RunError::Refused { source_name: name.to_string(), trouble }),
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
            Err(_) => {
                let trouble = trouble();
                return Err(RunError::NotSynced { source_name: name.to_string(), after, trouble });
            }
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
