//! Random operations on memory, on disk and on the model give equal answers, through reopens.

use std::num::NonZeroUsize;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::faulty::{self, PowerLoss};
use machinery_store::model::NaiveBackend;
use machinery_store::{
    Backend, Condition, Disk, DiskOptions, Key, KeySpan, Memory, Operation, Options, Range, Retention,
    Transaction, Watch, WatchError, WatchItem,
};
use proptest::prelude::*;

/// Some keys are prefixes of others.
const KEYS: [&str; 7] = ["a", "ab", "b", "b/", "b/c", "b/cd", "é"];

const LOST: [PowerLoss; 5] =
    [PowerLoss::Everything, PowerLoss::Nothing, PowerLoss::After, PowerLoss::Some, PowerLoss::Torn];

/// An offset back from the newest revision; negative is in the future.
type Back = i64;

#[derive(Clone, Debug)]
enum Op {
    /// Conditions, and operations: a put of this many bytes of one value, or a delete.
    Commit(Vec<(usize, TestCondition)>, Vec<(usize, Option<(u8, usize)>)>),
    Range {
        span: (bool, usize),
        back: Option<Back>,
        after: Option<usize>,
        limit: usize,
        count: bool,
    },
    Watch((bool, usize), Back),
    /// Reads a watch until it is pending.
    Drain(prop::sample::Index),
    EndWatch(prop::sample::Index),
    Compact(Back),
    Checkpoint,
    Restart(Restart),
}

#[derive(Clone, Debug)]
enum TestCondition {
    Absent,
    At(Back),
    Unchanged(Back),
}

#[derive(Clone, Debug)]
enum Restart {
    Close,
    Kill,
    PowerCut(u64),
}

struct Backends {
    naive: NaiveBackend,
    memory: Memory,
    files: faulty::FaultyDisk,
    disk: Disk,
    watches: Vec<WatchTriple>,
}

struct WatchTriple {
    span: KeySpan,
    seen: Revision,
    /// Watches of the model, of memory, and of the disk.
    running: [Watch; 3],
}

fn options() -> DiskOptions {
    // The store compacts on request only, as the model does.
    let store = Options { retention: Retention::MANUAL, ..Options::default() };
    DiskOptions { store, segment_bytes: 4096, checkpoint_bytes: 8192, ..DiskOptions::default() }
}

fn span((is_one, key): (bool, usize)) -> KeySpan {
    match KEYS.get(key) {
        Some(key) if is_one => KeySpan::one(*key),
        Some(key) => KeySpan::prefix(*key),
        None => KeySpan::all(),
    }
}

fn key(index: usize) -> Key {
    KEYS[index].into()
}

impl Backends {
    fn new() -> Self {
        let files = faulty::FaultyDisk::new();
        let disk = Disk::open_on(Arc::new(files.clone()), options()).expect("a new store is opened");
        let memory = Memory::new(options().store);
        Self { naive: NaiveBackend::default(), memory, files, disk, watches: Vec::new() }
    }

    fn all(&self) -> [&dyn Backend; 3] {
        [&self.naive, &self.memory, &self.disk]
    }

    async fn back(&self, back: Back) -> Revision {
        let now = self.naive.revision().await.expect("the model is there");
        Revision(now.0.saturating_add_signed(-back))
    }

    async fn step(&mut self, op: Op) {
        match op {
            Op::Commit(asks, changes) => self.commit(asks, changes).await,
            Op::Range { span: of, back, after, limit, count } => {
                let at = match back {
                    Some(back) => Some(self.back(back).await),
                    None => None,
                };
                let (after, limit) = (after.map(key), NonZeroUsize::new(limit));
                self.range(Range { span: span(of), at, after, limit, count }).await;
            }
            Op::Watch(of, back) => self.watch(span(of), self.back(back).await).await,
            Op::Drain(which) if !self.watches.is_empty() => {
                let which = which.index(self.watches.len());
                self.drain(which).await;
            }
            Op::EndWatch(which) if !self.watches.is_empty() => {
                self.watches.swap_remove(which.index(self.watches.len()));
            }
            Op::Drain(_) | Op::EndWatch(_) => {}
            Op::Compact(back) => {
                let to = self.back(back).await;
                let [naive, memory, disk] = self.all();
                let expected = naive.compact(to).await;
                assert_eq!(memory.compact(to).await, expected, "memory");
                assert_eq!(disk.compact(to).await, expected, "disk");
            }
            Op::Checkpoint => self.disk.checkpoint().await.expect("a checkpoint is made"),
            Op::Restart(restart) => self.restart(restart).await,
        }
    }

