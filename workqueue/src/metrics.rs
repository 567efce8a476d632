//! Queues in a prometheus-client registry, under client-go's names.

use crate::core::{Histogram, Stats};
use crate::queue::Queue;
use crate::shared::{Key, StatsSource};
use machinery_metrics::{Described, Description, MetricSet, Sampled, SampledFamilies, SampledHistogram};
use machinery_sync::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// The queues of a process, for one registry. Each metric is one family with the label `name`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use machinery_workqueue::{Config, Metrics, Queue};
/// use prometheus_client::{encoding::text, registry::Registry};
///
/// let queue = Queue::<u32>::new(Config::default())?;
/// let metrics = Metrics::new();
/// metrics.watch("hosts", &queue)?;
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(metrics));
///
/// queue.add(7)?;
/// let mut page = String::new();
/// text::encode(&mut page, &registry)?;
/// assert!(page.contains("workqueue_depth{name=\"hosts\"} 1\n"));
/// assert!(page.contains("workqueue_adds_total{name=\"hosts\"} 1\n"));
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    queues: Arc<Mutex<BTreeMap<String, Weak<dyn StatsSource>>>>,
}

/// Another queue is registered under the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another queue is watched as {name:?}; give each its own name, or drop that one first")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

impl Metrics {
    /// Creates a collector without queues.
    pub fn new() -> Self {
        Self::default()
    }

    /// Exports `queue` under `name` until the queue is dropped.
    ///
    /// # Errors
    /// If another live queue has the name.
    pub fn watch<K: Key>(&self, name: impl Into<String>, queue: &Queue<K>) -> Result<(), NameTaken> {
        let name = name.into();
        let mut queues = self.queues.lock();
        queues.retain(|_, other| other.strong_count() > 0);
        if queues.contains_key(&name) {
            return Err(NameTaken { name });
        }
        let shared: Arc<dyn StatsSource> = queue.shared.clone();
        queues.insert(name, Arc::downgrade(&shared));
        Ok(())
    }

    /// Returns the descriptions of all metrics.
    pub fn descriptions() -> impl Iterator<Item = Description> {
        QUEUES.descriptions()
    }

    /// Returns the counts of each queue, and removes dropped queues.
    fn collect_stats(&self) -> Vec<(String, Stats)> {
        let mut live = Vec::new();
        self.queues.lock().retain(|name, queue| {
            let queue = queue.upgrade();
            live.extend(queue.as_ref().map(|queue| (name.clone(), queue.clone())));
            queue.is_some()
        });
        live.into_iter().map(|(name, queue)| (name, queue.stats())).collect()
    }
}

/// The metrics of all queues, under client-go's names.
const QUEUES: SampledFamilies<Stats> = SampledFamilies {
    row: "Queues",
    families: &[
        Sampled::counter("workqueue_adds", "Keys that became ready, without merged adds", |s| Some(s.adds)),
        Sampled::counter("workqueue_retries", "Runs that failed or were abandoned", |s| Some(s.retries)),
        Sampled::counter("workqueue_merged", "Adds merged into a queued, delayed or running key", |s| {
            Some(s.merged)
        }),
        Sampled::counter("workqueue_abandoned", "Runs dropped without completion, and retried", |s| {
            Some(s.abandoned)
        }),
        Sampled::counter("workqueue_dead_letters", "Keys at the limit of failures", |s| Some(s.dead_letters)),
        Sampled::counter("workqueue_cancelled", "Cancelled runs", |s| Some(s.cancelled)),
        Sampled::counter("workqueue_refused_full", "Adds refused by a full queue", |s| Some(s.refused_full)),
        Sampled::counter("workqueue_refused_closed", "Adds refused by a closed queue", |s| {
            Some(s.refused_closed)
        }),
        Sampled::gauge("workqueue_depth", "Ready keys", |s| Some(s.ready as u64)),
        Sampled::gauge("workqueue_delayed", "Delayed keys", |s| Some(s.delayed as u64)),
        Sampled::gauge("workqueue_out", "Running keys", |s| Some(s.in_flight as u64)),
        Sampled::gauge("workqueue_held", "Keys held after their run until they are completed", |s| {
            Some(s.held as u64)
        }),
        Sampled::age("workqueue_unfinished_work_seconds", "Sum of the times of all current runs", |s| {
            Some(seconds(s.unfinished_us))
        }),
        Sampled::age("workqueue_longest_running_processor_seconds", "Time of the longest current run", |s| {
            Some(seconds(s.longest_us))
        }),
        Sampled::histogram(
            "workqueue_queue_duration_seconds",
            "Time of ready keys until they were handed out",
            |s| sampled(&s.waited),
        ),
        Sampled::histogram("workqueue_work_duration_seconds", "Duration of runs", |s| sampled(&s.worked)),
        Sampled::histogram(
            "workqueue_held_duration_seconds",
            "Time of held keys until their completion",
            |s| sampled(&s.was_held),
        ),
    ],
};

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        QUEUES.encode(&mut encoder, &self.collect_stats())
    }
}

impl Described for Metrics {
    fn register(&self, set: &mut MetricSet) {
        set.collect(self.clone(), Self::descriptions());
    }
}

fn sampled(histogram: &Histogram) -> SampledHistogram {
    SampledHistogram {
        sum: seconds(histogram.sum_us()),
        count: histogram.count(),
        buckets: histogram.buckets().collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "after 285 years of microseconds")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.queues.lock().keys()).finish()
    }
}
