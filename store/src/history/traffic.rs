//! Traffic of conflicting clients.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::calls::History;
use super::recorder::{Client, Recorder};
use super::stats::{InsufficientTraffic, TrafficStats};
use super::watcher::WatchClient;
use super::worker::WriteClient;
use crate::faulty::Dice;
use crate::{Backend, KeySpan, Range, Transaction};

/// Attempts of the final calls, if the store fails.
const TRIES: usize = 100;

/// The amount and kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficPlan {
    /// Seed of all actions of the clients, but not of their interleaving.
    pub seed: u64,
    /// Number of clients that write and read.
    pub clients: usize,
    /// Number of clients that watch.
    pub watchers: usize,
    /// Steps per client.
    pub steps: usize,
    /// Number of keys; few, so that clients conflict.
    pub keys: u64,
    /// Interval of compactions.
    pub compact_every: Duration,
    /// Steps of all clients together after which the store is also compacted.
    pub compact_steps: u64,
    /// Commits that the client cancels, per thousand.
    pub given_up_per_mille: u16,
}

impl Default for TrafficPlan {
    fn default() -> Self {
        Self {
            seed: 1,
            clients: 8,
            watchers: 6,
            steps: 300,
            keys: 10,
            compact_every: Duration::from_millis(100),
            compact_steps: 200,
            given_up_per_mille: 10,
        }
    }
}

/// Runs the clients against `backend`, which is empty, and returns the recorded history.
pub async fn traffic(backend: Arc<dyn Backend>, plan: TrafficPlan) -> Result<History, InsufficientTraffic> {
    let first = backend.revision().await.unwrap_or(Revision::ZERO);
    let recorder = Recorder::new(backend, first);
    let mut dice = Dice::new(plan.seed);
    let pace = Arc::new(CompactionPacer::default());
    let (finish, finished) = watch::channel(None);

    let mut clients = JoinSet::new();
    for number in 0..plan.clients {
        let worker =
            WriteClient::new(recorder.client(), Dice::new(dice.roll()), plan, first, format!("c{number}"));
        clients.spawn(worker.run(Arc::clone(&pace)));
    }
    let mut others = JoinSet::new();
    for _ in 0..plan.watchers {
        let watcher = WatchClient::new(recorder.client(), Dice::new(dice.roll()), plan, first);
        others.spawn(watcher.run(Arc::clone(&pace), finished.clone()));
    }
    others.spawn(compact(recorder.client(), Dice::new(dice.roll()), plan, pace, finished));

    join(&mut clients).await;
    // Cancelled commits may still be applied; this write is ordered after them.
    let last = recorder.client();
    let mut end = first;
    for _ in 0..TRIES {
        if let Ok(commit) = last.commit(Transaction::new().put("end", *b"1")).await {
            end = commit.revision;
            break;
        }
    }
    finish.send_replace(Some(end));
    join(&mut others).await;
    for _ in 0..TRIES {
        if last.range(Range::of(KeySpan::all())).await.is_ok() {
            break;
        }
    }

    let history = recorder.history();
    TrafficStats::of(&history).suffices(&plan)?;
    Ok(history)
}

async fn join(tasks: &mut JoinSet<()>) {
    while let Some(task) = tasks.join_next().await {
        task.expect("a client does not panic");
    }
}

/// Returns a revision within a hundred of `now`.
pub(super) fn around(dice: &mut Dice, now: Revision) -> Revision {
    Revision((now.0 + dice.below(201)).saturating_sub(100))
}

/// Paces compaction: the steps of all clients, signals for a due and a finished compaction, and the
/// last compacted revision.
#[derive(Default)]
pub(super) struct CompactionPacer {
    pub(super) steps: AtomicU64,
    pub(super) due: Notify,
    /// A compaction has finished or was refused.
    pub(super) done: Notify,
    pub(super) compacted: AtomicU64,
}

/// Compacts to a random recent revision, and now and then to a future one.
async fn compact(
    client: Client,
    mut dice: Dice,
    plan: TrafficPlan,
    pace: Arc<CompactionPacer>,
    mut finished: watch::Receiver<Option<Revision>>,
) {
    let mut clock = tokio::time::interval(plan.compact_every);
    while finished.borrow().is_none() {
        tokio::select! {
            biased;
            _ = finished.changed() => return,
            _ = clock.tick() => {}
            () = pace.due.notified() => {}
        }
        if let Ok(now) = client.revision().await {
            let back = if dice.chance(200) { 0 } else { dice.below(100) };
            let to =
                if dice.chance(50) { Revision(now.0 + 1000) } else { Revision(now.0.saturating_sub(back)) };
            if client.compact(to).await.is_ok() {
                pace.compacted.store(to.0, Ordering::Relaxed);
            }
        }
        pace.done.notify_one();
    }
}
