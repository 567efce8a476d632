//! Allocation over the wire: owners are the server's ConfigMaps, locks are Leases.

use super::near::percentiles;
use super::shape::WORKERS;
use crate::informer::ours::{config, kind};
use crate::measure::{Figures, count, cpu_time};
use anyhow::{Context, ensure};
use futures::{StreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use machinery_controllers::{
    AllocateError, Allocation, AllocationRequest, Allocator, AllocatorSettings, Controller, LockKinds,
    NameLocks, Next, Pool, Run, Settings,
};
use machinery_informers::Informer;
use machinery_kube::{Connections, Remote, ServerProfile, client};
use machinery_objects::{Deletion, Freshness, Kind, ListWatch, Object, ObjectKey, OwnerRef, Uid, Writer};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Sequential writes whose median is the time of one write.
const SINGLE_WRITES: usize = 200;

struct Remotes {
    owners: Arc<Remote<ConfigMap>>,
    leases: Arc<Remote<Lease>>,
}

impl Remotes {
    async fn new(kubeconfig: &Path) -> anyhow::Result<Self> {
        let client = client(config(kubeconfig).await?, Connections::default())?;
        let owners = Arc::new(Remote::new(client.clone(), kind()?, ServerProfile::machinery()));
        let leases = Arc::new(Remote::new(client, Kind::of::<Lease>()?, ServerProfile::machinery()));
        Ok(Self { owners, leases })
    }

    /// A lock as the allocator creates it, with another name.
    async fn plain(&self) -> anyhow::Result<impl Fn(usize) -> Lease + Send + Sync> {
        let key: ObjectKey = format!("default/{}", crate::informer::configs::name(0)).parse()?;
        let owner: Option<ConfigMap> = self.owners.get(&key, Freshness::Newest).await?;
        let owner = owner.context("there are ConfigMaps")?;
        let uid = owner.uid().and_then(Uid::new).context("it has a UID")?;
        let owner = OwnerRef::controller(&kind()?, &key, uid);
        Ok(move |i: usize| lock(&format!("plain-{i}"), &owner))
    }
}

fn lock(name: &str, owner: &OwnerRef) -> Lease {
    let mut lease = Lease::default();
    lease.metadata.name = Some(name.into());
    lease.metadata.namespace = Some("default".into());
    lease.metadata.owner_references = Some(vec![owner.into()]);
    lease
}

/// Creates locks without an allocator, as many at a time as the controller has workers.
pub(super) async fn plain_creates(kubeconfig: &Path, creates: usize) -> anyhow::Result<Figures> {
    let remotes = Remotes::new(kubeconfig).await?;
    let plain = remotes.plain().await?;
    let start = Instant::now();
    let created = stream::iter(0..creates).map(|i| {
        let (lease, leases) = (plain(i), remotes.leases.clone());
        async move { leases.create(&lease, None).await.map(drop) }
    });
    let mut created = created.buffer_unordered(WORKERS.into());
    while let Some(created) = created.next().await {
        created?;
    }
    Ok(Figures::default().with("creates", count(creates) / start.elapsed().as_secs_f64()))
}

/// A controller that allocates a number of the range for each owner, and records nothing.
struct AllocatorLoop {
    remotes: Remotes,
    allocator: Allocator<u32, Lease>,
    /// Runs wait here for the start of the measurement.
    gate: Arc<Semaphore>,
    locked: Arc<AtomicUsize>,
    /// Each new lock, with the time of the response.
    news: UnboundedReceiver<(ObjectKey, Instant)>,
}

impl AllocatorLoop {
    async fn begin(kubeconfig: &Path, members: u32) -> anyhow::Result<Self> {
        let remotes = Remotes::new(kubeconfig).await?;
        let kinds = LockKinds { kind: Kind::of::<Lease>()?, owners: kind()?, writer: remotes.leases.clone() };
        let source: Arc<dyn ListWatch<Lease>> = remotes.leases.clone();
        let locks = NameLocks::<u32, Lease>::builder(kinds, source, |_, key, owner| lock(key.name(), &owner))
            .build()?;
        let allocator = Allocator::new(&locks, AllocatorSettings::new(Timestamp::now));
        let source: Arc<dyn ListWatch<ConfigMap>> = remotes.owners.clone();
        let owners = Informer::<ConfigMap>::builder(source).build();
        let settings = Settings { workers: WORKERS.into(), ..Settings::default() };
        let controller = Controller::of("owners", &owners)
            .owning("locks", locks.informer(), &kind()?)
            .settings(settings)
            .build()?;
        let pool = Pool::range("default/pool".parse()?, 1..=members)?;
        let (gate, locked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (send, news) = unbounded_channel();
        let reconcile = {
            let (allocator, gate, locked) = (allocator.clone(), gate.clone(), locked.clone());
            move |owner: Arc<ConfigMap>, run: Run| {
                let (allocator, gate, locked) = (allocator.clone(), gate.clone(), locked.clone());
                let (pool, send) = (pool.clone(), send.clone());
                async move {
                    drop(gate.acquire().await);
                    reconcile(&allocator, &pool, &owner, &run, &locked, &send).await
                }
            }
        };
        let stopping = CancellationToken::new();
        tokio::spawn(locks.run(stopping.clone()));
        tokio::spawn(owners.run(stopping.clone()));
        {
            let (allocator, controller, stopping) = (allocator.clone(), controller.clone(), stopping.clone());
            tokio::spawn(async move { allocator.run(&controller, &owners, |_| None, stopping).await });
        }
        tokio::spawn(async move {
            if let Err(error) = controller.run(reconcile, stopping).await {
                eprintln!("the controller has ended: {error}");
            }
        });
        Ok(Self { remotes, allocator, gate, locked, news })
    }

    async fn reached(&self, locked: usize, waiting: usize) -> anyhow::Result<()> {
        let so_far = || (self.locked.load(Relaxed), self.allocator.waiting());
        let until = Instant::now() + TIMEOUT;
        while so_far().0 < locked || so_far().1 < waiting {
            ensure!(Instant::now() < until, "{:?} of {locked} and {waiting}", so_far());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

async fn reconcile(
    allocator: &Allocator<u32, Lease>,
    pool: &Pool<u32>,
    owner: &ConfigMap,
    run: &Run,
    locked: &AtomicUsize,
    news: &UnboundedSender<(ObjectKey, Instant)>,
) -> Result<Next, AllocateError> {
    if let Allocation::New(lock) = allocator.allocate(owner, &AllocationRequest::of(pool), run).await? {
        locked.fetch_add(1, Relaxed);
        let _ = news.send((lock.lock().clone(), Instant::now()));
    }
    Ok(Next::Done)
}

/// Allocates one member for each owner, from a range with as many again.
pub(super) async fn allocate(kubeconfig: &Path, owners: usize) -> anyhow::Result<Figures> {
    let of = AllocatorLoop::begin(kubeconfig, u32::try_from(2 * owners)?).await?;
    // Wait until all concurrent runs are waiting.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (start, cpu) = (Instant::now(), cpu_time());
    of.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    of.reached(owners, 0).await?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu_us = cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6 / count(owners);
    Ok(Figures::default().with("per_second", count(owners) / seconds).with("client_cpu_us", cpu_us))
}

/// Deletes the lock of one holder after the other, while all other owners wait: from the sending of
/// the deletion until the response to the next holder's create.
pub(super) async fn hand_over(kubeconfig: &Path, waiting: usize, releases: usize) -> anyhow::Result<Figures> {
    let mut of = AllocatorLoop::begin(kubeconfig, 1).await?;
    of.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    of.reached(1, waiting).await?;
    let plain = of.remotes.plain().await?;
    let mut writes = Vec::with_capacity(SINGLE_WRITES);
    for i in 0..SINGLE_WRITES {
        let start = Instant::now();
        of.remotes.leases.create(&plain(i), None).await?;
        writes.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let (mut held, _) = of.news.recv().await.context("the loop has ended")?;
    let (mut sent, mut answered) = (Vec::with_capacity(releases), Vec::with_capacity(releases));
    for _ in 0..releases {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let start = Instant::now();
        of.remotes.leases.delete(&held, &Deletion::default()).await?;
        let gone = Instant::now();
        let next = tokio::time::timeout(TIMEOUT, of.news.recv()).await.context("nobody got it")?;
        let (lock, at) = next.context("the loop has ended")?;
        held = lock;
        sent.push(at.saturating_duration_since(start).as_secs_f64() * 1e6);
        answered.push(at.saturating_duration_since(gone).as_secs_f64() * 1e6);
    }
    let write = percentiles(writes).of("p50_us").context("it was measured")?;
    let [sent, answered] = [sent, answered].map(percentiles);
    let of = |figures: &Figures, name| figures.of(name).context("it was measured");
    Ok(Figures::default()
        .with("writes", of(&sent, "p99_us")? / write)
        .with("write_us", write)
        .with("p50_us", of(&sent, "p50_us")?)
        .with("p99_us", of(&sent, "p99_us")?)
        .with("after_us", of(&answered, "p99_us")?))
}
