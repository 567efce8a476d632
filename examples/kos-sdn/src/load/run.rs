//! A run of the load generator.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{join, join_all};
use futures::stream::FuturesUnordered;
use machinery::informers::Informer;
use machinery::informers::deliver::Delivery;
use machinery::k8s_openapi::api::core::v1::Namespace;
use machinery::objects::{Deletion, Event, Filter, Object as _, ObjectKey, WriteError, Writer};
use machinery::sync::Mutex;
use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{Instant, sleep, sleep_until};
use machinery::tokio_util::sync::CancellationToken;
use machinery::{Plane, tokio};

use super::connectivity::ConnectivityTests;
use super::directory::RunDirectory;
use super::objects::{LoadNetwork, SlotId, networks, slots};
use super::settings::LoadSettings;
use super::tracker::{AttachmentTracker, TrackedChange};
use super::{AttachmentRecord, Operation, due_times, operations};
use crate::metrics::{LoadRunMetrics, ok};
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{SplitMix64, address_key};
use crate::probe::Prober;

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub struct LoadOutcome {
    /// Attachments created.
    pub created: usize,
    /// Attachments that could not be created.
    pub not_created: usize,
    /// Attachments deleted.
    pub deleted: usize,
    /// Operations started more than a tenth of a second late.
    pub late: usize,
    /// Tests without frames, tests with frames, and failed tests.
    pub tests: [usize; 3],
    /// Attachments that reported an error.
    pub broken: usize,
    /// Addresses held by two attachments at once.
    pub shared: usize,
    /// Deleted attachments that still existed at the end.
    pub left: usize,
    /// The records of all attachments.
    pub records: Vec<AttachmentRecord>,
}

/// Time limit of subnet validation, and of the answer to a probe.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Operations that start later than this count as late.
const LATE: Duration = Duration::from_millis(100);
/// Minimum and maximum back-off of failed writes.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Number of concurrent writes of subnets.
const AT_ONCE: usize = 16;

struct Run<'a> {
    settings: &'a LoadSettings,
    networks: Vec<LoadNetwork>,
    slots: Vec<SlotId>,
    attachments: Informer<NetworkAttachment>,
    writer: Arc<dyn Writer<NetworkAttachment>>,
    tracker: Mutex<AttachmentTracker>,
    metrics: LoadRunMetrics,
    tests: ConnectivityTests,
    /// Cancelled when no more attachments are created.
    cancelled: CancellationToken,
    counts: OperationCounts,
    node: AtomicUsize,
    chance: Mutex<SplitMix64>,
}

#[derive(Default)]
struct OperationCounts {
    created: AtomicUsize,
    not_created: AtomicUsize,
    deleted: AtomicUsize,
    late: AtomicUsize,
}

impl LoadSettings {
    /// Returns the due times of all operations, and the operations of each thread.
    #[must_use]
    pub fn schedule(&self) -> (Vec<Duration>, Vec<Vec<(usize, Operation)>>) {
        let slots = usize::try_from(self.load.slots()).unwrap_or(usize::MAX);
        let operations = operations(slots, self.attachments, self.threads);
        let count = operations.iter().flatten().map(|(number, _)| number + 1).max().unwrap_or(0);
        let mut chance = SplitMix64::new(self.seed ^ 0x5ced);
        (due_times(self.spread, self.rate, count, || chance.fraction()), operations)
    }
}

/// Runs a load on a cluster. Cancelling `stopping` ends creation and starts deletion, unless the
/// settings disable deletion.
///
/// # Errors
/// The namespace or the subnets cannot be created or validated, or the files cannot be written.
pub async fn run_load(
    plane: &Plane,
    settings: &LoadSettings,
    directory: &RunDirectory,
    stopping: CancellationToken,
) -> machinery::Result<LoadOutcome> {
    if settings.nodes.names.is_empty() {
        return Err("no nodes: name at least one".into());
    }
    settings.load.check()?;
    directory.sizes(&settings.load)?;
    let mut chance = SplitMix64::new(settings.seed);
    let networks = networks(settings, &mut chance);
    let slots = slots(&networks, &mut chance);
    let prober = Prober::new(plane, TIME_LIMIT)?;
    prober.synced().await?;
    namespace(plane, &settings.run).await?;
    subnets(plane, settings, &networks).await?;
    let filter = || Filter { namespace: Some(settings.run.as_str().into()), ..Filter::default() };
    let (mut attachments, mut locks) = (plane.informer::<NetworkAttachment>()?, plane.informer::<IPLock>()?);
    attachments.filter(filter());
    locks.filter(filter());
    let (attachments, locks) = (attachments.build(), locks.build());
    plane.run_informer("attachments of the load", &attachments)?;
    plane.run_informer("locks of the load", &locks)?;
    let tests = ConnectivityTests::new(
        prober,
        settings.pings,
        settings.test_fraction,
        settings.pending_wait,
        chance.clone(),
    );
    let metrics = settings.metrics.of(&settings.run, &settings.commit);
    let run = Run {
        settings,
        networks,
        slots,
        writer: plane.writer::<NetworkAttachment>()?,
        attachments,
        tracker: Mutex::new(AttachmentTracker::new(metrics.clone())),
        metrics,
        tests,
        cancelled: stopping.child_token(),
        counts: OperationCounts::default(),
        node: AtomicUsize::new(0),
        chance: Mutex::new(chance),
    };
    let over = CancellationToken::new();
    let operations = async {
        run.run_operations().await;
        over.cancel();
    };
    let watches = over.run_until_cancelled(run.watch_events(&locks));
    join(operations, watches).await;
    run.outcome(directory)
}

