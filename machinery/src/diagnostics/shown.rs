//! What there is to show.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_controllers::Diagnosed;
use machinery_informers::Informer;
use machinery_objects::Kind;
use machinery_sync::Mutex;
use serde_json::{Value, json};

use crate::ObjectType;

/// What a plane shows: its informers, its controllers, and their metrics.
#[derive(Default)]
pub(crate) struct Shown {
    informers: Mutex<BTreeMap<String, Look>>,
    /// Of which objects each is, if of any.
    controllers: Mutex<Vec<(Option<Kind>, Diagnosed)>>,
    pub(super) informer_metrics: machinery_informers::Metrics,
    pub(super) controller_metrics: machinery_controllers::Metrics,
}

type Look = Arc<dyn Fn() -> Value + Send + Sync>;

impl Shown {
    pub(crate) fn informer<K: ObjectType>(&self, kind: &Kind, informer: &Informer<K>) {
        let mut name = kind.to_string();
        // Another type may show the same kind.
        if self.informer_metrics.watch(&*name, informer).is_err() {
            name = format!("{name} as {}", std::any::type_name::<K>());
            let _ = self.informer_metrics.watch(&*name, informer);
        }
        let informer = informer.clone();
        self.informers.lock().insert(name, Arc::new(move || overview(&informer)));
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
        let informers = self.informers.lock().clone();
        let informers: BTreeMap<_, _> = informers.iter().map(|(name, look)| (name, look())).collect();
        let controllers: BTreeMap<_, _> = self
            .all()
            .into_iter()
            .filter_map(|(kind, controller)| {
                let mut overview = controller.overview()?;
                overview["kind"] = name_of(kind.as_ref()).into();
                Some((controller.name()?, overview))
            })
            .collect();
        json!({ "informers": informers, "controllers": controllers })
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

    /// Controllers that do nothing any more, in words: all their workers are stuck. One that is stuck is its object's matter.
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

fn overview<K: ObjectType>(informer: &Informer<K>) -> Value {
    let state = informer.state();
    json!({
        "synced": state.synced,
        "closed": state.closed,
        "objects": state.objects,
        "trouble": state.trouble.map(|trouble| trouble.to_string()),
        "silentSeconds": state.silent_for.as_secs_f64(),
        "unreadable": state.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "handlers": state.handlers,
        "handlerDue": state.lag.due,
        "handlerLagSeconds": state.lag.waiting.as_secs_f64(),
        "lists": state.counts.lists,
        "watches": state.counts.watches,
        "events": state.counts.events,
    })
}
