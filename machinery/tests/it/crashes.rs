//! A controller is stopped before and after each thing that it does, all of them, and started again: it comes to the same state, and then
//! it is silent.

mod gate;
mod sample;

use crate::apps::{App, AppName, app, owner_uid};
use gate::{Gate, Outside, Side};
use machinery::apiserver::{ApiServer, Handle, Identity, KindOf};
use machinery::informers::Informer;
use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::objects::{
    Deletion, Freshness, ListAt, ListRequest, ListWatch, Object, ObjectKey, Patch, PatchFormat,
    Preconditions, ResourceVersion, Writer,
};
use machinery::store::{Memory, Options};
use machinery::tokio::task::JoinHandle;
use machinery::tokio::time::{Duration, Instant, sleep};
use sample::Sample;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// What a user does, and what must come of it.
type Step = (&'static [Act], &'static str);

#[derive(Clone, Copy, Debug)]
enum Act {
    Create(&'static str, &'static str, u32),
    Change(&'static str, &'static str, u32),
    Delete(&'static str),
}

use Act::{Change, Create, Delete};

const STEPS: [Step; 6] = [
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
];

/// How often all is asked for again at the end, and nothing comes of it.
const ROUNDS: usize = 10;

#[tokio::test]
async fn a_controller_that_is_stopped_at_any_effect_ends_up_the_same_and_is_silent() {
    let effects = play(None).await;
    assert!(effects > 20, "it has something to do: {effects}");
    for side in [Side::Before, Side::After] {
        let mut nth = 1;
        while play(Some((nth, side))).await == nth {
            nth += 1;
        }
        assert!(nth > 20, "{nth}");
    }
}

/// Plays all steps, with a crash or without; how many effects there were until the crash, or in all.
async fn play(crash: Option<(usize, Side)>) -> usize {
    let gate = crash.map_or_else(Arc::default, Gate::crashing);
    let mut world = World::new(gate.clone()).await;
    for (acts, expected) in STEPS {
        for act in acts {
            world.act(*act).await;
        }
        let context = format!("crash at {crash:?}, after {acts:?}");
        world.comes_to(expected, &context).await;
    }
    assert_eq!(gate.crashed.get().is_some(), world.crashes == 1);
    world.is_silent(&format!("crash at {crash:?}")).await;
    let effects = gate.effects();
    world.stop().await;
    // Of one that did not crash, one more than any that did.
    if crash.is_some() && world.crashes == 0 { usize::MAX } else { effects }
}

struct World {
    server: ApiServer,
    outside: Arc<Outside>,
    apps: Handle<App>,
    maps: Handle<ConfigMap>,
    names: Handle<AppName>,
    sample: Sample,
    tasks: TaskTracker,
    running: JoinHandle<()>,
    crashes: usize,
}

impl World {
    async fn new(gate: Arc<Gate>) -> Self {
        let server = ApiServer::builder(Memory::new(Options::default()))
            .kind(KindOf::<App>::new())
            .kind(KindOf::<AppName>::new())
            .start()
            .await
            .unwrap();
        let (outside, tasks) = (Arc::<Outside>::default(), TaskTracker::new());
        let sample = Sample::new(&server, outside.clone(), gate);
        Self {
            apps: server.handle(Identity::admin()),
            maps: server.handle(Identity::admin()),
            names: server.handle(Identity::admin()),
            running: tasks.spawn(sample.clone().run()),
            outside,
            server,
            sample,
            tasks,
            crashes: 0,
        }
    }

    async fn act(&self, act: Act) {
        match act {
            Create(who, name, children) => {
                self.apps.create(&app(&key(who), name, children), None).await.unwrap();
            }
            Change(who, name, children) => {
                let body = format!(r#"{{"spec":{{"name":"{name}","children":{children}}}}}"#);
                let patch =
                    Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false };
                self.apps.patch(&key(who), &patch, &Preconditions::default()).await.unwrap();
            }
            Delete(who) => drop(self.apps.delete(&key(who), &Deletion::default()).await.unwrap()),
        }
    }

    /// A program that crashed has left nothing in memory: all is made anew.
    async fn restart_if_crashed(&mut self) {
        if self.sample.gate.crashed.get().is_none() {
            return;
        }
        self.running.abort();
        let _ = (&mut self.running).await;
        self.crashes += 1;
        self.sample = Sample::new(&self.server, self.outside.clone(), Arc::default());
        self.running = self.tasks.spawn(self.sample.clone().run());
    }

    async fn comes_to(&mut self, expected: &str, context: &str) {
        let end = Instant::now() + Duration::from_secs(60);
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
            for app in list(&self.apps).await {
                assert!(self.sample.controller.request(app.key(), &"it is asked for again").await);
            }
            while !self.is_idle().await {
                sleep(Duration::from_millis(1)).await;
            }
            let now = (self.sample.gate.effects(), self.versions().await);
            assert_eq!(now, before, "{context}: it wrote in round {round}");
        }
        assert_eq!(self.sample.controller.state().counts.impatient, 0, "{context}");
    }

    /// Nothing runs or is to run, and all that is there was told.
    async fn is_idle(&self) -> bool {
        let queue = self.sample.controller.state().queue;
        shows(&self.sample.apps, &self.apps).await
            && shows(&self.sample.maps, &self.maps).await
            && shows(self.sample.locks.informer(), &self.names).await
            && queue.is_some_and(|queue| queue.ready + queue.delayed + queue.out == 0)
    }

    async fn versions(&self) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
        let mut all = versions(list(&self.apps).await);
        all.extend(versions(list(&self.maps).await));
        all.extend(versions(list(&self.names).await));
        all
    }

    /// All that there is, without what differs from run to run: an owner that is not there any more is a stranger.
    async fn state(&self) -> String {
        let apps = list(&self.apps).await;
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
        for map in list(&self.maps).await {
            let text = map.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str);
            let owner = owner(owner_uid(&map).as_deref());
            lines.insert(format!("{} of {owner} is {text}", map.key().name()));
        }
        for lock in list(&self.names).await {
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

    async fn stop(&mut self) {
        self.running.abort();
        self.tasks.close();
        self.tasks.wait().await;
        self.server.stop().await;
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

/// Of the server, as it is now.
async fn list<K: Object>(of: &Handle<K>) -> Vec<Arc<K>>
where
    Handle<K>: ListWatch<Arc<K>>,
{
    let all = ListRequest { at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
    let in_default = |object: &Arc<K>| object.key().namespace() == Some("default");
    of.list(all).await.unwrap().items.into_iter().filter(in_default).collect()
}

async fn shows<K: Object>(informer: &Informer<K>, of: &Handle<K>) -> bool
where
    Handle<K>: ListWatch<Arc<K>>,
{
    let shown = informer.read();
    let shown = shown.iter().map(|(_, object)| object.clone());
    let in_default = shown.filter(|object| object.key().namespace() == Some("default")).collect();
    let (mut one, mut other) = (versions(in_default), versions(list(of).await));
    one.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    other.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    one == other
}

fn versions<K: Object>(objects: Vec<Arc<K>>) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
    objects.iter().map(|object| (object.key(), object.version())).collect()
}
