//! What there is to show.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::{Diagnosed, Elector, LockKey, NameLocks, Recorder};
use machinery_informers::{Informer, KeyedInformers, NameTaken, Text};
use machinery_objects::{Kind, Object};
use machinery_sync::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::looks;
use crate::ObjectType;

/// What a plane shows, each part under its name, and their metrics.
#[derive(Default)]
pub(crate) struct Shown {
    informers: Looks,
    keyed: Looks,
    locks: Looks,
    recorders: Looks,
    electors: Mutex<BTreeMap<String, Elector>>,
    /// Of which objects each is, if of any.
    controllers: Mutex<Vec<(Option<Kind>, Diagnosed)>>,
    informer_metrics: machinery_informers::Metrics,
    controller_metrics: machinery_controllers::Metrics,
    /// Whoever runs on the plane counts things of its own.
    others: Mutex<Registry>,
}

type Looks = Mutex<BTreeMap<String, Look>>;
type Look = Arc<dyn Fn() -> Value + Send + Sync>;

/// Who leads and has not renewed so long after others may is blocked as a whole.
const BLOCKED: Duration = Duration::from_secs(10);

impl Shown {
    /// The informer of all objects of a kind.
    pub(crate) fn informer<K: ObjectType>(&self, kind: &Kind, informer: &Informer<K>) {
        let name = kind.to_string();
        // Another type may show the same kind.
        if self.own_informer(&name, informer).is_err() {
            let _ = self.own_informer(&format!("{name} as {}", std::any::type_name::<K>()), informer);
        }
    }

    /// An informer of somebody's own.
    pub(crate) fn own_informer<T: Object>(
        &self,
        name: &str,
        informer: &Informer<T>,
    ) -> Result<(), NameTaken> {
        self.informer_metrics.watch(name, informer)?;
        let informer = informer.clone();
        self.informers.lock().insert(name.into(), Arc::new(move || looks::informer(&informer)));
        Ok(())
    }

    pub(crate) fn keyed<F: Text, T: Object>(
        &self,
        name: &str,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), NameTaken> {
        self.informer_metrics.watch_keyed(name, informers)?;
        let informers = informers.clone();
        self.keyed.lock().insert(name.into(), Arc::new(move || looks::keyed(&informers)));
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
        // One that was replaced is shown as long as it is used elsewhere.
        let _ = self.controller_metrics.watch_election(&name, elector);
    }

    pub(crate) fn locks<N: LockKey, L: Object>(&self, kind: &Kind, locks: &NameLocks<N, L>) {
        let shown = locks.clone();
        let name = put(&self.locks, kind.to_string(), move || looks::locks(&shown));
        let _ = self.controller_metrics.watch_locks(&name, locks);
    }

    pub(crate) fn recorder(&self, component: &str, recorder: &Recorder) {
        let shown = recorder.clone();
        let name = put(&self.recorders, component.into(), move || looks::recorder(&shown));
        let _ = self.controller_metrics.watch_recorder(&name, recorder);
    }

    pub(crate) fn controller(&self, kind: Option<&Kind>, controller: Diagnosed) {
        let mut controllers = self.controllers.lock();
        controllers.retain(|(_, controller)| controller.name().is_some());
        controllers.push((kind.cloned(), controller));
    }

    pub(crate) const fn controller_metrics(&self) -> &machinery_controllers::Metrics {
        &self.controller_metrics
    }

    /// Everything, but for single objects.
    pub(super) fn overview(&self) -> Value {
        let electors = self.electors.lock().clone();
        let leases: BTreeMap<_, _> =
            electors.iter().map(|(name, elector)| (name, looks::elector(elector))).collect();
        let controllers: BTreeMap<_, _> = self
            .all()
            .into_iter()
            .filter_map(|(kind, controller)| {
                let mut overview = controller.overview()?;
                overview["kind"] = name_of(kind.as_ref()).into();
                Some((controller.name()?, overview))
            })
            .collect();
        json!({
            "informers": all(&self.informers),
            "keyedInformers": all(&self.keyed),
            "controllers": controllers,
            "leases": leases,
            "locks": all(&self.locks),
            "recorders": all(&self.recorders),
        })
    }

    pub(crate) fn register(&self, metrics: impl FnOnce(&mut Registry)) {
        metrics(&mut self.others.lock());
    }

    /// All numbers, as OpenMetrics has them.
    pub(crate) fn metrics(&self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.informer_metrics.clone()));
        registry.register_collector(Box::new(self.controller_metrics.clone()));
        let mut page = String::new();
        // Nothing that is written into a text can fail; what one's own collector refuses is where the page ends.
        let _ = text::encode_registry(&mut page, &registry);
        let _ = text::encode_registry(&mut page, &self.others.lock());
        let _ = text::encode_eof(&mut page);
        page
    }

    /// What each controller of a kind knows of an object. The kind is called as kubectl takes it, or as the controller is.
    pub(super) fn explain(&self, kind: &str, object: &str) -> Vec<Value> {
        let is_meant = |of: Option<&Kind>, name: &str| {
            let of_kind = |of: &Kind| {
                [of.plural(), of.name(), &of.name().to_lowercase(), &of.to_string()].contains(&kind)
            };
            name == kind || of.is_some_and(of_kind)
        };
        let mut found = Vec::new();
        for (of, controller) in self.all() {
            let Some(name) = controller.name().filter(|name| is_meant(of.as_ref(), name)) else { continue };
            let known = controller.explain(object);
            found.push(
                json!({ "controller": name, "kind": name_of(of.as_ref()), "object": object, "known": known }),
            );
        }
        found
    }

    /// What keeps it from being ready, in words.
    pub(super) fn unready(&self) -> Vec<String> {
        let overview = self.overview();
        let mut why = Vec::new();
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
            // One that does not run may wait for its turn to lead.
            if !["working", "idle"].contains(&controller["phase"].as_str().unwrap_or_default()) {
                why.push(format!(
                    "the controller {name} is {}",
                    controller["phase"].as_str().unwrap_or("gone")
                ));
            }
        }
        why
    }

    /// What does nothing any more, in words: controllers all of whose workers are stuck, and who leads and does not renew. One worker that is
    /// stuck is its object's matter.
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
            why.extend(elector.check(BLOCKED).err().map(|error| format!("the Lease {name}: {error}")));
        }
        why
    }

    fn all(&self) -> Vec<(Option<Kind>, Diagnosed)> {
        self.controllers.lock().clone()
    }
}

/// What a controller is of.
fn name_of(kind: Option<&Kind>) -> String {
    kind.map_or_else(|| "requests".into(), ToString::to_string)
}

fn all(looks: &Looks) -> BTreeMap<String, Value> {
    let looks = looks.lock().clone();
    looks.into_iter().map(|(name, look)| (name, look())).collect()
}

/// Under this name, or the first free one behind it.
fn put(looks: &Looks, name: String, look: impl Fn() -> Value + Send + Sync + 'static) -> String {
    let mut looks = looks.lock();
    let mut named = name.clone();
    for number in 2.. {
        if !looks.contains_key(&named) {
            break;
        }
        named = format!("{name} {number}");
    }
    looks.insert(named.clone(), Arc::new(look));
    named
}
