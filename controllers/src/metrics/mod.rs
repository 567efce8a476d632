//! Controllers, elections, name locks and recorders in a prometheus-client registry.

mod controllers;
mod elections;
mod fights;
mod locks;
mod recorders;
mod silence;
mod watched;

use std::fmt;
use std::sync::Arc;

use machinery_metrics::{Described, Description, MetricSet};
use machinery_objects::Object;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use self::controllers::CONTROLLERS;
use self::elections::ELECTIONS;
use self::locks::LOCKS;
use self::recorders::RECORDERS;
use self::silence::SILENCE;
use self::watched::Watched;
use crate::controller::{Controller, ObservedController};
use crate::locks::LockSample;
use crate::{
    ElectionState, Elector, LockKey, NameLocks, Owner, Recorder, RecorderCounts, Request, SilenceCounts,
    SilenceDetector,
};

/// A collector of a process's controllers, their queues (under the names of client-go), elections,
/// name locks, recorders and silence detectors. Each metric is one family with the label `name`.
///
/// Leadership is `leader_election_master_status`, as in client-go; all other names begin with
/// `machinery_`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
pub struct Metrics(Arc<MetricSources>);

#[derive(Default)]
struct MetricSources {
    controllers: Watched<Arc<dyn ObservedController>>,
    elections: Watched<ElectionState>,
    locks: Watched<LockSample>,
    recorders: Watched<RecorderCounts>,
    silence: Watched<SilenceCounts>,
}

/// The name is in use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another one is watched as {name:?}; give each its own name, or drop that one first")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

impl Metrics {
    /// Creates an empty collector.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the descriptions of all metrics, those of the queues included.
    pub fn descriptions() -> impl Iterator<Item = Description> {
        let queues = machinery_workqueue::Metrics::descriptions();
        let controllers = CONTROLLERS.descriptions().chain([self::fights::FIGHT_RATE]).chain(queues);
        let locks = LOCKS.descriptions().chain(ELECTIONS.descriptions());
        controllers.chain(locks).chain(RECORDERS.descriptions()).chain(SILENCE.descriptions())
    }

    /// Exports a controller under its name, while it exists.
    ///
    /// # Errors
    /// Another existing controller has the name.
    pub fn watch<K: Request, S: Send + Sync + 'static>(
        &self,
        controller: &Controller<K, S>,
    ) -> Result<(), NameTaken> {
        let observed = controller.observe();
        self.0.controllers.add(controller.name(), move || observed.upgrade())
    }

    /// Exports an election, while its elector exists. The name is preferably that of the Lease.
    ///
    /// # Errors
    /// Another existing election has the name.
    pub fn watch_election(&self, name: &str, elector: &Elector) -> Result<(), NameTaken> {
        self.0.elections.add(name, elector.metrics_source())
    }

    /// Exports name locks, while they exist.
    ///
    /// # Errors
    /// Other existing locks have the name.
    pub fn watch_locks<K: LockKey, L: Object>(
        &self,
        name: &str,
        locks: &NameLocks<K, L>,
    ) -> Result<(), NameTaken> {
        self.0.locks.add(name, locks.metrics_source())
    }

    /// Exports a recorder, while it exists. The name is preferably that of its component.
    ///
    /// # Errors
    /// Another existing recorder has the name.
    pub fn watch_recorder(&self, name: &str, recorder: &Recorder) -> Result<(), NameTaken> {
        self.0.recorders.add(name, recorder.metrics_source())
    }

    /// Exports a detector of silent owners, while it exists.
    ///
    /// # Errors
    /// Another existing detector has the name.
    pub fn watch_silence<T: Object, O: Owner>(
        &self,
        name: &str,
        detector: &SilenceDetector<T, O>,
    ) -> Result<(), NameTaken> {
        self.0.silence.add(name, detector.metrics_source())
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let MetricSources { controllers, elections, locks, recorders, silence } = &*self.0;
        ELECTIONS.encode(&mut encoder, &elections.sample())?;
        LOCKS.encode(&mut encoder, &locks.sample())?;
        RECORDERS.encode(&mut encoder, &recorders.sample())?;
        SILENCE.encode(&mut encoder, &silence.sample())?;
        let queues = machinery_workqueue::Metrics::new();
        let controllers = controllers.sample().into_iter();
        let controllers: Vec<_> = controllers.map(|(name, one)| (name, one.sample(&queues))).collect();
        CONTROLLERS.encode(&mut encoder, &controllers)?;
        fights::encode(&mut encoder, &controllers)?;
        queues.encode(encoder)
    }
}

impl Described for Metrics {
    fn register(&self, set: &mut MetricSet) {
        set.collect(self.clone(), Self::descriptions());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MetricSources { controllers, elections, locks, recorders, silence } = &*self.0;
        f.debug_struct("Metrics")
            .field("controllers", controllers)
            .field("elections", elections)
            .field("locks", locks)
            .field("recorders", recorders)
            .field("silence", silence)
            .finish()
    }
}
