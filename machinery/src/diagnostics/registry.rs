//! The components of a plane, by name, for diagnostics and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::{
    ControllerDiagnostics, Elector, LockKey, NameLocks, Owner, Recorder, SilenceDetector,
};
use machinery_informers::{Informer, KeyedInformers, NameTaken, SelectorKey};
use machinery_metrics::{Description, MetricSet};
use machinery_objects::{Kind, Object};
use machinery_sync::Mutex;
use prometheus_client::encoding::text;
use serde_json::{Value, json};

use super::components;
use crate::ObjectType;

/// The components of a plane, by name, and their metrics.
#[derive(Default)]
pub(crate) struct DiagnosticsRegistry {
    informers: Components,
    keyed: Components,
    locks: Components,
    recorders: Components,
    silence: Components,
    electors: Mutex<BTreeMap<String, Elector>>,
    /// Controllers, with the kind of their objects.
    controllers: Mutex<Vec<(Option<Kind>, ControllerDiagnostics)>>,
    informer_metrics: machinery_informers::Metrics,
    controller_metrics: machinery_controllers::Metrics,
    /// Metrics that the program registers.
    others: Mutex<MetricSet>,
}

type Components = Mutex<BTreeMap<String, ComponentFn>>;
type ComponentFn = Arc<dyn Fn() -> Value + Send + Sync>;

/// Tolerance beyond the lease duration, after which an unrenewed leader counts as blocked.
const RENEWAL_TOLERANCE: Duration = Duration::from_secs(10);

impl DiagnosticsRegistry {
    /// Registers the shared informer of a kind.
    pub(crate) fn informer<K: ObjectType>(&self, kind: &Kind, informer: &Informer<K>) {
        let name = kind.to_string();
        // Another type may have the same kind.
        if self.own_informer(&name, informer).is_err() {
            let _ = self.own_informer(&format!("{name} as {}", std::any::type_name::<K>()), informer);
        }
    }

    /// Registers an informer of the program.
    pub(crate) fn own_informer<T: Object>(
        &self,
        name: &str,
        informer: &Informer<T>,
    ) -> Result<(), NameTaken> {
        self.informer_metrics.watch(name, informer)?;
        let informer = informer.clone();
        self.informers.lock().insert(name.into(), Arc::new(move || components::informer(&informer)));
        Ok(())
    }

    pub(crate) fn keyed<F: SelectorKey, T: Object>(
        &self,
        name: &str,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), NameTaken> {
        self.informer_metrics.watch_keyed(name, informers)?;
        let informers = informers.clone();
        self.keyed.lock().insert(name.into(), Arc::new(move || components::keyed(&informers)));
        Ok(())
    }

    pub(crate) fn elector(&self, elector: &Elector) {
        let config = elector.config();
        let mut name = config.lease.to_string();
        let mut electors = self.electors.lock();
        if electors.get(&name).is_some_and(|other| other.config().identity != config.identity) {
            name = format!("{name} as {}", config.identity);
        }
        electors.insert(name.clone(), elector.clone());
        drop(electors);
        // A replaced elector remains in the metrics while it is used elsewhere.
        let _ = self.controller_metrics.watch_election(&name, elector);
    }

    pub(crate) fn locks<N: LockKey, L: Object>(&self, kind: &Kind, locks: &NameLocks<N, L>) {
        let diagnostics = locks.clone();
        let name = insert_unique(&self.locks, kind.to_string(), move || components::locks(&diagnostics));
        let _ = self.controller_metrics.watch_locks(&name, locks);
    }

    pub(crate) fn recorder(&self, component: &str, recorder: &Recorder) {
        let diagnostics = recorder.clone();
        let name =
            insert_unique(&self.recorders, component.into(), move || components::recorder(&diagnostics));
        let _ = self.controller_metrics.watch_recorder(&name, recorder);
    }

    pub(crate) fn silence<T: Object, O: Owner>(
        &self,
        name: &str,
        detector: &SilenceDetector<T, O>,
    ) -> Result<(), machinery_controllers::NameTaken> {
        self.controller_metrics.watch_silence(name, detector)?;
        let detector = detector.clone();
        self.silence.lock().insert(name.into(), Arc::new(move || components::silence(&detector)));
        Ok(())
    }

    pub(crate) fn controller(&self, kind: Option<&Kind>, controller: ControllerDiagnostics) {
        let mut controllers = self.controllers.lock();
        // References are weak: entries of dropped controllers are removed here.
        controllers.retain(|(_, controller)| controller.name().is_some());
        controllers.push((kind.cloned(), controller));
    }

    pub(crate) const fn controller_metrics(&self) -> &machinery_controllers::Metrics {
        &self.controller_metrics
    }

    /// Returns the state of all components as JSON, by kind of component and name.
    pub(super) fn overview(&self) -> Value {
        let electors = self.electors.lock().clone();
        let leases: BTreeMap<_, _> =
            electors.iter().map(|(name, elector)| (name, components::elector(elector))).collect();
        let controllers: BTreeMap<_, _> = self
            .all()
            .into_iter()
            .filter_map(|(kind, controller)| {
                let mut overview = controller.overview()?;
                overview["kind"] = kind_name(kind.as_ref()).into();
                Some((controller.name()?, overview))
            })
            .collect();
        json!({
            "informers": describe_all(&self.informers),
            "keyedInformers": describe_all(&self.keyed),
            "controllers": controllers,
            "leases": leases,
            "locks": describe_all(&self.locks),
            "recorders": describe_all(&self.recorders),
            "silence": describe_all(&self.silence),
        })
    }

