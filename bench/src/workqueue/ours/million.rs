//! Shapes with a million keys: memory, and a tenth of the keys failing once.

use super::super::keys::{self, QueueKey};
use super::{MeteredQueue, add};
use crate::measure::{Figures, Lap, count};
use crate::memory::{self, Peak};
use machinery_workqueue::limiter::Exponential;
use machinery_workqueue::{Config, Queue, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub(super) async fn bytes_per_key(n: usize) -> anyhow::Result<Figures> {
    let keys = keys::make(n);
    let before = memory::live();
    let measured = MeteredQueue::new()?;
    for (i, key) in keys.iter().enumerate() {
        measured.queue.add_with(key.clone(), add(1, i))?;
    }
    let bytes = memory::live().saturating_sub(before);
    anyhow::ensure!(measured.queue.len() == n, "not all keys are queued");
    Ok(Figures::default().with("bytes", count(bytes) / count(n)))
}

/// Adds are timed in blocks of this many keys, and waits of every failing and every 64th key:
/// reading the clock per key would distort the figure.
const BLOCK: usize = 1000;
const LONGEST_BACKOFF: Duration = Duration::from_secs(1000);

struct Trial {
    tried: Vec<AtomicBool>,
    /// Per block, in nanoseconds since `began`.
    added_at: Vec<AtomicU64>,
    began: Instant,
    succeeded: AtomicUsize,
    longest_ns: AtomicU64,
    finished: Notify,
}

impl Trial {
    fn new(n: usize) -> Self {
        Self {
            tried: (0..n).map(|_| AtomicBool::new(false)).collect(),
            added_at: (0..n.div_ceil(BLOCK)).map(|_| AtomicU64::new(0)).collect(),
            began: Instant::now(),
            succeeded: AtomicUsize::new(0),
            longest_ns: AtomicU64::new(0),
            finished: Notify::new(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn work(&self, work: Work<QueueKey>) {
        let i = keys::index_of(work.key());
        let fails = i.is_multiple_of(10);
        if fails && !self.tried[i].swap(true, Ordering::Relaxed) {
            work.retry("it fails once");
            return;
        }
        work.done();
        if fails || i.is_multiple_of(64) {
            let waited = self.now() - self.added_at[i / BLOCK].load(Ordering::Relaxed);
            self.longest_ns.fetch_max(waited, Ordering::Relaxed);
        }
        if self.succeeded.fetch_add(1, Ordering::Relaxed) + 1 == self.tried.len() {
            self.finished.notify_one();
        }
    }
}

pub(super) async fn million_failing(n: usize, workers: usize, base_ms: u64) -> anyhow::Result<Figures> {
    let (keys, trial) = (keys::make(n), Arc::new(Trial::new(n)));
    let before = memory::live();
    let peak = Peak::watch();
    let backoff = Exponential::new(Duration::from_millis(base_ms), LONGEST_BACKOFF)?;
    let measured = MeteredQueue::with(Config { backoff: Box::new(backoff), ..Config::default() })?;
    let mut lap = Lap::started();
    for (block, keys) in keys.chunks(BLOCK).enumerate() {
        trial.added_at[block].store(trial.now(), Ordering::Relaxed);
        for key in keys {
            measured.queue.add_with(key.clone(), add(1, block))?;
        }
    }
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        tasks.spawn(take(measured.queue.clone(), trial.clone()));
    }
    trial.finished.notified().await;
    lap.stop();
    let bytes = peak.finish().saturating_sub(before);
    measured.queue.close();
    tasks.join_all().await;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let longest = Duration::from_nanos(trial.longest_ns.load(Ordering::Relaxed));
    Ok(lap
        .per(n)
        .with("bytes", count(bytes) / count(n))
        .with("longest_ms", ms(longest))
        .with("run_ms", ms(lap.wall())))
}

async fn take(queue: Queue<QueueKey>, trial: Arc<Trial>) {
    while let Some(work) = queue.get().await {
        trial.work(work);
    }
}
