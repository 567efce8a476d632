//! Encryption at rest: over every backend, on disk, and during key rotation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use machinery_objects::Revision;
use machinery_store::conformance::Subject;
use machinery_store::faulty::{self, Dice, FaultOdds};
use machinery_store::sealed::{KeyRing, Provider, ResealError, Sealed, SealingKey, UnsealError};
use machinery_store::{
    Backend, Commit, CommitError, CompactError, Disk, DiskOptions, KeySpan, Limits, Memory, Options, Page,
    Range, ReadError, Retention, Transaction, Watch, WatchError, WatchItem,
};

/// Growth of a value sealed by a key with a one-letter name.
const GROWTH: usize = 59;

fn key(name: &str) -> Provider {
    let fill = name.bytes().fold(1_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    Provider::Key(SealingKey::new(name, &[fill; 32]).unwrap())
}

fn ring(names: &[&str]) -> KeyRing {
    let providers = names.iter().map(|name| if *name == "identity" { Provider::Identity } else { key(name) });
    KeyRing::new(providers).unwrap()
}

/// Returns a fill function that never repeats itself, like randomness.
fn count() -> impl Fn(&mut [u8]) + Send + Sync + 'static {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    |bytes| bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes())
}

/// Seals all values with these keys.
fn all_by<B: Backend>(below: Arc<B>, names: &[&str]) -> Sealed<B> {
    let ring = ring(names);
    Sealed::new(below, move |_| Some(ring.clone()), count())
}

/// Seals the values under `/secrets/` with these keys.
fn secrets_by<B: Backend>(below: Arc<B>, names: &[&str]) -> Sealed<B> {
    let ring = ring(names);
    Sealed::new(below, move |key| key.starts_with("/secrets/").then(|| ring.clone()), count())
}

/// Returns the limits of the backend below that yield `limits` above. The suite's only oversized
/// transaction has two values.
fn below(limits: Limits) -> Limits {
    Limits {
        value_bytes: limits.value_bytes + GROWTH,
        transaction_bytes: limits.transaction_bytes + 2 * GROWTH,
        ..limits
    }
}

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(Options { retention: Retention::MANUAL, ..Options::default() }))
}

struct SealedMemory(&'static [&'static str]);

#[async_trait]
impl Subject for SealedMemory {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let memory = Memory::new(Options { limits: below(limits), ..Options::default() });
        Arc::new(all_by(Arc::new(memory), self.0))
    }
}

/// With tiny segments, so that every boundary is crossed.
#[derive(Default)]
struct SealedDisk {
    options: DiskOptions,
    opened: Option<(tempfile::TempDir, Arc<Disk>)>,
}

#[async_trait]
impl Subject for SealedDisk {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let directory = tempfile::tempdir().unwrap();
        let store = Options { limits: below(limits), ..Options::default() };
        self.options =
            DiskOptions { store, segment_bytes: 4096, checkpoint_bytes: 16 * 1024, ..DiskOptions::default() };
        let disk = Arc::new(Disk::open(directory.path(), self.options.clone()).unwrap());
        self.opened = Some((directory, disk.clone()));
        Arc::new(all_by(disk, &["a"]))
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        let (directory, disk) = self.opened.take()?;
        disk.close().await.unwrap();
        drop(disk);
        let disk = Arc::new(Disk::open(directory.path(), self.options.clone()).unwrap());
        self.opened = Some((directory, disk.clone()));
        Some(Arc::new(all_by(disk, &["a"])))
    }
}

mod over_memory {
    machinery_store::conformance_tests!(super::SealedMemory(&["a"]));
}

mod over_disk {
    machinery_store::conformance_tests!(super::SealedDisk::default());
}

const CANARY: &[u8] = b"c4nary-in-the-mine";

fn put(key: &str, value: &[u8]) -> Transaction {
    Transaction::new().put(key, value)
}

async fn value(store: &dyn Backend, key: &str) -> Result<Option<Vec<u8>>, ReadError> {
    let page = store.range(Range::of(KeySpan::one(key))).await?;
    Ok(page.entries.first().map(|entry| entry.value.to_vec()))
}