    pub(crate) fn register(&self, metrics: impl FnOnce(&mut MetricSet)) {
        metrics(&mut self.others.lock());
    }

    /// Returns the descriptions of all metrics: those of the program first.
    pub(crate) fn descriptions(&self) -> Vec<Description> {
        let own = self.others.lock().descriptions().to_vec();
        own.into_iter().chain(crate::metric_descriptions()).collect()
    }

    /// Returns all metrics in the OpenMetrics format.
    pub(crate) fn metrics(&self) -> String {
        let mut set = MetricSet::default();
        set.add(&self.informer_metrics);
        set.add(&self.controller_metrics);
        let mut page = String::new();
        // Writing to a string cannot fail; an error of a registered collector ends the page early.
        let _ = set.write(&mut page);
        // One end mark for both.
        let _ = self.others.lock().write(&mut page);
        let _ = text::encode_eof(&mut page);
        page
    }

    /// Returns the explanation of an object by each matching controller. `kind` is any name that
    /// kubectl accepts, or the name of the controller.
    pub(super) fn explain(&self, kind: &str, object: &str) -> Vec<Value> {
        let matches = |of: Option<&Kind>, name: &str| {
            let of_kind = |of: &Kind| {
                [of.plural(), of.name(), &of.name().to_lowercase(), &of.to_string()].contains(&kind)
            };
            name == kind || of.is_some_and(of_kind)
        };
        let mut found = Vec::new();
        for (of, controller) in self.all() {
            let Some(name) = controller.name().filter(|name| matches(of.as_ref(), name)) else { continue };
            let known = controller.explain(object);
            found.push(
                json!({ "controller": name, "kind": kind_name(of.as_ref()), "object": object, "known": known }),
            );
        }
        found
    }

    /// Returns the reasons for not being ready.
    pub(super) fn unready(&self) -> Vec<String> {
        let overview = self.overview();
        let mut why = Vec::new();
        // Keyed informers do not count: keys are acquired while the program is ready.
        for (name, informer) in overview["informers"].as_object().into_iter().flatten() {
            if informer["synced"] != true {
                why.push(format!("the informer of {name} is not synced: {}", informer["trouble"]));
            }
        }
        for (name, locks) in overview["locks"].as_object().into_iter().flatten() {
            if locks["synced"] != true {
                why.push(format!("the informer of the locks {name} is not synced: {}", locks["trouble"]));
            }
        }
        for (name, controller) in overview["controllers"].as_object().into_iter().flatten() {
            // An idle controller may be waiting to lead.
            if !["working", "idle"].contains(&controller["phase"].as_str().unwrap_or_default()) {
                why.push(format!(
                    "the controller {name} is {}",
                    controller["phase"].as_str().unwrap_or("gone")
                ));
            }
        }
        why
    }

    /// Returns the reasons for being unhealthy: controllers with all workers stuck, and leaders
    /// that do not renew. A single stuck worker affects only its object.
    pub(super) fn stuck(&self) -> Vec<String> {
        let overview = self.overview();
        let mut why = Vec::new();
        for (name, controller) in overview["controllers"].as_object().into_iter().flatten() {
            let running = controller["running"].as_array().into_iter().flatten();
            let stuck: Vec<_> = running.filter(|running| running["stuck"] == true).collect();
            if controller["workers"]
                .as_u64()
                .is_some_and(|workers| workers > 0 && workers == stuck.len() as u64)
            {
                let (object, seconds) = (&stuck[0]["object"], &stuck[0]["seconds"]);
                why.push(format!("all workers of {name} are stuck, one for {seconds} s at {object}"));
            }
        }
        for (name, elector) in self.electors.lock().clone() {
            why.extend(
                elector.check(RENEWAL_TOLERANCE).err().map(|error| format!("the Lease {name}: {error}")),
            );
        }
        why
    }

    fn all(&self) -> Vec<(Option<Kind>, ControllerDiagnostics)> {
        self.controllers.lock().clone()
    }
}

/// Returns the text for a controller's kind.
fn kind_name(kind: Option<&Kind>) -> String {
    kind.map_or_else(|| "requests".into(), ToString::to_string)
}

fn describe_all(components: &Components) -> BTreeMap<String, Value> {
    // Cloned, so that no lock is held while a component reads its state.
    let components = components.lock().clone();
    components.into_iter().map(|(name, describe)| (name, describe())).collect()
}

/// Inserts under this name, or the first free one with a number appended.
fn insert_unique(
    components: &Components,
    name: String,
    describe: impl Fn() -> Value + Send + Sync + 'static,
) -> String {
    let mut components = components.lock();
    let mut named = name.clone();
    for number in 2.. {
        if !components.contains_key(&named) {
            break;
        }
        named = format!("{name} {number}");
    }
    components.insert(named.clone(), Arc::new(describe));
    named
}
