//! One reconcile, once on a controller of kube-runtime and once on ours, beside each other on one server: whatever happens to both, they
//! come to the same state.

use crate::apps::{App, AppStatus, app, owner_uid, plan};
use futures::StreamExt;
use kube_runtime::controller::{Action, Controller};
use kube_runtime::watcher;
use machinery::apiserver::{ApiServer, Handle, Identity, KindOf};
use machinery::k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use machinery::kube::kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use machinery::kube::kube_client::{self, Client};
use machinery::objects::{
    Deletion, Freshness, ListAt, ListRequest, ListWatch, Object, ObjectKey, Patch as PatchOf, PatchFormat,
    Preconditions, WriteError, Writer,
};
use machinery::store::{Memory, Options};
use machinery::tokio::time::{Duration, Instant, sleep};
use machinery::{Next, Objects, Plane, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

const THEIRS: &str = "theirs";
const OURS: &str = "ours";
const SEEDS: std::ops::Range<u64> = 1..9;
const STEPS: usize = 60;

#[tokio::test]
async fn a_controller_and_one_of_kube_runtime_come_to_the_same_state() {
    for seed in SEEDS {
        same_under(seed).await;
    }
}

async fn same_under(seed: u64) {
    let server = ApiServer::builder(Memory::new(Options::default()));
    let server = server.kind(KindOf::<App>::new()).start().await.unwrap();
    let namespaces = server.handle::<Namespace>(Identity::admin());
    for name in [THEIRS, OURS] {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.into());
        namespaces.create(&namespace, None).await.unwrap();
    }
    let client = Client::new(server.service(Identity::admin()), "default");
    let plane = machinery::kube_client(client.clone()).start().await.unwrap();
    let tasks = TaskTracker::new();
    let ours = ours(&plane);
    tasks.spawn(async move { ours.await.unwrap() });
    let theirs = tasks.spawn(theirs(client));

    let mut world = World {
        apps: server.handle(Identity::admin()),
        maps: server.handle(Identity::admin()),
        wanted: BTreeMap::new(),
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
    server.stop().await;
}

/// The children are what their API says at this moment, as kube-runtime has no way to wait for a cache.
async fn theirs(client: Client) {
    let apps: Api<App> = Api::namespaced(client.clone(), THEIRS);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), THEIRS);
    let reconcile = |app: Arc<App>, client: Arc<Client>| async move {
        let apps: Api<App> = Api::namespaced((*client).clone(), THEIRS);
        let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), THEIRS);
        if app.is_deleting() {
            return Ok(Action::await_change());
        }
        let there = maps.list(&ListParams::default()).await?;
        let plan = plan(&app, app.spec.children, &app.spec.name, there.iter());
        for map in &plan.create {
            maps.create(&PostParams::default(), map).await?;
        }
        for map in &plan.update {
            maps.replace(map.key().name(), &PostParams::default(), map).await?;
        }
        for map in &plan.delete {
            maps.delete(map.key().name(), &DeleteParams::default()).await?;
        }
        if app.status.as_ref() != Some(&status(&app)) {
            let patch = Patch::Merge(machinery::serde_json::json!({ "status": status(&app) }));
            apps.patch_status(app.key().name(), &PatchParams::default(), &patch).await?;
        }
        Ok::<_, kube_client::Error>(Action::await_change())
    };
    let again =
        |_: Arc<App>, _: &kube_client::Error, _: Arc<Client>| Action::requeue(Duration::from_millis(20));
    let controller = Controller::new(apps, watcher::Config::default()).owns(maps, watcher::Config::default());
    controller.run(reconcile, again, Arc::new(client)).for_each(|_| std::future::ready(())).await;
}

/// The children are what the informer shows.
fn ours(plane: &Plane) -> impl Future<Output = machinery::Result> + use<> {
    #[derive(Clone)]
    struct Both {
        apps: Objects<App>,
        maps: Objects<ConfigMap>,
    }
    async fn reconcile(Both { apps, maps }: Both, app: Arc<App>, run: Run) -> machinery::Result<Next> {
        if app.key().namespace() != Some(OURS) || app.is_deleting() {
            return Ok(Next::Done);
        }
        let plan = plan(&app, app.spec.children, &app.spec.name, maps.read().iter().map(|(_, map)| &**map));
        for map in &plan.create {
            run.wrote(&maps.create(map).await?.token, &maps);
        }
        for map in &plan.update {
            run.wrote(&maps.update(map).await?.token, &maps);
        }
        for map in &plan.delete {
            run.wrote(maps.delete(&map.key()).await?.token(), &maps);
        }
        if app.status.as_ref() != Some(&status(&app)) {
            let app = App { status: Some(status(&app)), ..(*app).clone() };
            run.wrote(&apps.update_status(&app).await?.token, &apps);
        }
        Ok(Next::Done)
    }
    let both = Both { apps: plane.objects().unwrap(), maps: plane.objects().unwrap() };
    let controller = plane.controller::<App>("apps").unwrap().owning::<ConfigMap>().unwrap();
    async move { controller.run(machinery::with(both, reconcile)).await.map(drop) }
}

fn status(app: &App) -> AppStatus {
    AppStatus { name: Some(app.spec.name.clone()), children: app.spec.children }
}

struct World {
    apps: Handle<App>,
    maps: Handle<ConfigMap>,
    /// What each app is to be: its name and its children.
    wanted: BTreeMap<u64, (String, u32)>,
    random: u64,
}

impl World {
    /// One thing happens, in both namespaces: to an app, or behind its back to a child that may be there.
    async fn step(&mut self) {
        let (which, text) = (self.below(4), format!("t{}", self.below(3)));
        let (children, nth) = (u32::try_from(self.below(4)).unwrap(), self.below(3));
        let what = self.below(10);
        let is_there = self.wanted.contains_key(&which);
        for namespace in [THEIRS, OURS] {
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
                _ => {
                    let patch = merge(r#"{"data":{"text":"spoilt"}}"#.into());
                    may_be_gone(self.maps.patch(&child, &patch, &Preconditions::default()).await);
                }
            }
        }
        match (what, is_there) {
            (0..=5, false) | (0..=3, true) => drop(self.wanted.insert(which, (text, children))),
            (4..=5, true) => drop(self.wanted.remove(&which)),
            _ => {}
        }
        // Sometimes they may come to an end of it, and mostly not.
        if self.below(4) == 0 {
            sleep(Duration::from_millis(self.below(8))).await;
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
            let (theirs, ours) = (self.state(THEIRS).await, self.state(OURS).await);
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
            let children = (0..*count).map(move |nth| format!("app{which}-{nth} of app{which} says {text}"));
            children.chain([format!("app{which} is {text} with {count}")])
        });
        apps.collect()
    }

    /// All that is in a namespace, without what differs: an owner that is not there any more is a stranger.
    async fn state(&self, namespace: &str) -> BTreeSet<String> {
        let (apps, maps) = (list(&self.apps, namespace).await, list(&self.maps, namespace).await);
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

fn merge(body: String) -> PatchOf {
    PatchOf { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false }
}

fn may_be_gone<T>(done: Result<T, WriteError>) {
    match done {
        Ok(_) | Err(WriteError::NotFound) => {}
        Err(error) => panic!("{error}"),
    }
}

async fn list<K: Object>(of: &Handle<K>, namespace: &str) -> Vec<Arc<K>>
where
    Handle<K>: ListWatch<Arc<K>>,
{
    let all = ListRequest { at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
    let in_it = |object: &Arc<K>| object.key().namespace() == Some(namespace);
    of.list(all).await.unwrap().items.into_iter().filter(in_it).collect()
}