/// Returns the names of the sealing keys of all stored values.
async fn names(below: &dyn Backend) -> Vec<String> {
    let name = |value: &[u8]| match value.strip_prefix(b"\xffsealed\xff\x01") {
        Some(rest) => String::from_utf8_lossy(&rest[1..=usize::from(rest[0])]).into_owned(),
        None => "-".to_owned(),
    };
    below
        .range(Range::of(KeySpan::all()))
        .await
        .unwrap()
        .entries
        .iter()
        .map(|entry| name(&entry.value))
        .collect()
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn holds(path: &Path, what: &[u8]) -> bool {
    std::fs::read(path).unwrap().windows(what.len()).any(|window| window == what)
}

/// Puts, deletes, compacts, checkpoints, kills and reopens a store, and makes a snapshot of it.
#[tokio::test]
async fn no_value_is_in_any_file_of_a_sealed_disk() {
    let home = tempfile::tempdir().unwrap();
    let (data, snapshot) = (home.path().join("data"), home.path().join("snapshot"));
    let options =
        DiskOptions { segment_bytes: 16 * 1024, checkpoint_bytes: 64 * 1024, ..DiskOptions::default() };
    let mut seen = 0;
    for round in 0..3 {
        let disk = Arc::new(Disk::open(&data, options.clone()).unwrap());
        let store = secrets_by(disk.clone(), &["a"]);
        for at in 0..200 {
            let secret = [CANARY, at.to_string().as_bytes(), CANARY].concat();
            let names = format!("/secrets/{}", at % 20);
            store.commit(put(&names, &secret).put(format!("/maps/{at}"), *b"op3n")).await.unwrap();
            assert_eq!(value(&store, &names).await.unwrap().unwrap(), secret);
        }
        store.commit(Transaction::new().delete("/secrets/3")).await.unwrap();
        let now = store.revision().await.unwrap();
        store.compact(Revision(now.0 - 50)).await.unwrap();
        disk.checkpoint().await.unwrap();
        store.commit(put("/secrets/last", CANARY)).await.unwrap();
        disk.snapshot(snapshot.with_extension(round.to_string())).await.unwrap();
        let written =
            files(&data).into_iter().chain(files(home.path()).into_iter().filter(|path| path.is_file()));
        for path in written {
            assert!(!holds(&path, CANARY), "{}", path.display());
            seen += usize::from(holds(&path, b"op3n"));
        }
        disk.close().await.unwrap();
    }
    assert!(seen >= 9, "what is not sealed is seen in logs, checkpoints and snapshots: {seen}");
}

#[tokio::test]
async fn each_put_draws_its_own_salt() {
    let below = memory();
    let store = all_by(below.clone(), &["a"]);
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        store.commit(put("/x", CANARY).put("/y", CANARY)).await.unwrap();
        let entries = below.range(Range::of(KeySpan::all())).await.unwrap().entries;
        seen.extend(entries.iter().map(|entry| entry.value[11..43].to_vec()));
    }
    all_by(below.clone(), &["b", "a"]).reseal().await.unwrap();
    let entries = below.range(Range::of(KeySpan::all())).await.unwrap().entries;
    seen.extend(entries.iter().map(|entry| entry.value[11..43].to_vec()));
    assert_eq!(seen.len(), 8);
}

#[tokio::test]
async fn keys_are_rotated_and_removed() {
    let below = memory();
    for at in 0..1200 {
        below.commit(put(&format!("/secrets/{at:04}"), CANARY)).await.unwrap();
    }
    below.commit(put("/maps/a", b"map")).await.unwrap();
    let refused = secrets_by(below.clone(), &["a"]).reseal().await.unwrap_err();
    assert_eq!(refused, ResealError::Unseal(UnsealError::NotSealed { key: "/secrets/0000".into() }));
    for (keys, now, rewritten) in [
        (&["a", "identity"][..], "a", 1200),
        (&["a", "identity"], "a", 0),
        (&["a"], "a", 0),
        (&["b", "a"], "b", 1200),
        (&["b"], "b", 0),
        (&["identity", "b"], "-", 1200),
        (&["identity"], "-", 0),
        (&["c", "b", "identity"], "c", 1200),
    ] {
        let store = secrets_by(below.clone(), keys);
        let done = store.reseal().await.unwrap();
        assert_eq!((done.entries, done.rewritten), (1200, rewritten), "{keys:?}");
        let names = names(&*below).await;
        assert_eq!(names[0], "-", "what has no ring is as it is");
        assert!(names[1..].iter().all(|name| name == now), "{keys:?}");
        let page = store.range(Range::of(KeySpan::prefix("/secrets/"))).await.unwrap();
        assert!(page.entries.iter().all(|entry| *entry.value == *CANARY));
    }
}

/// A backend that yields to other tasks, with a rival that puts the key of a condition just before
/// it is checked.
#[derive(Clone)]
struct RivalBackend {
    below: Arc<Memory>,
    rival: Option<Sealed<Memory>>,
    conflicts: Arc<AtomicU64>,
}

impl RivalBackend {
    fn new(below: Arc<Memory>, rival: Option<Sealed<Memory>>) -> Self {
        Self { below, rival, conflicts: Arc::default() }
    }
}

#[async_trait]
impl Backend for RivalBackend {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.below.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        tokio::task::yield_now().await;
        self.below.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        tokio::task::yield_now().await;
        if let (Some(rival), Some(condition)) = (&self.rival, transaction.conditions.first()) {
            rival.commit(put(condition.key(), b"rival")).await?;
        }
        let done = self.below.commit(transaction).await;
        self.conflicts.fetch_add(u64::from(matches!(done, Err(CommitError::Conflict(_)))), Ordering::Relaxed);
        done
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        self.below.watch(span, after).await
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.below.compact(to).await
    }
}