    async fn commit(&self, asks: Vec<(usize, TestCondition)>, changes: Vec<(usize, Option<(u8, usize)>)>) {
        let mut transaction = Transaction::new();
        for (index, ask) in asks {
            transaction = transaction.when(match ask {
                TestCondition::Absent => Condition::Absent(key(index)),
                TestCondition::At(back) => Condition::At(key(index), self.back(back).await),
                TestCondition::Unchanged(back) => Condition::Unchanged(key(index), self.back(back).await),
            });
        }
        for (index, value) in changes {
            transaction.operations.push(match value {
                Some((byte, count)) => Operation::Put(key(index), vec![byte; count].into()),
                None => Operation::Delete(key(index)),
            });
        }
        let [naive, memory, disk] = self.all();
        let expected = naive.commit(transaction.clone()).await;
        assert_eq!(memory.commit(transaction.clone()).await, expected, "memory: {transaction:?}");
        assert_eq!(disk.commit(transaction.clone()).await, expected, "disk: {transaction:?}");
    }

    async fn range(&self, range: Range) {
        let [naive, memory, disk] = self.all();
        let expected = naive.range(range.clone()).await;
        assert_eq!(memory.range(range.clone()).await, expected, "memory: {range:?}");
        assert_eq!(disk.range(range.clone()).await, expected, "disk: {range:?}");
    }

    async fn watch(&mut self, span: KeySpan, after: Revision) {
        let [naive, memory, disk] = self.all();
        let expected = naive.watch(span.clone(), after).await;
        let (memory, disk) = (memory.watch(span.clone(), after).await, disk.watch(span.clone(), after).await);
        match (expected, memory, disk) {
            (Ok(naive), Ok(memory), Ok(disk)) => {
                self.watches.push(WatchTriple { span, seen: after, running: [naive, memory, disk] });
            }
            (expected, memory, disk) => {
                assert_eq!(memory.err(), expected.as_ref().err().cloned(), "memory");
                assert_eq!(disk.err(), expected.err(), "disk");
            }
        }
    }

    /// Compares the items of the three watches. Only the model knows whether compacted changes were
    /// in the span: the others may end a watch that the model continues, after a prefix of its
    /// items.
    async fn drain(&mut self, which: usize) {
        let watched = &mut self.watches[which];
        let mut told = Vec::new();
        for watch in &mut watched.running {
            told.push(drain(watch).await);
        }
        let (expected, end) = &told[0];
        for (name, (told, ended)) in ["memory", "disk"].into_iter().zip(&told[1..]) {
            assert!(
                ended.is_some() || (told, ended) == (expected, end),
                "{name}: {told:?} {ended:?}, not {expected:?} {end:?}"
            );
            assert_eq!(told[..], expected[..told.len()], "{name}");
            assert!(matches!(ended, None | Some(WatchError::TooSlow { .. })), "{name}: {ended:?}");
        }
        if told.iter().any(|(_, end)| end.is_some()) {
            self.watches.swap_remove(which);
        } else {
            self.watches[which].seen = self.back(0).await;
        }
    }

    async fn restart(&mut self, restart: Restart) {
        match restart {
            Restart::Close => self.disk.close().await.expect("the store is closed"),
            Restart::Kill => self.files = self.files.kill(),
            Restart::PowerCut(seed) => self.files = self.files.crash(LOST[seed as usize % LOST.len()], seed),
        }
        self.disk =
            Disk::open_on(Arc::new(self.files.clone()), options()).expect("the store is opened again");
        let mut watches = std::mem::take(&mut self.watches);
        for mut watched in watches.drain(..) {
            match self.disk.watch(watched.span.clone(), watched.seen).await {
                Ok(watch) => {
                    watched.running[2] = watch;
                    self.watches.push(watched);
                }
                Err(WatchError::Compacted { .. }) => {}
                Err(other) => panic!("a watch resumes, or was compacted: {other}"),
            }
        }
    }

