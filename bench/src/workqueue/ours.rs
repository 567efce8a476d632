//! Our queue. Only this module and its children use it.

mod many;
mod million;
mod single;

use super::keys::QueueKey;
use super::shape::{QueueShape, QueueWork};
use crate::interleave::{OURS, Subject};
use crate::measure::Figures;
use machinery_workqueue::{Add, Cause, Config, Metrics, Priority, Queue};
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;

pub(super) struct OurQueue {
    /// Two worker threads, as the Go peers have two processors. Single-threaded shapes run on the
    /// main thread.
    runtime: Runtime,
}

impl OurQueue {
    pub(super) fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
        Ok(Self { runtime })
    }
}

impl Subject<QueueShape> for OurQueue {
    fn name(&self) -> &'static str {
        OURS
    }

    fn run(&mut self, shape: &QueueShape) -> anyhow::Result<Figures> {
        let runtime = &self.runtime;
        match shape.kind {
            QueueWork::AddGetDone { keys, passes, batch: 1 } => {
                runtime.block_on(single::add_get_done(keys, passes))
            }
            QueueWork::AddGetDone { keys, passes, batch } => {
                runtime.block_on(single::in_batches(keys, passes, batch))
            }
            QueueWork::PrioritiesOverPlain { keys, passes, levels } => {
                runtime.block_on(single::priorities_over_plain(keys, passes, levels))
            }
            QueueWork::DuplicateAdd { keys, passes } => runtime.block_on(single::duplicate_add(keys, passes)),
            QueueWork::DelayedAdd { keys, passes, sooner } => {
                runtime.block_on(single::delayed_add(keys, passes, sooner))
            }
            QueueWork::DelayedAddNew { keys } => runtime.block_on(single::delayed_add_new(keys)),
            QueueWork::GetDone { keys, passes } => runtime.block_on(single::get_done(keys, passes)),
            QueueWork::Processed { producers, workers, keys, adds, batch } => {
                let load = many::QueueLoad { producers, workers, keys, adds, batch };
                runtime.block_on(many::processed(&load))
            }
            QueueWork::AddLockContended { keys, workers, work_ms, passes } => {
                runtime.block_on(many::add_lock_contended(keys, workers, work_ms, passes))
            }
            QueueWork::BytesPerKey { keys } => runtime.block_on(million::bytes_per_key(keys)),
            QueueWork::MillionFailing { keys, workers, base_ms } => {
                runtime.block_on(million::million_failing(keys, workers, base_ms))
            }
        }
    }
}

/// A queue as in a controller, with its metrics in a registry.
struct MeteredQueue {
    queue: Queue<QueueKey>,
    _registry: Registry,
}

impl MeteredQueue {
    fn new() -> anyhow::Result<Self> {
        Self::with(Config::default())
    }

    fn with(config: Config<QueueKey>) -> anyhow::Result<Self> {
        let queue = Queue::new(Config { capacity: 2_000_000, ..config })?;
        let metrics = Metrics::new();
        metrics.watch("bench", &queue)?;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(metrics));
        Ok(Self { queue, _registry: registry })
    }
}

impl Drop for MeteredQueue {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Returns an add with a priority and a cause.
fn add(priority: i32, revision: usize) -> Add {
    Add::new().priority(Priority::new(priority)).cause(Cause::new(&"changed", revision as u64))
}