/// Another server with the old keys writes during the reseal, and answers are lost.
#[tokio::test]
async fn a_write_during_a_reseal_is_kept() {
    let below = memory();
    let old = secrets_by(below.clone(), &["a", "b"]);
    let turns = RivalBackend::new(below.clone(), None);
    let line = faulty::FaultyBackend::new(turns.clone(), FaultOdds { lost: 200, ..FaultOdds::default() }, 7);
    let new = secrets_by(Arc::new(line.clone()), &["b", "a"]);
    let (mut expected, mut dice) = (BTreeMap::new(), Dice::new(7));
    let writing = AtomicBool::new(true);
    let writes = async {
        for at in 0..3000 {
            let (key, value) = (format!("/secrets/{:02}", dice.below(60)), at.to_string().into_bytes());
            if dice.below(4) == 0 {
                old.commit(Transaction::new().delete(key.as_str())).await.unwrap();
                expected.remove(&key);
            } else {
                old.commit(put(&key, &value)).await.unwrap();
                expected.insert(key, value);
            }
            tokio::task::yield_now().await;
        }
        writing.store(false, Ordering::Relaxed);
    };
    let reseals = async {
        while writing.load(Ordering::Relaxed) {
            match new.reseal().await {
                Ok(_) | Err(ResealError::Read(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    futures::join!(writes, reseals);
    let conflicts = turns.conflicts.load(Ordering::Relaxed);
    assert!(line.fired().lost > 100 && conflicts > 10, "{:?}, {conflicts}", line.fired());
    line.set(FaultOdds::default());
    new.reseal().await.unwrap();
    let page = new.range(Range::of(KeySpan::all())).await.unwrap();
    let found = page.entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_vec()));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "no write is undone");
    assert!(names(&*below).await.iter().all(|name| name == "b"));
}

#[tokio::test]
async fn a_reseal_overtaken_at_every_attempt_fails() {
    let below = memory();
    let old = secrets_by(below.clone(), &["a", "b"]);
    old.commit(put("/secrets/x", b"first")).await.unwrap();
    let new = secrets_by(Arc::new(RivalBackend::new(below.clone(), Some(old))), &["b", "a"]);
    let refused = new.reseal().await.unwrap_err();
    assert_eq!(refused, ResealError::Overtaken { key: "/secrets/x".into(), times: 20 });
    assert!(refused.to_string().contains("give all servers the same keys"), "{refused}");
    // A rival with the new key has resealed the entry.
    let same = secrets_by(below.clone(), &["b"]);
    let new = secrets_by(Arc::new(RivalBackend::new(below.clone(), Some(same))), &["b", "a"]);
    assert_eq!(new.reseal().await.unwrap().rewritten, 0);
    assert_eq!(value(&new, "/secrets/x").await, Ok(Some(b"rival".to_vec())));
}

#[tokio::test]
async fn an_unopenable_value_is_reported_by_every_call() {
    let below = memory();
    let both = secrets_by(below.clone(), &["b", "a"]);
    let lost = secrets_by(below.clone(), &["a"]);
    lost.commit(put("/secrets/0", b"old")).await.unwrap();
    both.commit(put("/secrets/1", b"new")).await.unwrap();
    lost.commit(put("/secrets/2", b"old")).await.unwrap();
    let told = "`/secrets/1` is sealed by the key \"b\", which is not given for it: give that key again";
    let store = secrets_by(below.clone(), &["a"]);

    let unread = store.range(Range::of(KeySpan::all())).await.unwrap_err();
    assert!(matches!(&unread, ReadError::Unavailable { why } if why.contains(told)), "{unread}");
    let mut watch = store.watch(KeySpan::all(), Revision(1)).await.unwrap();
    let WatchItem::Changes { events, .. } = watch.next().await.unwrap() else {
        panic!("nobody asked for a mark")
    };
    assert_eq!(*events[0].after().unwrap().value, *b"old");
    for _ in 0..2 {
        let ended = watch.next().await.unwrap_err();
        assert!(matches!(&ended, WatchError::Unavailable { why } if why.contains(told)), "{ended}");
    }
    let refused = store.commit(Transaction::new().if_absent("/secrets/1").put("/secrets/3", *b"")).await;
    let refused = refused.unwrap_err();
    assert!(matches!(&refused, CommitError::Refused { why } if why.contains(told)), "{refused}");
    let unopened = UnsealError::MissingKey { key: "/secrets/1".into(), name: "b".into() };
    let order = secrets_by(below.clone(), &["c", "a"]);
    assert_eq!(order.reseal().await, Err(ResealError::Unseal(unopened)));
    assert_eq!(names(&*below).await, ["a", "b", "a"], "nothing is written");
    // The commit was applied, so its error is `Unknown`.
    let unknown = store.commit(put("/secrets/1", b"newer")).await.unwrap_err();
    assert!(matches!(&unknown, CommitError::Unknown { why } if why.contains(told)), "{unknown}");
    assert_eq!(value(&store, "/secrets/1").await, Ok(Some(b"newer".to_vec())));
    // The previous value is read from the history.
    let mut watch = store.watch(KeySpan::all(), Revision(4)).await.unwrap();
    assert!(watch.next().await.unwrap_err().to_string().contains(told));
    // A sealed value without a ring is not returned as plain.
    let none = Sealed::new(below, |_| None, count());
    assert!(none.range(Range::of(KeySpan::all())).await.unwrap_err().to_string().contains("\"a\""));
}