async fn namespace(plane: &Plane, name: &str) -> machinery::Result {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.into());
    match plane.writer::<Namespace>()?.create(&namespace, None).await {
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(format!("the namespace {name} cannot be created: {error}").into()),
    }
}

/// Creates the subnets, and waits until all are validated.
async fn subnets(plane: &Plane, settings: &LoadSettings, networks: &[LoadNetwork]) -> machinery::Result {
    let subnets = plane.objects::<Subnet>()?;
    let all: Vec<Subnet> = networks.iter().flat_map(|net| net.objects(&settings.run)).collect();
    let keys: Vec<ObjectKey> = all.iter().map(machinery::objects::Object::key).collect();
    let objects_made = futures::stream::iter(all.into_iter().map(|subnet| {
        let subnets = subnets.clone();
        async move { subnets.create(&subnet).await }
    }));
    let objects_made: Vec<_> = objects_made.buffer_unordered(AT_ONCE).collect().await;
    for objects_made in objects_made {
        objects_made.map_err(|error| format!("a subnet cannot be created: {error}"))?;
    }
    let counts = |key: &ObjectKey| subnets.get(key).is_some_and(|subnet| subnet.status.validated);
    if subnets.until(TIME_LIMIT, |_| keys.iter().all(counts).then_some(())).await.is_ok() {
        return Ok(());
    }
    let late = keys.iter().find(|key| !counts(key)).and_then(|key| Some((key, subnets.get(key)?)));
    let why = late.map(|(key, subnet)| format!("{key}: {}", subnet.status.errors.join("; ")));
    Err(format!("not all subnets are validated after {TIME_LIMIT:?}: {}", why.unwrap_or_default()).into())
}

