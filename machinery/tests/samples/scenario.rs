//! Scenarios for a controller that may crash, with expected states.

use super::apps::{Adopts, App, AppName, app, by_uid, merge, owner_uid, strangers};
use super::full_controller::Sample;
use super::outside::Outside;
use super::servers::TestServer;
use machinery::ObjectType;
use machinery::informers::Informer;
use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::objects::{Deletion, Object, ObjectKey, Preconditions, ResourceVersion};
use machinery::testing::CrashGate;
use machinery::tokio::task::JoinHandle;
use machinery::tokio::time::{Duration, Instant, sleep};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Actions of a step, and the state expected after it.
pub(crate) type Step = (&'static [ScenarioAction], &'static str);

#[derive(Clone, Copy, Debug)]
pub(crate) enum ScenarioAction {
    Create(&'static str, &'static str, u32),
    Change(&'static str, &'static str, u32),
    Delete(&'static str),
    /// Another client creates an object with a child's name.
    Take(&'static str),
    /// Another client adds a finalizer to a child.
    Hold(&'static str),
    /// Removes such an object or finalizer.
    Free(&'static str),
}

use ScenarioAction::{Change, Create, Delete, Free, Hold, Take};

pub(crate) const STEPS: [Step; 12] = [
    (&[Create("a", "x", 2)], "a is x with 2; a-0 of a is x; a-1 of a is x; outside a is x; x of a"),
    (
        &[Create("b", "x", 2)],
        "a is x with 2; a-0 of a is x; a-1 of a is x; b is nothing with 0; outside a is x; x of a",
    ),
    (&[Change("a", "x", 1)], "a is x with 1; a-0 of a is x; b is nothing with 0; outside a is x; x of a"),
    (
        &[Change("a", "y", 1)],
        "a is y with 1; a-0 of a is y; b is x with 2; b-0 of b is x; b-1 of b is x; outside a is y; outside b is x; \
         x of b; y of a",
    ),
    (
        &[Delete("a"), Change("b", "x", 3)],
        "b is x with 3; b-0 of b is x; b-1 of b is x; b-2 of b is x; outside b is x; x of b",
    ),
    (&[Create("a", "x", 1), Delete("b")], "a is x with 1; a-0 of a is x; outside a is x; x of a"),
    (&[Take("a-1")], "a is x with 1; a-0 of a is x; a-1 of a stranger is theirs; outside a is x; x of a"),
    // The foreign object blocks the child and is not changed.
    (
        &[Change("a", "x", 2)],
        "a is x with 1; a-0 of a is x; a-1 of a stranger is theirs; outside a is x; x of a",
    ),
    (&[Free("a-1")], "a is x with 2; a-0 of a is x; a-1 of a is x; outside a is x; x of a"),
    // An owner is recreated while dependents of its predecessor still exist.
    (&[Hold("a-0"), Delete("a")], "a-0 of a stranger is x"),
    (&[Create("a", "y", 2)], "a is y with 1; a-0 of a stranger is x; a-1 of a is y; outside a is y; y of a"),
    (&[Free("a-0")], "a is y with 2; a-0 of a is y; a-1 of a is y; outside a is y; y of a"),
];

/// Number of repeated requests at the end, which must have no effect.
const ROUNDS: usize = 10;

const PATIENCE: Duration = Duration::from_secs(60);

/// Plays all steps in a namespace, with the crash of a gate or without one.
pub(crate) async fn play(on: (&TestServer, &str), gate: Arc<CrashGate>) {
    let crash = gate.point();
    let mut world = ScenarioRun::new(on, by_uid, gate.clone()).await;
    for (acts, expected) in STEPS {
        world.does(acts, expected, &format!("crash at {crash:?}, after {acts:?}")).await;
    }
    assert_eq!(gate.has_crashed(), world.crashes == 1);
    world.is_silent(&format!("crash at {crash:?}")).await;
    world.stop().await;
}

pub(crate) struct ScenarioRun {
    place: TestServer,
    namespace: String,
    outside: Arc<Outside>,
    adopts: Adopts,
    sample: Sample,
    tasks: TaskTracker,
    running: JoinHandle<()>,
    crashes: usize,
}

impl ScenarioRun {
    pub(crate) async fn new(on: (&TestServer, &str), adopts: Adopts, gate: Arc<CrashGate>) -> Self {
        let (place, namespace) = (on.0.clone(), on.1.to_owned());
        let (outside, tasks) = (Arc::<Outside>::default(), TaskTracker::new());
        let sample = Sample::new((&place, &namespace), adopts, outside.clone(), gate);
        let running = tasks.spawn(sample.clone().run());
        Self { place, namespace, outside, adopts, sample, tasks, running, crashes: 0 }
    }

    pub(crate) async fn does(&mut self, acts: &[ScenarioAction], expected: &str, context: &str) {
        for act in acts {
            self.act(*act).await;
        }
        self.comes_to(expected, context).await;
    }

    async fn act(&self, act: ScenarioAction) {
        let (apps, maps) = (self.place.writer::<App>(), self.place.writer::<ConfigMap>());
        let key = |name| ObjectKey::new(Some(&self.namespace), name).unwrap();
        match act {
            Create(who, name, children) => {
                apps.create(&app(&key(who), name, children), None).await.unwrap();
            }
            Change(who, name, children) => {
                let body = format!(r#"{{"spec":{{"name":"{name}","children":{children}}}}}"#);
                apps.patch(&key(who), &merge(body), &Preconditions::default()).await.unwrap();
            }
            Delete(who) => drop(apps.delete(&key(who), &Deletion::default()).await.unwrap()),
            Take(what) => drop(maps.create(&strangers(&key(what)), None).await.unwrap()),
            Hold(what) => {
                let body = r#"{"metadata":{"finalizers":["example.com/held"]}}"#.to_owned();
                maps.patch(&key(what), &merge(body), &Preconditions::default()).await.unwrap();
            }
            Free(what) => {
                let body = r#"{"metadata":{"finalizers":null}}"#.to_owned();
                let freed = maps.patch(&key(what), &merge(body), &Preconditions::default()).await.unwrap();
                if !freed.object.is_deleting() {
                    maps.delete(&key(what), &Deletion::default()).await.unwrap();
                }
            }
        }
    }

    /// A crash loses all memory: the program is rebuilt.
    async fn restart_if_crashed(&mut self) {
        if !self.sample.gate.has_crashed() {
            return;
        }
        self.running.abort();
        let _ = (&mut self.running).await;
        self.crashes += 1;
        let place = (&self.place, self.namespace.as_str());
        self.sample = Sample::new(place, self.adopts, self.outside.clone(), CrashGate::open());
        self.running = self.tasks.spawn(self.sample.clone().run());
    }

    async fn comes_to(&mut self, expected: &str, context: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.restart_if_crashed().await;
            let is = self.state().await;
            if is == expected && self.is_idle().await {
                return;
            }
            assert!(Instant::now() < end, "{context}:\n it is       {is}\n it ought be {expected}");
            sleep(Duration::from_millis(1)).await;
        }
    }

    async fn is_silent(&mut self, context: &str) {
        let before = (self.sample.gate.effects(), self.versions().await);
        for round in 0..ROUNDS {
            for app in self.list::<App>().await {
                assert!(self.sample.controller.request(app.key(), &"repeated request").await);
            }
            while !self.is_idle().await {
                sleep(Duration::from_millis(1)).await;
            }
            let now = (self.sample.gate.effects(), self.versions().await);
            assert_eq!(now, before, "{context}: it wrote in round {round}");
        }
        assert_eq!(self.sample.controller.state().counts.cache_timeouts, 0, "{context}");
    }

    /// Returns whether nothing runs, is queued, or is undelivered.
    async fn is_idle(&self) -> bool {
        let queue = self.sample.controller.state().queue;
        self.is_shown(&self.sample.apps).await
            && self.is_shown(&self.sample.maps).await
            && self.is_shown(self.sample.locks.informer()).await
            && queue.is_some_and(|queue| queue.ready + queue.delayed + queue.in_flight + queue.held == 0)
    }

    async fn versions(&self) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
        let mut all = versions(self.list::<App>().await);
        all.extend(versions(self.list::<ConfigMap>().await));
        all.extend(versions(self.list::<AppName>().await));
        all
    }

    /// Lists live objects of the namespace.
    async fn list<K: ObjectType>(&self) -> Vec<Arc<K>> {
        self.place.list(&self.namespace).await
    }

    async fn is_shown<K: ObjectType>(&self, informer: &Informer<K>) -> bool {
        let shown = informer.read();
        let shown = shown.iter().map(|(_, object)| object.clone());
        let in_it = shown.filter(|object| object.key().namespace() == Some(&self.namespace)).collect();
        let (mut one, mut other) = (versions(in_it), versions(self.list::<K>().await));
        one.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        other.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        one == other
    }

    /// Returns the state of the namespace, without values that differ between runs; a deleted owner
    /// counts as foreign.
    async fn state(&self) -> String {
        let apps = self.list::<App>().await;
        let by_uid: BTreeMap<_, _> =
            apps.iter().map(|app| (app.uid().unwrap().to_owned(), app.key().name().to_owned())).collect();
        let owner = |uid: Option<&str>| {
            uid.and_then(|uid| by_uid.get(uid)).map_or("a stranger", String::as_str).to_owned()
        };
        let mut lines = BTreeSet::new();
        for app in &apps {
            let status = app.status.as_ref().map(|status| (status.name.as_deref(), status.children));
            let (name, children) = status.unwrap_or((Some("new"), 0));
            let going = if app.is_deleting() { " and goes" } else { "" };
            assert!(app.finalizers().len() <= 1, "{app:?}");
            lines.insert(format!(
                "{} is {} with {children}{going}",
                app.key().name(),
                name.unwrap_or("nothing")
            ));
        }
        for map in self.list::<ConfigMap>().await {
            let text = map.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str);
            let owner = owner(owner_uid(&map).as_deref());
            lines.insert(format!("{} of {owner} is {text}", map.key().name()));
        }
        for lock in self.list::<AppName>().await {
            let owners = lock.owners();
            lines.insert(format!(
                "{} of {}",
                lock.key().name(),
                owner(owners.first().map(|owner| owner.uid.as_str()))
            ));
        }
        lines.extend(self.outside.all().iter().map(|(who, what)| format!("outside {who} is {what}")));
        lines.into_iter().collect::<Vec<_>>().join("; ")
    }

    pub(crate) async fn stop(&mut self) {
        self.running.abort();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn versions<K: Object>(objects: Vec<Arc<K>>) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
    objects.iter().map(|object| (object.key(), object.version())).collect()
}
