//! Queues in a prometheus-client registry, under client-go's names.

use crate::core::{Histogram, Stats};
use crate::queue::Queue;
use crate::shared::{Key, StatsSource};
use machinery_sync::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
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

/// One metric family: name, help text, and the number it exports.
struct Family<T>(&'static str, &'static str, fn(&Stats) -> T);

const COUNTERS: [Family<u64>; 8] = [
    Family("workqueue_adds", "Keys that became ready; merged adds are not counted", |s| s.adds),
    Family("workqueue_retries", "Runs that failed or were abandoned", |s| s.retries),
    Family("workqueue_merged", "Adds merged into a key that was there", |s| s.merged),
    Family("workqueue_abandoned", "Runs dropped without an answer, and retried", |s| s.abandoned),
    Family("workqueue_dead_letters", "Keys that failed as often as they may", |s| s.dead_letters),
    Family("workqueue_cancelled", "Runs taken back", |s| s.cancelled),
    Family("workqueue_refused_full", "Adds refused because the queue was full", |s| s.refused_full),
    Family("workqueue_refused_closed", "Adds refused because the queue was closed", |s| s.refused_closed),
];

const GAUGES: [Family<usize>; 4] = [
    Family("workqueue_depth", "Keys that are ready", |s| s.ready),
    Family("workqueue_delayed", "Keys that wait for their time", |s| s.delayed),
    Family("workqueue_out", "Keys that are worked on", |s| s.in_flight),
    Family("workqueue_held", "Keys that are out and not worked on, until they are answered", |s| s.held),
];

const SECONDS: [Family<u64>; 2] = [
    Family("workqueue_unfinished_work_seconds", "How long the keys with a worker are there, added up", |s| {
        s.unfinished_us
    }),
    Family("workqueue_longest_running_processor_seconds", "How long the first of them is there", |s| {
        s.longest_us
    }),
];

const HISTOGRAMS: [Family<Histogram>; 3] = [
    Family("workqueue_queue_duration_seconds", "How long keys were ready before a worker took them", |s| {
        s.waited.clone()
    }),
    Family("workqueue_work_duration_seconds", "How long keys were with a worker", |s| s.worked.clone()),
    Family("workqueue_held_duration_seconds", "How long keys were held after that", |s| s.was_held.clone()),
];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let queues = self.collect_stats();
        for Family(name, help, of) in COUNTERS {
            family(&mut encoder, name, help, MetricType::Counter, &queues, |stats, mut encoder| {
                encoder.encode_counter::<NoLabelSet, _, u64>(&of(stats), None)
            })?;
        }
        for Family(name, help, of) in GAUGES {
            family(&mut encoder, name, help, MetricType::Gauge, &queues, |stats, mut encoder| {
                encoder.encode_gauge(&i64::try_from(of(stats)).unwrap_or(i64::MAX))
            })?;
        }
        for Family(name, help, of) in SECONDS {
            family(&mut encoder, name, help, MetricType::Gauge, &queues, |stats, mut encoder| {
                encoder.encode_gauge(&seconds(of(stats)))
            })?;
        }
        for Family(name, help, of) in HISTOGRAMS {
            family(&mut encoder, name, help, MetricType::Histogram, &queues, |stats, mut encoder| {
                let histogram = of(stats);
                let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
                encoder.encode_histogram::<NoLabelSet>(
                    seconds(histogram.sum_us()),
                    histogram.count(),
                    &buckets,
                    None,
                )
            })?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "after 285 years of microseconds")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn family(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    queues: &[(String, Stats)],
    one: impl Fn(&Stats, prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (queue, stats) in queues {
        let labels = [("name", queue.as_str())];
        one(stats, family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.queues.lock().keys()).finish()
    }
}
