//! Hosts that get ports of pools from an allocator, in processes that crash at an effect.

use crate::locks_fixture::{Doc, FaultPoint, FaultyWriter, LocksFixture, PATIENCE, doc, key, kind};
use jiff::Timestamp;
use machinery_apiserver::Handle;
use machinery_controllers::{
    AllocateError, Allocation, AllocationRequest, Allocator, AllocatorSettings, Controller, LockError,
    LockKinds, NameLocks, Next, Pool, Run, Settings,
};
use machinery_informers::Informer;
use machinery_objects::{
    Deletion, Freshness, ListRequest, ListWatch, Object, ObjectKey, Preconditions, Uid, WriteError, Writer,
};
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// First and last port of each pool.
pub(crate) type Pools = Arc<Mutex<BTreeMap<String, (u16, u16)>>>;

pub(crate) struct AllocatorFixture {
    pub(crate) plane: LocksFixture,
    pub(crate) pools: Pools,
}

/// Crashes a process before or after some of its effects.
pub(crate) struct CrashGate {
    /// Whether the process crashes at this point of this effect.
    crashes: Box<dyn Fn(FaultPoint, usize) -> bool + Send + Sync>,
    effects: AtomicUsize,
    crashed: AtomicUsize,
    crash: Mutex<CancellationToken>,
}

impl CrashGate {
    pub(crate) fn new(crashes: impl Fn(FaultPoint, usize) -> bool + Send + Sync + 'static) -> Arc<Self> {
        let (effects, crashed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { crashes: Box::new(crashes), effects, crashed, crash: Mutex::default() })
    }

    /// Crashes once, at the n-th of the effects before or after which it may.
    pub(crate) fn at(at: usize, point: FaultPoint) -> Arc<Self> {
        let seen = AtomicUsize::new(0);
        Self::new(move |of, _| of == point && seen.fetch_add(1, Relaxed) + 1 == at)
    }

    pub(crate) fn crashed(&self) -> usize {
        self.crashed.load(Relaxed)
    }

    fn passes(&self, point: FaultPoint) -> bool {
        let crashes = (self.crashes)(point, self.effects.fetch_add(1, Relaxed));
        if crashes {
            self.crashed.fetch_add(1, Relaxed);
            self.crash.lock().cancel();
        }
        !crashes
    }

    fn writer(self: &Arc<Self>, inner: &Handle<Doc>) -> Arc<FaultyWriter> {
        let gate = self.clone();
        FaultyWriter::new(inner, move |point| {
            let passes = gate.passes(point);
            Box::pin(async move { if passes { Ok(()) } else { pending().await } })
        })
    }
}

/// A process with an allocator and a controller of hosts.
pub(crate) struct HostProcess {
    pub(crate) allocator: Allocator<u16, Doc>,
    controller: Controller<ObjectKey, Arc<Doc>>,
    hosts: Informer<Doc>,
    writes: Arc<FaultyWriter>,
    pools: Pools,
}

impl AllocatorFixture {
    pub(crate) async fn new(pools: &[(&str, u16, u16)]) -> Arc<Self> {
        let pools = pools.iter().map(|(name, first, last)| ((*name).to_owned(), (*first, *last)));
        Arc::new(Self { plane: LocksFixture::new().await, pools: Arc::new(Mutex::new(pools.collect())) })
    }

    pub(crate) fn process(&self, gate: &Arc<CrashGate>) -> HostProcess {
        let source: Arc<dyn ListWatch<Arc<Doc>>> = Arc::new(self.plane.names.clone());
        let writer = gate.writer(&self.plane.names);
        let kinds = LockKinds { kind: kind("HostName"), owners: kind("Host"), writer };
        let locks =
            NameLocks::<u16, Doc>::builder(kinds, source, |_, name, owner| doc(name).owned_by(&owner))
                .build()
                .unwrap();
        let source: Arc<dyn ListWatch<Arc<Doc>>> = Arc::new(self.plane.hosts.clone());
        let hosts = Informer::builder(source).build();
        let settings = Settings { workers: 2, ..Settings::default() };
        let owned = Controller::of("hosts", &hosts).owning("ports", locks.informer(), &kind("Host"));
        HostProcess {
            allocator: Allocator::new(&locks, AllocatorSettings::new(Timestamp::now)),
            controller: owned.settings(settings).build().unwrap(),
            hosts,
            writes: gate.writer(&self.plane.hosts),
            pools: self.pools.clone(),
        }
    }

