//! A controller with all features: name lock, external effect behind a finalizer, owned children,
//! status.

use super::apps::{Adopts, App, AppName, AppStatus, in_whose_way, lock, plan};
use super::outside::Outside;
use super::servers::TestServer;
use machinery::controllers::{Claim, Controller, Finalizer, FinalizerEvent, LockKinds, NameLocks};
use machinery::informers::Informer;
use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::objects::{Deletion, Event, Fence, Kind, Object, ObjectKey, Preconditions, Uid, Writer};
use machinery::testing::CrashGate;
use machinery::{Next, ObjectType, Run, Settings};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const FINALIZER: &str = "example.com/outside";

/// In-memory state of a program, lost in a crash.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) gate: Arc<CrashGate>,
    outside: Arc<Outside>,
    adopts: Adopts,
    has_fences: bool,
    namespace: String,
    pub(crate) apps: Informer<App>,
    pub(crate) maps: Informer<ConfigMap>,
    pub(crate) locks: NameLocks<String, AppName>,
    write_apps: Arc<dyn Writer<App>>,
    write_maps: Arc<dyn Writer<ConfigMap>>,
    finalizer: Finalizer<App>,
    pub(crate) controller: Controller<ObjectKey, Arc<App>>,
}

impl Sample {
    /// Starts a program for one namespace, as others may run beside it.
    pub(crate) fn new(
        (place, namespace): (&TestServer, &str),
        adopts: Adopts,
        outside: Arc<Outside>,
        gate: Arc<CrashGate>,
    ) -> Self {
        let (apps, maps) = (place.informer::<App>(), place.informer::<ConfigMap>());
        let owners = Kind::of::<App>().unwrap();
        let locking = LockKinds {
            kind: Kind::of::<AppName>().unwrap(),
            owners: owners.clone(),
            writer: writer::<AppName>(place, &gate),
        };
        let locks = place.locks(locking, |_, key, owner| lock(key, &owner)).build().unwrap();
        let controller = Controller::of("apps", &apps)
            .owning("children", &maps, &owners)
            .watching("what is in the way", &maps, |event: &Event<Arc<ConfigMap>>| {
                in_whose_way(event.object())
            })
            .owning("names", locks.informer(), &owners)
            // One worker, so that the nth effect is always the same.
            .settings(Settings { workers: 1, ..Settings::default() });
        let write_apps = writer::<App>(place, &gate);
        Self {
            apps,
            maps,
            locks,
            finalizer: Finalizer::new(FINALIZER, write_apps.clone()).unwrap(),
            write_maps: writer::<ConfigMap>(place, &gate),
            write_apps,
            controller: controller.build().unwrap(),
            has_fences: place.has_fences(),
            namespace: namespace.to_owned(),
            adopts,
            outside,
            gate,
        }
    }

    pub(crate) async fn run(self) {
        let never = CancellationToken::new;
        let reconcile = machinery::with(self.clone(), |sample: Self, app: Arc<App>, run: Run| async move {
            sample.reconcile(&app, &run).await
        });
        let (_, (), (), (), ()) = machinery::tokio::join!(
            self.controller.run(reconcile, never()),
            self.locks.wake(&self.controller, &self.apps, never()),
            self.locks.run(never()),
            self.apps.run(never()),
            self.maps.run(never()),
        );
    }

    async fn reconcile(&self, app: &App, run: &Run) -> machinery::Result<Next> {
        if app.key().namespace() != Some(&self.namespace) {
            return Ok(Next::Done);
        }
        let finalized = self.finalizer.run(app, None, |life| async move {
            match life {
                FinalizerEvent::Apply => self.there(app, run).await,
                FinalizerEvent::Cleanup => self.going(app).await,
            }
        });
        let finalized = finalized.await.map_err(|error| error.to_string())?;
        if let Some(token) = &finalized.token {
            run.wrote(token, &self.apps);
        }
        Ok(finalized.next)
    }

    async fn there(&self, app: &App, run: &Run) -> machinery::Result<Next> {
        let (me, name) = (app.key(), &app.spec.name);
        let before = self.outside.get(me.name());
        if before.is_some_and(|before| before != *name) {
            self.outside.set(&self.gate, me.name(), None).await; // before the name is released
        }
        self.locks.recover(app, |held| held == name).await?;
        let Claim::Held(held) = self.locks.claim(app, name).await? else {
            let (children, next) = self.children(app, 0, None, run).await?;
            self.status(app, AppStatus { name: None, children }, None, run).await?;
            return Ok(next);
        };
        run.wrote(held.token(), self.locks.informer());
        self.outside.set(&self.gate, me.name(), Some(name)).await;
        let fence = if self.has_fences { Some(held.fence()?) } else { None };
        let (children, next) = self.children(app, app.spec.children, fence.as_ref(), run).await?;
        self.status(app, AppStatus { name: Some(name.clone()), children }, fence, run).await?;
        Ok(next)
    }

    async fn going(&self, app: &App) -> machinery::Result<Next> {
        self.outside.set(&self.gate, app.key().name(), None).await;
        self.locks.recover(app, |_| false).await?;
        Ok(Next::Done)
    }

    async fn children(
        &self,
        app: &App,
        count: u32,
        fence: Option<&Fence>,
        run: &Run,
    ) -> machinery::Result<(u32, Next)> {
        let maps = self.maps.read();
        let plan = plan((app, self.adopts), count, &app.spec.name, maps.iter().map(|(_, map)| &**map));
        for map in &plan.create {
            run.wrote(&self.write_maps.create(map, fence).await?.token, &self.maps);
        }
        for map in &plan.update {
            let only_if = Preconditions { fence: fence.cloned(), ..Preconditions::default() };
            run.wrote(&self.write_maps.update(map, &only_if).await?.token, &self.maps);
        }
        for map in &plan.delete {
            // And no successor of its name.
            let only_if = Preconditions { uid: map.uid().and_then(Uid::new), ..Preconditions::default() };
            let deletion = Deletion { only_if, ..Deletion::default() };
            let deleted = self.write_maps.delete(&map.key(), &deletion).await?;
            run.wrote(deleted.token(), &self.maps);
        }
        // The status counts the children in the cache: again, once it shows these.
        let is_done = plan.create.is_empty() && plan.update.is_empty() && plan.delete.is_empty();
        Ok((plan.children, if is_done { Next::Done } else { Next::After(Duration::ZERO) }))
    }

    async fn status(
        &self,
        app: &App,
        status: AppStatus,
        fence: Option<Fence>,
        run: &Run,
    ) -> machinery::Result {
        if app.status.as_ref() != Some(&status) {
            let app = App { status: Some(status), ..app.clone() };
            let only_if = Preconditions { fence, ..Preconditions::default() };
            run.wrote(&self.write_apps.update_status(&app, &only_if).await?.token, &self.apps);
        }
        Ok(())
    }
}

fn writer<K: ObjectType>(place: &TestServer, gate: &Arc<CrashGate>) -> Arc<dyn Writer<K>> {
    gate.writer(&Kind::of::<K>().unwrap(), place.writer::<K>())
}
