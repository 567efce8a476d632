//! Promise 27: claimants race and crash; no two holders of a name write.
//!
//! Eight processes claim names for their hosts, write records under them, and release them. Any
//! write may be the last of its process, applied or not; its successor continues with the same
//! hosts. Occasionally a former holder resumes and writes under its old lock. The history is
//! verified from the server's watch afterwards.

use crate::locks_fixture::{Doc, FaultyWriter, Locks, LocksFixture, PATIENCE, doc, key, locks};
use futures::StreamExt;
use machinery_apiserver::Handle;
use machinery_controllers::{Claim, HeldLock, LockError};
use machinery_objects::{
    Conflict, Deletion, Filter, ListRequest, ListWatch, Object, OwnerRef, Preconditions, Revision,
    WatchEvent, WatchFrom, WatchRequest, WriteError, Writer,
};
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use tokio::task::{JoinHandle, yield_now};
use tokio_util::sync::CancellationToken;

const CLAIMERS: usize = 8;
/// Number of names, and steps per process. Reduced in debug builds.
const NAMES: usize = if cfg!(debug_assertions) { 200 } else { 1000 };
const STEPS: usize = if cfg!(debug_assertions) { 400 } else { 4000 };

/// Pseudo-random numbers by seed; their assignment to threads is not deterministic.
pub(crate) struct Dice(pub(crate) AtomicU64);

impl Dice {
    pub(crate) fn below(&self, limit: usize) -> usize {
        let mut number = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % limit as u64).unwrap()
    }

    fn one_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one_of<'a, T>(&self, all: &'a [T]) -> Option<&'a T> {
        (!all.is_empty()).then(|| &all[self.below(all.len())])
    }
}

#[derive(Default)]
struct RaceCounts {
    crashes: AtomicUsize,
    adopted: AtomicUsize,
    written: AtomicUsize,
    refused: AtomicUsize,
    taken: AtomicUsize,
}

/// State shared by the processes.
struct RaceState {
    names: Handle<Doc>,
    records: Handle<Doc>,
    dice: Dice,
    counts: RaceCounts,
    /// Locks of former holders.
    long_ago: Mutex<Vec<HeldLock<String>>>,
}

/// A process: ends within a write, or when its work is done.
struct Process {
    fixture: Arc<RaceState>,
    locks: Locks,
    records: Arc<FaultyWriter>,
    hosts: Vec<Doc>,
    left: Arc<AtomicUsize>,
}