    /// Runs one process after another until the end of the test.
    pub(crate) fn spawn(self: &Arc<Self>, gate: Arc<CrashGate>) {
        let fixture = self.clone();
        let lives = async move {
            let stopping = fixture.plane.stopping.clone();
            loop {
                let crash = CancellationToken::new();
                *gate.crash.lock() = crash.clone();
                let process = fixture.process(&gate);
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => return,
                    () = crash.cancelled() => {}
                    () = process.run(stopping.clone()) => return,
                }
            }
        };
        self.plane.tasks.spawn(lives);
    }

    pub(crate) async fn attach(&self, name: &str, pool: &str) {
        self.plane.hosts.create(&doc(&key(name)).says("pool", pool), None).await.unwrap();
    }

    pub(crate) async fn detach(&self, name: &str) {
        self.plane.hosts.delete(&key(name), &Deletion::default()).await.unwrap();
    }

    pub(crate) async fn get(&self, name: &str) -> Option<Arc<Doc>> {
        self.plane.hosts.get(&key(name), Freshness::Newest).await.unwrap()
    }

    /// Changes the spec of a host, whatever else writes it.
    pub(crate) async fn edit(&self, name: &str, field: &str, text: &str) {
        loop {
            let host = self.get(name).await.unwrap();
            let host = Doc::clone(&host).says(field, text);
            match self.plane.hosts.update(&host, &Preconditions::default()).await {
                Ok(_) => return,
                Err(WriteError::Conflict(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until a host has a port, or has recorded that it waits.
    pub(crate) async fn until(&self, name: &str, holds: impl Fn(&Doc) -> bool) -> Arc<Doc> {
        let wait = async {
            loop {
                match self.get(name).await {
                    Some(host) if holds(&host) => return host,
                    _ => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(host) => host,
            Err(_) => panic!("{name} is {:?}; {:?}", self.get(name).await, self.locked().await),
        }
    }

    pub(crate) async fn has_port(&self, name: &str) -> u16 {
        port_of(&*self.until(name, |host| port_of(host).is_some()).await).unwrap()
    }

    pub(crate) async fn waits(&self, name: &str) {
        self.until(name, |host| host.spec.contains_key("since")).await;
    }

    /// Names of the locks.
    pub(crate) async fn locked(&self) -> Vec<String> {
        let list = self.plane.names.list(ListRequest::default()).await.unwrap();
        list.items.iter().map(|lock| lock.key().name().to_owned()).collect()
    }
}

impl HostProcess {
    /// Runs everything in one future: dropping it is a crash.
    pub(crate) async fn run(self, stopping: CancellationToken) {
        let Self { allocator, controller, hosts, writes, pools } = self;
        let context = (allocator.clone(), writes, pools.clone());
        let reconcile = move |host: Arc<Doc>, run: Run| {
            let (allocator, writes, pools) = context.clone();
            async move { reconcile(&allocator, &*writes, &pools, &host, &run).await }
        };
        let waiting = move |host: &Doc| Some((pool_of(host, &pools)?, host.spec.get("since")?.parse().ok()?));
        let (_, _, ran, ()) = tokio::join!(
            allocator.locks().run(stopping.clone()),
            hosts.run(stopping.clone()),
            controller.run(reconcile, stopping.clone()),
            allocator.run(&controller, &hosts, waiting, stopping.clone()),
        );
        ran.unwrap();
    }
}

pub(crate) fn port_of(host: &Doc) -> Option<u16> {
    host.spec.get("port")?.parse().ok()
}

fn pool_of(host: &Doc, pools: &Pools) -> Option<Pool<u16>> {
    let name = host.spec.get("pool")?;
    let (first, last) = *pools.lock().get(name)?;
    Pool::range(key(name), first..=last).ok()
}

async fn reconcile(
    allocator: &Allocator<u16, Doc>,
    hosts: &dyn Writer<Doc>,
    pools: &Pools,
    host: &Doc,
    run: &Run,
) -> Result<Next, AllocateError> {
    let (mut record, mut fence) = (host.clone(), None);
    for field in ["port", "lock", "since"] {
        record.spec.remove(field);
    }
    let recorded = (port_of(host), host.spec.get("lock").and_then(|lock| Uid::new(lock)));
    // The port that a device still uses.
    let in_use = |port: &u16| host.spec.get("device").is_some_and(|device| *device == port.to_string());
    match pool_of(host, pools) {
        None => allocator.release_all(host, |port| recorded.0 == Some(*port) || in_use(port), run).await?,
        Some(pool) => {
            let request = AllocationRequest::of(&pool).recorded_under(recorded.0, recorded.1).in_use(in_use);
            match allocator.allocate(host, &request, run).await? {
                Allocation::Held(lock) | Allocation::New(lock) => {
                    record = record.says("port", &lock.key().to_string()).says("lock", lock.uid().as_str());
                    fence = lock.fence().ok();
                }
                Allocation::Full(waiter) => record = record.says("since", &waiter.since.to_string()),
                Allocation::Deleting => return Ok(Next::Done),
            }
        }
    }
    if record == *host {
        return Ok(Next::Done);
    }
    match hosts.update(&record, &Preconditions { fence, ..Preconditions::default() }).await {
        Ok(_) | Err(WriteError::NotFound) => Ok(Next::Done),
        Err(error) => Err(LockError::from(error).into()),
    }
}
