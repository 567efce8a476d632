//! Controllers in a prometheus-client registry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use machinery_objects::Object;
use machinery_sync::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::controller::{Controller, Observed, Seen};
use crate::{Counts, LockKey, NameLocks, Phase, Request};

/// The controllers of a process, for one registry, and their queues under the names of client-go. Each metric is one family with the label
/// `name`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use machinery_controllers::{Controller, Metrics};
/// use prometheus_client::{encoding::text, registry::Registry};
///
/// let controller = Controller::<u32, u32>::of_requests("ports").build()?;
/// let metrics = Metrics::new();
/// metrics.watch(&controller)?;
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(metrics));
///
/// let mut page = String::new();
/// text::encode(&mut page, &registry)?;
/// assert!(page.contains("machinery_controller_runs_total{name=\"ports\",result=\"failed\"} 0\n"));
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    controllers: Arc<Mutex<BTreeMap<String, Weak<dyn Observed>>>>,
    locks: Arc<Mutex<Vec<Misnamed>>>,
}

/// Of which kind locks are, and how many of them are misnamed.
type Misnamed = (String, Weak<AtomicUsize>);

/// Another controller has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another controller is watched as {name:?}; give each its own name, or drop that one first")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

impl Metrics {
    /// No controllers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a controller under its name, as long as it exists.
    ///
    /// # Errors
    /// Another one that still exists has the name.
    pub fn watch<K: Request, S: Send + Sync + 'static>(
        &self,
        controller: &Controller<K, S>,
    ) -> Result<(), NameTaken> {
        let name = controller.name().to_owned();
        let mut controllers = self.controllers.lock();
        controllers.retain(|_, other| other.strong_count() > 0);
        if controllers.contains_key(&name) {
            return Err(NameTaken { name });
        }
        controllers.insert(name, controller.observed());
        Ok(())
    }

    /// Shows how many locks are called after no key, as long as these exist.
    pub fn watch_locks<K: LockKey, L: Object>(&self, locks: &NameLocks<K, L>) {
        let (kind, misnamed) = locks.seen();
        let mut locks = self.locks.lock();
        locks.retain(|(_, other)| other.strong_count() > 0);
        locks.push((kind.to_string(), Arc::downgrade(misnamed)));
    }

    /// Misnamed locks, by kind.
    fn misnamed(&self) -> BTreeMap<String, usize> {
        let mut all = BTreeMap::new();
        for (kind, misnamed) in &*self.locks.lock() {
            let Some(misnamed) = misnamed.upgrade() else { continue };
            *all.entry(kind.clone()).or_default() += misnamed.load(Relaxed);
        }
        all
    }

    fn look(&self, queues: &machinery_workqueue::Metrics) -> Vec<(String, Seen)> {
        let mut live = Vec::new();
        self.controllers.lock().retain(|name, controller| {
            let controller = controller.upgrade();
            live.extend(controller.as_ref().map(|controller| (name.clone(), controller.clone())));
            controller.is_some()
        });
        live.into_iter().map(|(name, controller)| (name, controller.look(queues))).collect()
    }
}

/// How runs ended, one by one: there are zeros from the beginning.
const ENDINGS: [Ending; 7] = [
    Ending("done", |counts| counts.done),
    Ending("after", |counts| counts.after),
    Ending("absent", |counts| counts.absent),
    Ending("failed", |counts| counts.failed),
    Ending("panicked", |counts| counts.panicked),
    Ending("timed_out", |counts| counts.timed_out),
    Ending("dropped", |counts| counts.dropped),
];

/// One way to end, and where its number is.
struct Ending(&'static str, fn(&Counts) -> u64);

struct Family(&'static str, &'static str, fn(&Seen) -> u64);

const COUNTERS: [Family; 4] = [
    Family("machinery_controller_stuck", "Runs that were reported as stuck", |seen| seen.counts.stuck),
    Family(
        "machinery_controller_impatient",
        "Keys that were let go before what they wrote could be read",
        |seen| seen.counts.impatient,
    ),
    Family("machinery_controller_source_panics", "Events on which a function of a source panicked", |seen| {
        seen.counts.source_panics
    }),
    Family(
        "machinery_controller_waited_for_room",
        "Times that a source waited for room in the queue",
        |seen| seen.counts.waited_for_room,
    ),
];

const GAUGES: [Family; 4] = [
    Family("machinery_controller_working", "Whether it works", |seen| (seen.phase == Phase::Working).into()),
    Family("machinery_controller_workers", "Runs that there may be at once", |seen| seen.workers as u64),
    Family("machinery_controller_running", "Runs that are under way", |seen| seen.running as u64),
    Family("machinery_controller_stuck_now", "Of these, those that are stuck", |seen| seen.stuck as u64),
];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let queues = machinery_workqueue::Metrics::new();
        let seen = self.look(&queues);
        if !seen.is_empty() {
            let (name, help) = ("machinery_controller_runs", "Runs that ended, and how");
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (name, seen) in &seen {
                for Ending(result, of) in ENDINGS {
                    let labels = [("name", name.as_str()), ("result", result)];
                    let mut encoder = family.encode_family(&labels)?;
                    encoder.encode_counter::<NoLabelSet, _, u64>(&of(&seen.counts), None)?;
                }
            }
        }
        for Family(name, help, of) in &COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (name, seen) in &seen {
                let labels = [("name", name.as_str())];
                let mut encoder = family.encode_family(&labels)?;
                encoder.encode_counter::<NoLabelSet, _, u64>(&of(seen), None)?;
            }
        }
        for Family(name, help, of) in &GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (name, seen) in &seen {
                let labels = [("name", name.as_str())];
                let mut encoder = family.encode_family(&labels)?;
                encoder.encode_gauge(&i64::try_from(of(seen)).unwrap_or(i64::MAX))?;
            }
        }
        let misnamed = self.misnamed();
        if !misnamed.is_empty() {
            let (name, help) = ("machinery_locks_misnamed", "Locks that are called after no key");
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (kind, count) in misnamed {
                let labels = [("kind", kind.as_str())];
                family.encode_family(&labels)?.encode_gauge(&i64::try_from(count).unwrap_or(i64::MAX))?;
            }
        }
        queues.encode(encoder)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.controllers.lock().keys()).finish()
    }
}