impl Process {
    async fn work(self) {
        self.locks.informer().synced().await.unwrap();
        let dice = &self.fixture.dice;
        let mut mine = Vec::new();
        for host in &self.hosts {
            mine.extend(self.locks.recover(host, |_| dice.one_in(2)).await.unwrap());
        }
        self.fixture.counts.adopted.fetch_add(mine.len(), Relaxed);
        while self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            match dice.below(8) {
                0..4 => mine.extend(self.claim().await),
                4..6 if !mine.is_empty() => {
                    let held = mine.swap_remove(dice.below(mine.len()));
                    self.locks.release(&held).await.unwrap();
                }
                6 => {
                    let stale = dice.one_of(&self.fixture.long_ago.lock()).cloned();
                    if let Some(held) = stale {
                        self.write(&held).await;
                    }
                }
                _ => {
                    if let Some(held) = dice.one_of(&mine) {
                        self.write(held).await;
                    }
                }
            }
        }
    }

    async fn claim(&self) -> Option<HeldLock<String>> {
        let dice = &self.fixture.dice;
        let wanted = if dice.one_in(2) { 10 } else { NAMES };
        let name = format!("name-{}", dice.below(wanted));
        match self.locks.claim(dice.one_of(&self.hosts).unwrap(), &name).await {
            Ok(Claim::Held(held)) => {
                self.write(&held).await;
                self.fixture.long_ago.lock().push(held.clone());
                Some(held)
            }
            Ok(Claim::Taken(_)) => {
                self.fixture.counts.taken.fetch_add(1, Relaxed);
                None
            }
            Err(LockError::Unsettled { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    async fn write(&self, held: &HeldLock<String>) {
        let only_if = Preconditions { fence: Some(held.fence().unwrap()), ..Preconditions::default() };
        let record = doc(held.lock())
            .says("under", held.uid().as_str())
            .says("chance", &self.fixture.dice.below(1 << 30).to_string());
        let count = match self.records.update(&record, &only_if).await {
            Ok(_) => &self.fixture.counts.written,
            Err(WriteError::Conflict(Conflict::Fence(_))) => &self.fixture.counts.refused,
            Err(error) => panic!("{error}"),
        };
        count.fetch_add(1, Relaxed);
    }
}

/// Runs successive processes for the same hosts until the work is done.
async fn live(fixture: Arc<RaceState>, plane: Arc<LocksFixture>, hosts: Vec<Doc>) {
    let left = Arc::new(AtomicUsize::new(STEPS));
    loop {
        let (crash, life) = (CancellationToken::new(), CancellationToken::new());
        let unlucky = |inner| {
            let (fixture, crash) = (fixture.clone(), crash.clone());
            FaultyWriter::new(inner, move |_| {
                let (crashes, crash) = (fixture.dice.one_in(60), crash.clone());
                Box::pin(async move {
                    if crashes {
                        crash.cancel();
                        std::future::pending::<()>().await;
                    }
                    yield_now().await;
                    Ok(())
                })
            })
        };
        let locks = locks(&fixture.names, unlucky(&fixture.names), |builder| builder);
        plane.tasks.spawn(locks.run(life.clone()));
        let (fixture, records, hosts) = (fixture.clone(), unlucky(&fixture.records), hosts.clone());
        let process = Process { fixture: fixture.clone(), locks, records, hosts, left: left.clone() };
        let mut working = plane.tasks.spawn(process.work());
        let ended = tokio::select! {
            biased;
            () = crash.cancelled() => None,
            ended = &mut working => Some(ended),
        };
        life.cancel();
        if let Some(ended) = ended {
            return ended.unwrap();
        }
        working.abort();
        let _ = working.await;
        fixture.counts.crashes.fetch_add(1, Relaxed);
    }
}

/// Collects the watch events of a kind, until an object of this name is created.
async fn history(plane: &LocksFixture, of: &Handle<Doc>) -> JoinHandle<Vec<WatchEvent<Arc<Doc>>>> {
    let version = of.list(ListRequest::default()).await.unwrap().version;
    let from = WatchFrom::After(version);
    let request = WatchRequest { filter: Filter::default(), from, bookmarks: false, timeout: None };
    let mut watch = of.watch(request).await.unwrap();
    plane.tasks.spawn(async move {
        let mut events = Vec::new();
        loop {
            match watch.next().await.unwrap().unwrap() {
                WatchEvent::Added(last) if last.key() == key("the-end") => return events,
                event => events.push(event),
            }
        }
    })
}

async fn told(history: JoinHandle<Vec<WatchEvent<Arc<Doc>>>>, of: &Handle<Doc>) -> Vec<WatchEvent<Arc<Doc>>> {
    of.create(&doc(&key("the-end")), None).await.unwrap();
    tokio::time::timeout(PATIENCE, history).await.unwrap().unwrap()
}

fn revision(doc: &Doc) -> Revision {
    doc.version().unwrap().revision().unwrap()
}

/// Verifies that each record was written while its lock existed; returns the number of records.
fn judge(locks: &[WatchEvent<Arc<Doc>>], records: &[WatchEvent<Arc<Doc>>]) -> usize {
    let mut lives = BTreeMap::new();
    for event in locks {
        match event {
            WatchEvent::Added(lock) => {
                let life = (lock.key(), revision(lock), Revision(u64::MAX));
                assert_eq!(lives.insert(lock.uid().unwrap().to_owned(), life), None);
            }
            WatchEvent::Deleted(lock) => lives.get_mut(lock.uid().unwrap()).unwrap().2 = revision(lock),
            _ => {}
        }
    }
    let mut writes = 0;
    for event in records {
        let WatchEvent::Modified(record) = event else { continue };
        let (name, from, to) = &lives[&record.spec["under"]];
        assert_eq!(*name, record.key());
        let at = revision(record);
        assert!(*from < at && at < *to, "{name} was written at {at:?} under a lock of {from:?} to {to:?}");
        writes += 1;
    }
    writes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p27_no_two_holders_write_and_no_lock_is_leaked() {
    let plane = Arc::new(LocksFixture::new().await);
    let (mut hosts, dice) = (Vec::new(), Dice(AtomicU64::new(7)));
    for number in 0..CLAIMERS * 3 {
        hosts.push(plane.host(&format!("host-{number}")).await);
    }
    for number in 0..NAMES {
        plane.records.create(&doc(&key(&record_of(number))), None).await.unwrap();
    }
    let (locks_told, records_told) =
        (history(&plane, &plane.names).await, history(&plane, &plane.records).await);
    let (names, records) = (plane.names.clone(), plane.records.clone());
    let fixture = Arc::new(RaceState {
        names,
        records,
        dice,
        counts: RaceCounts::default(),
        long_ago: Mutex::default(),
    });
    let claim = |hosts: &[Doc]| plane.tasks.spawn(live(fixture.clone(), plane.clone(), hosts.to_vec()));
    let claimers: Vec<_> = hosts.chunks(3).map(claim).collect();
    for claimer in claimers {
        claimer.await.unwrap();
    }

    let (goes, stays) = hosts.split_at(hosts.len() / 2);
    nothing_is_left(&plane, goes, stays).await;
    let locks = told(locks_told, &plane.names).await;
    let records = told(records_told, &plane.records).await;
    let writes = judge(&locks, &records);
    let counts = &fixture.counts;
    let [crashes, adopted, written, refused, taken] =
        [&counts.crashes, &counts.adopted, &counts.written, &counts.refused, &counts.taken]
            .map(|count| count.load(Relaxed));
    println!(
        "{crashes} crashes, {adopted} adopted, {written} written, {refused} refused, {taken} taken, {} changes of locks",
        locks.len()
    );
    assert!(writes >= written, "what was acknowledged was written");
    assert!(
        [crashes, adopted, written, refused, taken].iter().all(|count| *count > 10),
        "and all of that happens"
    );
}

/// Returns the name of the lock, with doubled hyphens.
fn record_of(number: usize) -> String {
    format!("name--{number}")
}

/// Verifies that every lock has an existing owner, that locks are deleted with their owners, and
/// that the others are recovered and released.
async fn nothing_is_left(plane: &LocksFixture, goes: &[Doc], stays: &[Doc]) {
    let locks = plane.locks();
    locks.informer().synced().await.unwrap();
    let all = || async { plane.names.list(ListRequest::default()).await.unwrap().items };
    let left = all().await;
    for lock in &left {
        let owner: OwnerRef = lock.owners().into_iter().next().unwrap();
        assert!(goes.iter().chain(stays).any(|host| host.uid() == Some(owner.uid.as_str())));
    }
    assert!(left.len() > 10);
    for host in goes {
        plane.hosts.delete(&host.key(), &Deletion::default()).await.unwrap();
    }
    let gone = async {
        while !all().await.is_empty() {
            for host in stays {
                assert_eq!(locks.recover(host, |_| false).await.unwrap(), []);
            }
            yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("no lock is leaked");
}
