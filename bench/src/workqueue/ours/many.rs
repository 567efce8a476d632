//! Shapes with many producers and workers.

use super::super::keys::{self, QueueKey};
use super::{MeteredQueue, add};
use crate::measure::{Figures, Lap, count};
use crate::random::SplitMix;
use anyhow::Context;
use machinery_workqueue::Queue;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::{JoinSet, yield_now};

/// A producer yields this often, as tokio's cooperative budget enforces. It also suits client-go
/// best.
const STEP_ASIDE_EVERY: usize = 128;

/// Timeout of draining, long enough for any backlog of these shapes.
const DRAIN_WITHIN: Duration = Duration::from_secs(60);

pub(super) struct QueueLoad {
    pub(super) producers: usize,
    pub(super) workers: usize,
    pub(super) keys: usize,
    /// Adds of all producers together.
    pub(super) adds: usize,
    pub(super) batch: usize,
}

pub(super) async fn processed(load: &QueueLoad) -> anyhow::Result<Figures> {
    let (keys, measured): (Arc<[QueueKey]>, _) = (keys::make(load.keys).into(), MeteredQueue::new()?);
    let (mut producers, mut workers) = (JoinSet::new(), JoinSet::new());
    let mut lap = Lap::started();
    for _ in 0..load.workers {
        workers.spawn(work(measured.queue.clone(), load.batch));
    }
    for p in 0..load.producers {
        let adds = load.adds / load.producers;
        producers.spawn(produce(measured.queue.clone(), keys.clone(), p as u64, adds, load.batch));
    }
    while let Some(ended) = producers.join_next().await {
        ended??;
    }
    let drained = measured.queue.drain(DRAIN_WITHIN).await;
    lap.stop();
    anyhow::ensure!(drained.leftovers.is_empty(), "{} keys were never handed out", drained.leftovers.len());
    let handed_out: usize = workers.join_all().await.into_iter().sum();
    Ok(Figures::default()
        .with("per_second", count(handed_out) / lap.wall().as_secs_f64())
        .with("cpu_ns", lap.per(handed_out).of("cpu_ns").unwrap_or_default())
        .with("handed_out", count(handed_out) / count(load.adds)))
}

async fn produce(
    queue: Queue<QueueKey>,
    keys: Arc<[QueueKey]>,
    seed: u64,
    adds: usize,
    batch: usize,
) -> anyhow::Result<()> {
    let mut chance = SplitMix(seed);
    if batch > 1 {
        for n in 0..adds / batch {
            queue.add_all((0..batch).map(|_| keys[chance.below(keys.len())].clone()), add(1, n))?;
            if (n * batch).is_multiple_of(STEP_ASIDE_EVERY) {
                yield_now().await;
            }
        }
        return Ok(());
    }
    for n in 0..adds {
        queue.add_ref(&keys[chance.below(keys.len())], add(1, n))?;
        if n.is_multiple_of(STEP_ASIDE_EVERY) {
            yield_now().await;
        }
    }
    Ok(())
}

/// Takes and completes keys until the queue is drained; returns their number.
async fn work(queue: Queue<QueueKey>, batch: usize) -> usize {
    let mut handed_out = 0;
    if batch > 1 {
        while let Some(batch) = queue.get_batch(batch).await {
            handed_out += batch.len();
            batch.done();
        }
        return handed_out;
    }
    while let Some(work) = queue.get().await {
        handed_out += 1;
        work.done();
    }
    handed_out
}

/// Measures adds by the main thread, which is not one of the runtime's two.
pub(super) async fn add_lock_contended(
    n: usize,
    workers: usize,
    work_ms: u64,
    passes: usize,
) -> anyhow::Result<Figures> {
    const ADDS: usize = 1000;
    let (keys, measured) = (keys::make(n), MeteredQueue::new()?);
    let queue = &measured.queue;
    for (i, key) in keys.iter().enumerate() {
        queue.add_with(key.clone(), add(1, i))?;
    }
    let handed_out = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (queue, handed_out) = (queue.clone(), handed_out.clone());
        tasks.spawn(async move {
            while let Some(work) = queue.get().await {
                tokio::time::sleep(Duration::from_millis(work_ms)).await;
                work.done();
                handed_out.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let often = keys.get(..ADDS).context("fewer keys than are added again")?;
    while handed_out.load(Ordering::Relaxed) < 2 * workers {
        tokio::time::sleep(Duration::from_millis(1)).await; // until all of them are at it
    }
    let before = handed_out.load(Ordering::Relaxed);
    let mut lap = Lap::started();
    for pass in 0..passes {
        for key in often {
            queue.add_ref(key, add(1, pass))?;
        }
    }
    lap.stop();
    let meanwhile = handed_out.load(Ordering::Relaxed) - before;
    tasks.shutdown().await;
    let each = lap.per(passes);
    let us = each.of("ns").unwrap_or_default() / 1000.0;
    Ok(each.with("us", us).with("handed_out", count(meanwhile) / lap.wall().as_secs_f64()))
}
