//! A run: all is made, looked at, tested and deleted as it was planned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{join, join_all};
use futures::stream::FuturesUnordered;
use machinery::informers::Informer;
use machinery::informers::deliver::Told;
use machinery::k8s_openapi::api::core::v1::Namespace;
use machinery::objects::{Deletion, Event, Filter, Object as _, ObjectKey, WriteError, Writer};
use machinery::sync::Mutex;
use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{Instant, sleep, sleep_until, timeout};
use machinery::tokio_util::sync::CancellationToken;
use machinery::{Plane, tokio};

use super::files::Directory;
use super::made::{Network, Slot, networks, slots};
use super::settings::DriveSettings;
use super::test::Tests;
use super::watch::{News, Watched};
use crate::metrics::{DriverRun, ok};
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{Chance, Operation, Record, due_times, operations, place_of};
use crate::probe::Asks;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Driven {
    /// So many attachments were made.
    pub created: usize,
    /// So many were not, for whatever reason.
    pub not_created: usize,
    /// So many were deleted.
    pub deleted: usize,
    /// So many operations were begun later than they were due, by more than a tenth of a second.
    pub late: usize,
    /// So many were tested without frames, with frames, and not well.
    pub tests: [usize; 3],
    /// So many said that something was wrong.
    pub broken: usize,
    /// So often two had one address.
    pub shared: usize,
    /// So many were there still at the end, though they were deleted.
    pub left: usize,
    /// All of them.
    pub records: Vec<Record>,
}

/// So long a subnet may take to count, and a probe to be answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// What begins later than so is late.
const LATE: Duration = Duration::from_millis(100);
/// How long a write that failed waits: doubling, from the one to the other.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// So many writes of subnets are under way at once.
const AT_ONCE: usize = 16;

struct Run<'a> {
    settings: &'a DriveSettings,
    networks: Vec<Network>,
    slots: Vec<Slot>,
    attachments: Informer<NetworkAttachment>,
    writer: Arc<dyn Writer<NetworkAttachment>>,
    watched: Mutex<Watched>,
    metrics: DriverRun,
    tests: Tests,
    /// No more are made.
    ends: CancellationToken,
    counts: Counts,
    node: AtomicUsize,
    chance: Mutex<Chance>,
}

#[derive(Default)]
struct Counts {
    created: AtomicUsize,
    not_created: AtomicUsize,
    deleted: AtomicUsize,
    late: AtomicUsize,
}

impl DriveSettings {
    /// What is planned: when each operation is due, and who does which.
    #[must_use]
    pub fn schedule(&self) -> (Vec<Duration>, Vec<Vec<(usize, Operation)>>) {
        let slots = usize::try_from(self.load.slots()).unwrap_or(usize::MAX);
        let operations = operations(slots, self.attachments, self.threads);
        let count = operations.iter().flatten().map(|(number, _)| number + 1).max().unwrap_or(0);
        let mut chance = Chance::new(self.seed ^ 0x5ced);
        (due_times(self.spread, self.rate, count, || chance.fraction()), operations)
    }
}

/// Drives a load on what a plane reaches. When `stopping` is cancelled no more are made, and what was made is deleted, unless none is to be.
///
/// # Errors
/// Its namespace and its subnets cannot be made, or do not count; or its files cannot be written.
pub async fn drive(
    plane: &Plane,
    settings: &DriveSettings,
    directory: &Directory,
    stopping: CancellationToken,
) -> machinery::Result<Driven> {
    if settings.nodes.names.is_empty() {
        return Err("no nodes: say which there are".into());
    }
    settings.load.check()?;
    directory.sizes(&settings.load)?;
    let mut chance = Chance::new(settings.seed);
    let networks = networks(settings, &mut chance);
    let slots = slots(&networks, &mut chance);
    let asks = Asks::new(plane, PATIENCE)?;
    asks.synced().await?;
    namespace(plane, &settings.run).await?;
    subnets(plane, settings, &networks).await?;
    let filter = || Filter { namespace: Some(settings.run.as_str().into()), ..Filter::default() };
    let (mut attachments, mut locks) = (plane.informer::<NetworkAttachment>()?, plane.informer::<IPLock>()?);
    attachments.filter(filter());
    locks.filter(filter());
    let (attachments, locks) = (attachments.build(), locks.build());
    plane.run_informer("attachments of the load", &attachments)?;
    plane.run_informer("locks of the load", &locks)?;
    let tests =
        Tests::new(asks, settings.pings, settings.test_fraction, settings.pending_wait, chance.clone());
    let metrics = settings.metrics.of(&settings.run, &settings.commit);
    let run = Run {
        settings,
        networks,
        slots,
        writer: plane.writer::<NetworkAttachment>()?,
        attachments,
        watched: Mutex::new(Watched::new(metrics.clone())),
        metrics,
        tests,
        ends: stopping.child_token(),
        counts: Counts::default(),
        node: AtomicUsize::new(0),
        chance: Mutex::new(chance),
    };
    let over = CancellationToken::new();
    let works = async {
        run.works().await;
        over.cancel();
    };
    let watches = over.run_until_cancelled(run.watches(&locks));
    join(works, watches).await;
    run.ended(directory)
}

