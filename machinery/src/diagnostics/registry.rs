//! The components of a plane, by name, for diagnostics and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::{
    ControllerDiagnostics, Elector, LockKey, NameLocks, Owner, Recorder, SilenceDetector,
};
use machinery_informers::{Informer, KeyedInformers, NameTaken, SelectorKey};
use machinery_metrics::{Description, MetricSet};
use machinery_objects::{Kind, Object, Unreadable};
use machinery_sync::Mutex;
use prometheus_client::encoding::text;
use serde_json::{Value, json};

use super::components;
use crate::ObjectType;

/// The components of a plane, by name, and their metrics.
#[derive(Default)]
pub(crate) struct DiagnosticsRegistry {
    informers: Components,
    /// Finds the unreadable objects of each informer.
    unreadable: Mutex<BTreeMap<String, UnreadableFn>>,
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
type UnreadableFn = Arc<dyn Fn() -> Vec<Unreadable> + Send + Sync>;
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
        let (informer, decoded) = (informer.clone(), informer.clone());
        self.informers.lock().insert(name.into(), Arc::new(move || components::informer(&informer)));
        self.unreadable.lock().insert(name.into(), Arc::new(move || decoded.state().unreadable));
        Ok(())
    }

    pub(crate) fn has_informer(&self, name: &str) -> bool {
        self.informers.lock().contains_key(name)
    }

    pub(crate) fn keyed<F: SelectorKey, T: Object>(
        &self,
        name: &str,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), NameTaken> {
        self.informer_metrics.watch_keyed(name, informers)?;
        let informers = informers.clone();
        let decoded = informers.clone();
        self.keyed.lock().insert(name.into(), Arc::new(move || components::keyed(&informers)));
        self.unreadable.lock().insert(name.into(), Arc::new(move || decoded.state().unreadable));
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
        let mut found = Vec::new();
        for (of, controller) in self.all() {
            let Some(name) = controller.name() else { continue };
            let is_of_requests = of.is_none() && ["request", REQUESTS].contains(&kind);
            if name == kind || is_of_requests || of.as_ref().is_some_and(|of| is_named(of, kind)) {
                let known = controller.explain(object);
                let unreadable = of.as_ref().and_then(|of| self.unreadable_reason(of, object));
                found.push(json!({
                    "controller": name, "kind": kind_name(of.as_ref()), "object": object, "known": known,
                    "unreadable": unreadable,
                }));
            } else if of.is_none() && controller.sources().iter().any(|source| source_is(source, kind)) {
                // An event of the object makes requests, under keys of their own.
                let (keys, watches) = (controller.keys(SHOWN_REQUESTS), kind);
                found.push(json!({ "controller": name, "kind": REQUESTS, "watches": watches, "keys": keys }));
            }
        }
        found
    }

    /// Returns the reason for which an object of a kind cannot be decoded.
    fn unreadable_reason(&self, kind: &Kind, object: &str) -> Option<String> {
        let find = self.unreadable.lock().get(&kind.to_string()).cloned()?;
        find().into_iter().find(|one| one.key.to_string() == object).map(|one| one.reason)
    }

    /// Returns the defects that are no reason for a restart: objects that cannot be decoded, and
    /// locks whose waiters nobody notifies.
    pub(super) fn degraded(&self) -> Vec<String> {
        let all = self.unreadable.lock().clone();
        let mut defects = Vec::new();
        for (name, find) in all {
            let unreadable = find();
            let more = unreadable.len().saturating_sub(SHOWN_UNREADABLE);
            defects.extend(unreadable.iter().take(SHOWN_UNREADABLE).map(|one| format!("{name}: {one}")));
            if more > 0 {
                defects.push(format!("{name}: {more} more objects cannot be read"));
            }
        }
        for (name, locks) in describe_all(&self.locks) {
            if locks["notifiesWaiters"] == false && locks["waiters"].as_u64().is_some_and(|count| count > 0) {
                defects.push(format!(
                    "the locks {name} notify no waiter: pass them to PlaneController::claiming"
                ));
            }
        }
        defects
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

/// Shown instead of the kind of a controller of requests.
const REQUESTS: &str = "requests";
/// Maximum numbers of requests and of unreadable objects per informer that a page names.
const SHOWN_REQUESTS: usize = 20;
const SHOWN_UNREADABLE: usize = 20;

/// Returns the text for a controller's kind.
fn kind_name(kind: Option<&Kind>) -> String {
    kind.map_or_else(|| REQUESTS.into(), ToString::to_string)
}

/// Returns whether this is one of the names of a kind.
fn is_named(kind: &Kind, name: &str) -> bool {
    [kind.plural(), kind.name(), &kind.name().to_lowercase(), &kind.to_string()].contains(&name)
}

/// Returns whether a source, named by the plural of its kind, is of this kind.
fn source_is(source: &str, kind: &str) -> bool {
    let plural = kind.split_once('.').map_or(kind, |(plural, _)| plural).to_lowercase();
    source == plural
        || source.strip_suffix("es").or(source.strip_suffix('s')) == Some(&plural)
        || source.strip_suffix('s') == Some(&plural)
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
