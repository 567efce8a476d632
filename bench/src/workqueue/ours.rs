//! Our queue. Everything that touches it is in this file and below it.

mod many;
mod million;
mod single;

use super::keys::Key;
use super::shape::{Kind, Shape};
use crate::interleave::{OURS, Subject};
use crate::measure::Figures;
use machinery_workqueue::{Add, Cause, Config, Metrics, Priority, Queue};
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;

pub(super) struct Ours {
    /// Two worker threads, as the Go peers have two processors. Shapes of one thread run on the main one, beside
    /// them.
    runtime: Runtime,
}

impl Ours {
    pub(super) fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
        Ok(Self { runtime })
    }
}

impl Subject<Shape> for Ours {
    fn name(&self) -> &'static str {
        OURS
    }

    fn run(&mut self, shape: &Shape) -> anyhow::Result<Figures> {
        let runtime = &self.runtime;
        match shape.kind {
            Kind::AddGetDone { keys, passes, batch: 1 } => {
                runtime.block_on(single::add_get_done(keys, passes))
            }
            Kind::AddGetDone { keys, passes, batch } => {
                runtime.block_on(single::in_batches(keys, passes, batch))
            }
            Kind::PrioritiesOverPlain { keys, passes, levels } => {
                runtime.block_on(single::priorities_over_plain(keys, passes, levels))
            }
            Kind::DuplicateAdd { keys, passes } => runtime.block_on(single::duplicate_add(keys, passes)),
            Kind::DelayedAdd { keys, passes, sooner } => {
                runtime.block_on(single::delayed_add(keys, passes, sooner))
            }
            Kind::DelayedAddNew { keys } => runtime.block_on(single::delayed_add_new(keys)),
            Kind::GetDone { keys, passes } => runtime.block_on(single::get_done(keys, passes)),
            Kind::Processed { producers, workers, keys, adds, batch } => {
                let load = many::Load { producers, workers, keys, adds, batch };
                runtime.block_on(many::processed(&load))
            }
            Kind::AddLockContended { keys, workers, work_ms, passes } => {
                runtime.block_on(many::add_lock_contended(keys, workers, work_ms, passes))
            }
            Kind::BytesPerKey { keys } => runtime.block_on(million::bytes_per_key(keys)),
            Kind::MillionFailing { keys, workers, base_ms } => {
                runtime.block_on(million::million_failing(keys, workers, base_ms))
            }
        }
    }
}

/// A queue as a controller has it, with its metrics in a registry.
struct Measured {
    queue: Queue<Key>,
    _registry: Registry,
}

impl Measured {
    fn new() -> anyhow::Result<Self> {
        Self::with(Config::default())
    }

    fn with(config: Config<Key>) -> anyhow::Result<Self> {
        let queue = Queue::new(Config { capacity: 2_000_000, ..config })?;
        let metrics = Metrics::new();
        metrics.watch("bench", &queue)?;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(metrics));
        Ok(Self { queue, _registry: registry })
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// An add with everything on: a priority and a cause.
fn add(priority: i32, revision: usize) -> Add {
    Add::new().priority(Priority::new(priority)).cause(Cause::new(&"changed", revision as u64))
}