    /// Compares reads at all revisions.
    async fn compare(&mut self) {
        while !self.watches.is_empty() {
            self.drain(0).await;
            if !self.watches.is_empty() {
                self.watches.swap_remove(0);
            }
        }
        let now = self.back(0).await;
        for backend in self.all() {
            assert_eq!(backend.revision().await, Ok(now));
        }
        for revision in 0..=now.0 + 1 {
            let revision = Revision(revision);
            self.range(Range::of(KeySpan::all()).at(revision)).await;
            self.watch(KeySpan::all(), revision).await;
        }
        for which in (0..self.watches.len()).rev() {
            self.drain(which).await;
        }
    }
}

async fn drain(watch: &mut Watch) -> (Vec<WatchItem>, Option<WatchError>) {
    let mut told = Vec::new();
    watch.request_progress();
    loop {
        match watch.next().await {
            Ok(WatchItem::Progress(_)) => return (told, None),
            Ok(seen) => told.push(seen),
            Err(error) => return (told, Some(error)),
        }
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..KEYS.len();
    let back = prop_oneof![4 => 0..12_i64, 1 => -3..0_i64];
    let of = (any::<bool>(), 0..KEYS.len() + 1);
    let ask = prop_oneof![
        1 => Just(TestCondition::Absent),
        2 => back.clone().prop_map(TestCondition::At),
        2 => back.clone().prop_map(TestCondition::Unchanged),
    ];
    let bytes = prop_oneof![8 => 0..20_usize, 1 => 500..3000_usize];
    let value = (any::<u8>(), bytes);
    let change = (key.clone(), prop::option::weighted(0.7, value));
    let commit = (prop::collection::vec((key.clone(), ask), 0..3), prop::collection::vec(change, 0..4));
    let range =
        (of.clone(), prop::option::of(back.clone()), prop::option::of(key), 0..4_usize, any::<bool>());
    let restart =
        prop_oneof![Just(Restart::Close), Just(Restart::Kill), any::<u64>().prop_map(Restart::PowerCut)];
    let op = prop_oneof![
        // Many without a condition, so that enough succeed.
        12 => commit.clone().prop_map(|(_, changes)| Op::Commit(vec![], changes)),
        8 => commit.prop_map(|(asks, changes)| Op::Commit(asks, changes)),
        6 => range.prop_map(|(span, back, after, limit, count)| Op::Range { span, back, after, limit, count }),
        3 => (of, back.clone()).prop_map(|(of, back)| Op::Watch(of, back)),
        4 => any::<prop::sample::Index>().prop_map(Op::Drain),
        1 => any::<prop::sample::Index>().prop_map(Op::EndWatch),
        2 => back.prop_map(Op::Compact),
        1 => Just(Op::Checkpoint),
        2 => restart.prop_map(Op::Restart),
    ];
    prop::collection::vec(op, 1..60)
}

fn run(ops: Vec<Op>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut world = Backends::new();
        for op in ops {
            world.step(op).await;
        }
        world.compare().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_disk_match_the_model(ops in ops()) {
        run(ops);
    }
}

/// A checkpoint, a compaction to its revision, then a new log: neither file that is read has the
/// compaction's record.
#[test]
fn a_compaction_between_a_checkpoint_and_a_new_log_is_kept() {
    for bytes in [1, 1000, 2000, 3000, 5000] {
        for restart in [Restart::Close, Restart::Kill] {
            let put = || Op::Commit(vec![], vec![(0, Some((0, bytes)))]);
            run(vec![put(), Op::Checkpoint, Op::Compact(0), put(), Op::Restart(restart)]);
        }
    }
}