async fn namespace(plane: &Plane, name: &str) -> machinery::Result {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.into());
    match plane.writer::<Namespace>()?.create(&namespace, None).await {
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(format!("the namespace {name} cannot be made: {error}").into()),
    }
}

/// Makes the subnets, and waits until all count.
async fn subnets(plane: &Plane, settings: &DriveSettings, networks: &[Network]) -> machinery::Result {
    let subnets = plane.objects::<Subnet>()?;
    let all: Vec<Subnet> = networks.iter().flat_map(|net| net.objects(&settings.run)).collect();
    let keys: Vec<ObjectKey> = all.iter().map(machinery::objects::Object::key).collect();
    let made = futures::stream::iter(all.into_iter().map(|subnet| {
        let subnets = subnets.clone();
        async move { subnets.create(&subnet).await }
    }));
    let made: Vec<_> = made.buffer_unordered(AT_ONCE).collect().await;
    for made in made {
        made.map_err(|error| format!("a subnet cannot be made: {error}"))?;
    }
    let counts = |key: &ObjectKey| subnets.get(key).is_some_and(|subnet| subnet.status.validated);
    let all_count = crate::until::until(&subnets, |_| keys.iter().all(counts).then_some(()));
    if timeout(PATIENCE, all_count).await.is_ok() {
        return Ok(());
    }
    let late = keys.iter().find(|key| !counts(key)).and_then(|key| Some((key, subnets.get(key)?)));
    let why = late.map(|(key, subnet)| format!("{key}: {}", subnet.status.errors.join("; ")));
    Err(format!("not all subnets count after {PATIENCE:?}: {}", why.unwrap_or_default()).into())
}

