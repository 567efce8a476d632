//! Clients that get in each other's way.

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

/// So often the last calls are made, if the store fails.
const TRIES: usize = 100;

/// How much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficPlan {
    /// Decides everything that the clients do, but not who comes first.
    pub seed: u64,
    /// Clients that write and read.
    pub clients: usize,
    /// Clients that watch.
    pub watchers: usize,
    /// Steps of each client.
    pub steps: usize,
    /// Keys. Few, so that they are fought for.
    pub keys: u64,
    /// The store is compacted as often as this passes,
    pub compact_every: Duration,
    /// and after so many steps of all clients together: whichever comes first.
    pub compact_steps: u64,
    /// In a thousand commits so many are given up by their client.
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

/// Lets clients loose on `backend`, which is empty, and returns the record of it.
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
    // What was given up may still happen: this write comes after it, in a store that answers in order.
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

/// A revision up to a hundred before or after `now`.
pub(super) fn around(dice: &mut Dice, now: Revision) -> Revision {
    Revision((now.0 + dice.below(201)).saturating_sub(100))
}

/// How many steps all clients have made, that it is time to compact, that this was done, and to where it was compacted last.
#[derive(Default)]
pub(super) struct CompactionPacer {
    pub(super) steps: AtomicU64,
    pub(super) due: Notify,
    /// It was compacted, or that was refused.
    pub(super) done: Notify,
    pub(super) compacted: AtomicU64,
}

/// Compacts to somewhere in the last hundred revisions, and once in a while to where it cannot.
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
