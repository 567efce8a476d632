//! A controller of kube-runtime and one of this crate, side by side, under the same random events.

use super::apps::{App, AppStatus, app, by_uid, in_whose_way, merge, owner_uid, plan, strangers};
use super::servers::TestServer;
use futures::StreamExt;
use kube_runtime::controller::{Action, Controller};
use kube_runtime::reflector::ObjectRef;
use kube_runtime::watcher;
use machinery::k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use machinery::kube::kube_client::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions as KubePreconditions,
};
use machinery::kube::kube_client::{self, Client};
use machinery::objects::{Deletion, Event, Object, ObjectKey, Preconditions, Uid, WriteError, Writer};
use machinery::tokio::time::{Duration, Instant, sleep};
use machinery::{Next, Objects, Plane, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

const STEPS: usize = 60;

/// The two namespaces.
#[derive(Clone)]
struct Namespaces {
    theirs: String,
    ours: String,
}

/// Creates two namespaces named after the seed.
pub(crate) async fn same_under(seed: u64, client: Client, place: &TestServer) {
    let sides = Namespaces { theirs: format!("theirs-{seed}"), ours: format!("ours-{seed}") };
    let namespaces = place.writer::<Namespace>();
    for name in [&sides.theirs, &sides.ours] {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        namespaces.create(&namespace, None).await.unwrap();
    }
    let plane = machinery::kube_client(client.clone()).start().await.unwrap();
    let tasks = TaskTracker::new();
    let ours = ours(&plane, sides.ours.clone());
    tasks.spawn(async move { ours.await.unwrap() });
    let theirs = tasks.spawn(theirs(client, sides.theirs.clone()));

    let mut world = SideBySide {
        sides,
        place: place.clone(),
        apps: place.writer(),
        maps: place.writer(),
        wanted: BTreeMap::new(),
        strangers: BTreeMap::new(),
        random: seed,
    };
    for _ in 0..STEPS {
        world.step().await;
    }
    world.settles(seed).await;

    plane.stop().await;
    theirs.abort();
    tasks.close();
    tasks.wait().await;
}

/// Reads children from the API, as kube-runtime cannot wait for a cache.
async fn theirs(client: Client, namespace: String) {
    let apps: Api<App> = Api::namespaced(client.clone(), &namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let both = Arc::new((apps.clone(), maps.clone()));
    let reconcile = |app: Arc<App>, both: Arc<(Api<App>, Api<ConfigMap>)>| async move {
        let (apps, maps) = &*both;
        if app.is_deleting() {
            return Ok(Action::await_change());
        }
        let there = maps.list(&ListParams::default()).await?;
        let plan = plan((&app, by_uid), app.spec.children, &app.spec.name, there.iter());
        for map in &plan.create {
            maps.create(&PostParams::default(), map).await?;
        }
        for map in &plan.update {
            maps.replace(map.key().name(), &PostParams::default(), map).await?;
        }
        for map in &plan.delete {
            let it = KubePreconditions { uid: map.metadata.uid.clone(), resource_version: None };
            let only_it = DeleteParams { preconditions: Some(it), ..DeleteParams::default() };
            maps.delete(map.key().name(), &only_it).await?;
        }
        let status = status(&app, plan.children);
        if app.status.as_ref() != Some(&status) {
            let patch = Patch::Merge(machinery::serde_json::json!({ "status": status }));
            apps.patch_status(app.key().name(), &PatchParams::default(), &patch).await?;
        }
        Ok::<_, kube_client::Error>(Action::await_change())
    };
    let again = |_: Arc<App>, _: &kube_client::Error, _: Arc<_>| Action::requeue(Duration::from_millis(20));
    let in_the_way =
        move |map: ConfigMap| in_whose_way(&map).map(|key| ObjectRef::new(key.name()).within(&namespace));
    let controller = Controller::new(apps, watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .watches(maps, watcher::Config::default(), in_the_way);
    controller.run(reconcile, again, both).for_each(|_| std::future::ready(())).await;
}

/// Reads children from the informer.
fn ours(plane: &Plane, namespace: String) -> impl Future<Output = machinery::Result> + use<> {
    #[derive(Clone)]
    struct AppContext {
        apps: Objects<App>,
        maps: Objects<ConfigMap>,
        namespace: Arc<str>,
    }
    async fn reconcile(
        AppContext { apps, maps, namespace }: AppContext,
        app: Arc<App>,
        run: Run,
    ) -> machinery::Result<Next> {
        if app.key().namespace() != Some(&*namespace) || app.is_deleting() {
            return Ok(Next::Done);
        }
        let there = maps.read();
        let there = there.iter().map(|(_, map)| &**map);
        let plan = plan((&app, by_uid), app.spec.children, &app.spec.name, there);
        for map in &plan.create {
            run.wrote(&maps.create(map).await?.token, &maps);
        }
        for map in &plan.update {
            run.wrote(&maps.update(map).await?.token, &maps);
        }
        for map in &plan.delete {
            let only_it = Preconditions { uid: map.uid().and_then(Uid::new), ..Preconditions::default() };
            let deletion = Deletion { only_if: only_it, ..Deletion::default() };
            run.wrote(maps.writer().delete(&map.key(), &deletion).await?.token(), &maps);
        }
        let status = status(&app, plan.children);
        if app.status.as_ref() != Some(&status) {
            let app = App { status: Some(status), ..(*app).clone() };
            run.wrote(&apps.update_status(&app).await?.token, &apps);
        }
        Ok(Next::Done)
    }
    let (apps, maps) = (plane.objects().unwrap(), plane.objects().unwrap());
    let both = AppContext { apps, maps, namespace: namespace.into() };
    let in_the_way = |event: &Event<Arc<ConfigMap>>| in_whose_way(event.object());
    let controller = plane.controller::<App>("apps").unwrap().owning::<ConfigMap>().unwrap();
    let controller = controller.watching::<ConfigMap, _>(in_the_way).unwrap();
    async move { controller.run(machinery::with(both, reconcile)).await.map(drop) }
}

fn status(app: &App, children: u32) -> AppStatus {
    AppStatus { name: Some(app.spec.name.clone()), children }
}

struct SideBySide {
    sides: Namespaces,
    place: TestServer,
    apps: Arc<dyn Writer<App>>,
    maps: Arc<dyn Writer<ConfigMap>>,
    /// Desired apps: name and number of children.
    wanted: BTreeMap<u64, (String, u32)>,
    /// Foreign objects with a child's name, and their text.
    strangers: BTreeMap<(u64, u64), &'static str>,
    random: u64,
}

impl SideBySide {
    /// Performs a random event in both namespaces: changes an app, changes or deletes a child, or
    /// creates a foreign object with a child's name.
    async fn step(&mut self) {
        let (which, text) = (self.below(4), format!("t{}", self.below(3)));
        let (children, nth) = (u32::try_from(self.below(4)).unwrap(), self.below(3));
        let what = self.below(12);
        let is_there = self.wanted.contains_key(&which);
        let is_strangers = self.strangers.contains_key(&(which, nth));
        for namespace in [&self.sides.theirs, &self.sides.ours] {
            let app_key = ObjectKey::new(Some(namespace), &format!("app{which}")).unwrap();
            let child = ObjectKey::new(Some(namespace), &format!("app{which}-{nth}")).unwrap();
            match (what, is_there) {
                (0..=5, false) => {
                    drop(self.apps.create(&app(&app_key, &text, children), None).await.unwrap())
                }
                (0..=3, true) => {
                    let body = format!(r#"{{"spec":{{"name":"{text}","children":{children}}}}}"#);
                    self.apps.patch(&app_key, &merge(body), &Preconditions::default()).await.unwrap();
                }
                (4..=5, true) => drop(self.apps.delete(&app_key, &Deletion::default()).await.unwrap()),
                (6..=7, _) => may_be_gone(self.maps.delete(&child, &Deletion::default()).await),
                (8..=9, _) => {
                    let patch = merge(r#"{"data":{"text":"spoilt"}}"#.into());
                    may_be_gone(self.maps.patch(&child, &patch, &Preconditions::default()).await);
                }
                _ if is_strangers => {}
                _ => self.take(&child).await,
            }
        }
        match (what, is_there) {
            (0..=5, false) | (0..=3, true) => drop(self.wanted.insert(which, (text, children))),
            (4..=5, true) => drop(self.wanted.remove(&which)),
            (6..=7, _) => drop(self.strangers.remove(&(which, nth))),
            (8..=9, _) if is_strangers => drop(self.strangers.insert((which, nth), "spoilt")),
            (8..=9, _) => {}
            _ => drop(self.strangers.entry((which, nth)).or_insert("theirs")),
        }
        // Lets the controllers converge now and then.
        if self.below(4) == 0 {
            sleep(Duration::from_millis(self.below(8))).await;
        }
    }

    /// Creates a foreign object, as soon as the name is free.
    async fn take(&self, child: &ObjectKey) {
        while let Err(error) = self.maps.create(&strangers(child), None).await {
            assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
            may_be_gone(self.maps.delete(child, &Deletion::default()).await);
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % end
    }

    async fn settles(&self, seed: u64) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let (theirs, ours) = (self.state(&self.sides.theirs).await, self.state(&self.sides.ours).await);
            if theirs == ours && ours == self.expected() {
                return;
            }
            let expected = self.expected();
            assert!(
                Instant::now() < end,
                "seed {seed}:\n kube-runtime {theirs:#?}\n ours {ours:#?}\n expected {expected:#?}"
            );
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn expected(&self) -> BTreeSet<String> {
        let apps = self.wanted.iter().flat_map(|(which, (text, count))| {
            let own = (0..u64::from(*count)).filter(|nth| !self.strangers.contains_key(&(*which, *nth)));
            let status = format!("app{which} is {text} with {}", own.clone().count());
            own.map(move |nth| format!("app{which}-{nth} of app{which} says {text}")).chain([status])
        });
        let strangers = self.strangers.iter();
        let strangers =
            strangers.map(|((which, nth), text)| format!("app{which}-{nth} of a stranger says {text}"));
        apps.chain(strangers).collect()
    }

    /// Returns the state of a namespace, without values that differ; a deleted owner counts as
    /// foreign.
    async fn state(&self, namespace: &str) -> BTreeSet<String> {
        let apps = self.place.list::<App>(namespace).await;
        let maps = self.place.list::<ConfigMap>(namespace).await;
        let name_of = |uid: Option<String>| {
            let owner = apps.iter().find(|app| app.uid() == uid.as_deref());
            owner.map_or("a stranger".to_owned(), |app| app.key().name().to_owned())
        };
        let shown = apps.iter().map(|app| {
            let status = app.status.clone().unwrap_or(AppStatus { name: None, children: 0 });
            let name = status.name.unwrap_or_default();
            format!("{} is {name} with {}", app.key().name(), status.children)
        });
        let children = maps.iter().map(|map| {
            let text = map.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str);
            format!("{} of {} says {text}", map.key().name(), name_of(owner_uid(map)))
        });
        shown.chain(children).collect()
    }
}

fn may_be_gone<T>(done: Result<T, WriteError>) {
    match done {
        Ok(_) | Err(WriteError::NotFound) => {}
        Err(error) => panic!("{error}"),
    }
}