impl Run<'_> {
    async fn run_operations(&self) {
        let (due, operations) = self.settings.schedule();
        let start = Instant::now();
        join_all(operations.iter().map(|row| self.thread(start, &due, row))).await;
        if self.settings.wait_after_create > Duration::ZERO {
            self.cancelled.run_until_cancelled(sleep(self.settings.wait_after_create)).await;
            return;
        }
        let until = Instant::now() + self.settings.wait_after_delete;
        while self.tracker.lock().count() > 0 && Instant::now() < until {
            sleep(BACK_OFF[0]).await;
            // An attachment that was created and deleted between two deliveries has no event.
            self.tracker.lock().sweep(|key| self.attachments.get(key).is_some());
        }
    }

    async fn thread(&self, start: Instant, due: &[Duration], row: &[(usize, Operation)]) {
        let mut objects_made: std::collections::BTreeMap<usize, ObjectKey> =
            std::collections::BTreeMap::new();
        let mut uses: std::collections::BTreeMap<usize, u64> = std::collections::BTreeMap::new();
        for (number, operation) in row {
            let is_shock = self.settings.wait_after_create > Duration::ZERO;
            if matches!(operation, Operation::Delete(slot) if is_shock || !objects_made.contains_key(slot)) {
                continue;
            }
            let at = start + due.get(*number).copied().unwrap_or_default();
            self.cancelled.run_until_cancelled(sleep_until(at)).await;
            // After cancellation, skip creations and delete existing attachments at once.
            let is_cancelled = self.cancelled.is_cancelled();
            if is_cancelled && matches!(operation, Operation::Create(_)) {
                continue;
            }
            if !is_cancelled && at.elapsed() > LATE {
                self.counts.late.fetch_add(1, Ordering::Relaxed);
            }
            match operation {
                Operation::Create(slot) => {
                    let time = uses.entry(*slot).or_default();
                    if let Some(key) = self.create(self.slots[*slot], *time).await {
                        objects_made.insert(*slot, key);
                    }
                    *time += 1;
                }
                Operation::Delete(slot) => {
                    if let Some(key) = objects_made.remove(slot) {
                        self.delete(&key).await;
                    }
                }
            }
        }
    }

    async fn create(&self, slot: SlotId, time: u64) -> Option<ObjectKey> {
        let network = &self.networks[slot.network];
        let names = &self.settings.nodes.names;
        let node = match self.settings.nodes.in_turn {
            true => self.node.fetch_add(1, Ordering::Relaxed) % names.len(),
            false => self.chance.lock().below(names.len()),
        };
        let new = network.attachment(&self.settings.run, slot, time, &names[node]);
        let key = new.key();
        let block = network.subnets.iter().find(|(name, _)| *name == new.spec.subnet)?.1;
        self.tracker.lock().begin(key.clone(), network.vni.number(), &names[node], block);
        let began = Instant::now();
        let created = self.writer.create(&new, None).await;
        let took = began.elapsed().as_secs_f64();
        self.metrics.created(took, ok(&created));
        match created {
            Ok(_) => {
                self.counts.created.fetch_add(1, Ordering::Relaxed);
                if let Some(live) = self.tracker.lock().live(&key) {
                    live.record.client.insert("create".into(), took);
                }
                Some(key)
            }
            Err(error) => {
                tracing::warn!(%key, %error, "creation of an attachment failed");
                self.counts.not_created.fetch_add(1, Ordering::Relaxed);
                if let Some(live) = self.tracker.lock().live(&key) {
                    live.record.wrong.push(format!("creation failed: {error}"));
                }
                self.tracker.lock().gone(&key);
                None
            }
        }
    }

    async fn delete(&self, key: &ObjectKey) {
        self.tests.exclude(key);
        let began = Instant::now();
        if let Some(live) = self.tracker.lock().live(key) {
            live.deleted = Some(began);
        }
        let mut wait = BACK_OFF[0];
        loop {
            match self.writer.delete(key, &Deletion::default()).await {
                Ok(_) | Err(WriteError::NotFound) => break,
                Err(error) => {
                    tracing::warn!(%key, %error, "deletion of an attachment failed; retrying")
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(BACK_OFF[1]);
        }
        self.counts.deleted.fetch_add(1, Ordering::Relaxed);
        let took = began.elapsed().as_secs_f64();
        self.metrics.deleted(took);
        if let Some(live) = self.tracker.lock().live(key) {
            live.record.client.insert("delete".into(), took);
        }
    }

    /// Observes all attachments, and tests those that become ready.
    async fn watch_events(&self, locks: &Informer<IPLock>) {
        let (Ok(mut attached), Ok(mut locked)) = (self.attachments.events(), locks.events()) else { return };
        let (ready, mut due) = mpsc::unbounded_channel::<Arc<NetworkAttachment>>();
        let receives = async {
            loop {
                tokio::select! {
                    biased;
                    notice = locked.next() => match notice {
                        None => return,
                        Some(Delivery::Event(_, Event::Added { object, .. } | Event::Updated { object, .. })) => {
                            self.tracker.lock().locked(&object);
                        }
                        Some(_) => {}
                    },
                    notice = attached.next() => match notice {
                        None => return,
                        Some(Delivery::Event(key, event)) => {
                            if self.on_event(&key, &event) == TrackedChange::Ready {
                                let _ = ready.send(event.object().clone());
                            }
                        }
                        Some(Delivery::Mark(_)) => {}
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
        join(receives, tests).await;
    }

    fn on_event(&self, key: &ObjectKey, event: &Event<Arc<NetworkAttachment>>) -> TrackedChange {
        let all = self.attachments.read();
        let has = |key: &ObjectKey| all.get(key).and_then(|one| address_key(one));
        let change = match event {
            Event::Added { object, .. } | Event::Updated { object, .. } => {
                self.tracker.lock().update(key, object, has)
            }
            _ => self.tracker.lock().gone(key),
        };
        if change == TrackedChange::Broken && self.settings.stop_on_break {
            self.cancelled.cancel();
        }
        change
    }

    async fn test(&self, of: Arc<NetworkAttachment>) {
        let key = of.key();
        let Some(began) = self.tracker.lock().live(&key).map(|live| live.began) else { return };
        let Some(tested) = self.tests.test(&of, began).await else { return };
        let (is_ok, is_full, took) = (tested.ok, tested.peer.is_some(), tested.seconds);
        let mut tracker = self.tracker.lock();
        // A result counts only if the attachment was not deleted during the test.
        let Some(live) = tracker.live(&key).filter(|live| live.deleted.is_none()) else { return };
        live.record.tested = Some(tested);
        let ready = live.record.client.get("ready").copied().unwrap_or_default();
        self.metrics.tested(is_full, is_ok, [took, took - ready]);
        if !is_ok && self.settings.stop_on_ping_fail {
            self.cancelled.cancel();
        }
    }

    fn outcome(self, directory: &RunDirectory) -> machinery::Result<LoadOutcome> {
        let mut tracker = self.tracker.into_inner();
        let left = match self.settings.wait_after_create.is_zero() {
            true => tracker.count(),
            false => 0,
        };
        tracker.finish_all();
        let AttachmentTracker { records, shared, .. } = tracker;
        directory.records(self.settings, &records)?;
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let tested = || records.iter().filter_map(|record| record.tested.as_ref());
        Ok(LoadOutcome {
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