impl Run<'_> {
    async fn works(&self) {
        let (due, operations) = self.settings.schedule();
        let start = Instant::now();
        join_all(operations.iter().map(|row| self.thread(start, &due, row))).await;
        if self.settings.wait_after_create > Duration::ZERO {
            self.ends.run_until_cancelled(sleep(self.settings.wait_after_create)).await;
            return;
        }
        let until = Instant::now() + self.settings.wait_after_delete;
        while self.watched.lock().count() > 0 && Instant::now() < until {
            sleep(BACK_OFF[0]).await;
            self.watched.lock().sweep(|key| self.attachments.get(key).is_some());
        }
    }

    async fn thread(&self, start: Instant, due: &[Duration], row: &[(usize, Operation)]) {
        let mut made: std::collections::BTreeMap<usize, ObjectKey> = std::collections::BTreeMap::new();
        let mut uses: std::collections::BTreeMap<usize, u64> = std::collections::BTreeMap::new();
        for (number, operation) in row {
            let is_shock = self.settings.wait_after_create > Duration::ZERO;
            if matches!(operation, Operation::Delete(slot) if is_shock || !made.contains_key(slot)) {
                continue;
            }
            let at = start + due.get(*number).copied().unwrap_or_default();
            self.ends.run_until_cancelled(sleep_until(at)).await;
            // Who ends makes no more, and deletes what there is at once.
            let ends = self.ends.is_cancelled();
            if ends && matches!(operation, Operation::Create(_)) {
                continue;
            }
            if !ends && at.elapsed() > LATE {
                self.counts.late.fetch_add(1, Ordering::Relaxed);
            }
            match operation {
                Operation::Create(slot) => {
                    let time = uses.entry(*slot).or_default();
                    if let Some(key) = self.create(self.slots[*slot], *time).await {
                        made.insert(*slot, key);
                    }
                    *time += 1;
                }
                Operation::Delete(slot) => {
                    if let Some(key) = made.remove(slot) {
                        self.delete(&key).await;
                    }
                }
            }
        }
    }

    async fn create(&self, slot: Slot, time: u64) -> Option<ObjectKey> {
        let network = &self.networks[slot.network];
        let names = &self.settings.nodes.names;
        let node = match self.settings.nodes.in_turn {
            true => self.node.fetch_add(1, Ordering::Relaxed) % names.len(),
            false => self.chance.lock().below(names.len()),
        };
        let new = network.attachment(&self.settings.run, slot, time, &names[node]);
        let key = new.key();
        let block = network.subnets.iter().find(|(name, _)| *name == new.spec.subnet)?.1;
        self.watched.lock().begins(key.clone(), network.vni.number(), &names[node], block);
        let began = Instant::now();
        let created = self.writer.create(&new, None).await;
        let took = began.elapsed().as_secs_f64();
        self.metrics.created(took, ok(&created));
        match created {
            Ok(_) => {
                self.counts.created.fetch_add(1, Ordering::Relaxed);
                if let Some(live) = self.watched.lock().live(&key) {
                    live.record.client.insert("create".into(), took);
                }
                Some(key)
            }
            Err(error) => {
                tracing::warn!(%key, %error, "an attachment was not made");
                self.counts.not_created.fetch_add(1, Ordering::Relaxed);
                if let Some(live) = self.watched.lock().live(&key) {
                    live.record.wrong.push(format!("it was not made: {error}"));
                }
                self.watched.lock().gone(&key);
                None
            }
        }
    }

    async fn delete(&self, key: &ObjectKey) {
        self.tests.goes(key);
        let began = Instant::now();
        if let Some(live) = self.watched.lock().live(key) {
            live.deleted = Some(began);
        }
        let mut wait = BACK_OFF[0];
        loop {
            match self.writer.delete(key, &Deletion::default()).await {
                Ok(_) | Err(WriteError::NotFound) => break,
                Err(error) => {
                    tracing::warn!(%key, %error, "an attachment was not deleted; it is tried again")
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(BACK_OFF[1]);
        }
        self.counts.deleted.fetch_add(1, Ordering::Relaxed);
        let took = began.elapsed().as_secs_f64();
        self.metrics.deleted(took);
        if let Some(live) = self.watched.lock().live(key) {
            live.record.client.insert("delete".into(), took);
        }
    }

    /// Hears what becomes of all, and tests who is ready.
    async fn watches(&self, locks: &Informer<IPLock>) {
        let (Ok(mut attached), Ok(mut locked)) = (self.attachments.events(), locks.events()) else { return };
        let (ready, mut due) = mpsc::unbounded_channel::<Arc<NetworkAttachment>>();
        let hears = async {
            loop {
                tokio::select! {
                    biased;
                    told = locked.next() => match told {
                        None => return,
                        Some(Told::Event(_, Event::Added { object, .. } | Event::Updated { object, .. })) => {
                            self.watched.lock().locked(&object);
                        }
                        Some(_) => {}
                    },
                    told = attached.next() => match told {
                        None => return,
                        Some(Told::Event(key, event)) => {
                            if self.heard(&key, &event) == News::Ready {
                                let _ = ready.send(event.object().clone());
                            }
                        }
                        Some(Told::Mark(_)) => {}
                    },
                }
            }
        };
        let tests = async {
            let mut testing = FuturesUnordered::new();
            loop {
                tokio::select! {
                    biased;
                    of = due.recv() => match of {
                        None => return,
                        Some(of) => testing.push(self.test(of)),
                    },
                    Some(()) = testing.next() => {}
                }
            }
        };
        join(hears, tests).await;
    }

    fn heard(&self, key: &ObjectKey, event: &Event<Arc<NetworkAttachment>>) -> News {
        let all = self.attachments.read();
        let has = |key: &ObjectKey| all.get(key).and_then(|one| place_of(one));
        let news = match event {
            Event::Added { object, .. } | Event::Updated { object, .. } => {
                self.watched.lock().is(key, object, has)
            }
            _ => self.watched.lock().gone(key),
        };
        if news == News::Broken && self.settings.stop_on_break {
            self.ends.cancel();
        }
        news
    }

    async fn test(&self, of: Arc<NetworkAttachment>) {
        let key = of.key();
        let Some(began) = self.watched.lock().live(&key).map(|live| live.began) else { return };
        let Some(tested) = self.tests.test(&of, began).await else { return };
        let (is_ok, is_full, took) = (tested.ok, tested.peer.is_some(), tested.seconds);
        let mut watched = self.watched.lock();
        // Who goes meanwhile is not tested.
        let Some(live) = watched.live(&key).filter(|live| live.deleted.is_none()) else { return };
        live.record.tested = Some(tested);
        let ready = live.record.client.get("ready").copied().unwrap_or_default();
        self.metrics.tested(is_full, is_ok, [took, took - ready]);
        if !is_ok && self.settings.stop_on_ping_fail {
            self.ends.cancel();
        }
    }

    fn ended(self, directory: &Directory) -> machinery::Result<Driven> {
        let mut watched = self.watched.into_inner();
        let left = match self.settings.wait_after_create.is_zero() {
            true => watched.count(),
            false => 0,
        };
        watched.end();
        let Watched { records, shared, .. } = watched;
        directory.records(self.settings, &records)?;
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let tested = || records.iter().filter_map(|record| record.tested.as_ref());
        Ok(Driven {
            created: of(&self.counts.created),
            not_created: of(&self.counts.not_created),
            deleted: of(&self.counts.deleted),
            late: of(&self.counts.late),
            tests: [
                tested().filter(|tested| tested.peer.is_none()).count(),
                tested().filter(|tested| tested.peer.is_some()).count(),
                tested().filter(|tested| !tested.ok).count(),
            ],
            broken: records.iter().filter(|record| !record.wrong.is_empty()).count(),
            shared,
            left,
            records,
        })
    }
}
