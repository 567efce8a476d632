//! Nothing is visible before its sync; after a failed sync, nothing more is written.

use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;

use futures::future::join_all;
use futures::{FutureExt, poll};
use machinery_objects::Revision;
use machinery_store::faulty::{self, DiskCall, DiskFault, FaultEffect, Gate, PowerLoss};
use machinery_store::files::Files;
use machinery_store::{
    Backend, CommitError, CompactError, Disk, KeySpan, Range, ReadError, Transaction, WatchError, WatchItem,
};

use tokio_util::task::TaskTracker;

use crate::crash::{open, still_reads};
use crate::crash_witness::Witness;

fn put(key: &str) -> Transaction {
    Transaction::new().put(key, key.as_bytes().to_vec())
}

/// Fails the test instead of hanging if the store never reaches the gate.
async fn reached(gate: &Gate) {
    let deadline = std::time::Duration::from_secs(60);
    tokio::time::timeout(deadline, gate.reached()).await.expect("the store comes to the gate");
}

/// Makes a store with one entry at revision 2, and its witness.
async fn store() -> (faulty::FaultyDisk, Disk, Witness) {
    let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
    let store = open(&disk).unwrap();
    witness.answered(put("old"), store.commit(put("old")).await);
    (disk, store, witness)
}

#[tokio::test]
async fn nothing_is_visible_before_its_sync() {
    let (disk, store, witness) = store().await;
    let (now, next) = (Revision(2), Revision(3));
    let mut watch = store.watch(KeySpan::all(), now).await.unwrap();
    let gate = Gate::new();
    disk.inject(DiskFault::hold(DiskCall::Sync, &gate));

    let mut commit = pin!(store.commit(put("new")));
    assert!(poll!(&mut commit).is_pending());
    reached(&gate).await;
    let mut refusal = pin!(store.commit(Transaction::new().if_absent("new").put("new", *b"other")));
    let mut compaction = pin!(store.compact(now));
    for _ in 0..1000 {
        assert_eq!(store.revision().await, Ok(now));
        let page = store.range(Range::of(KeySpan::all()).counted()).await.unwrap();
        assert_eq!((page.at, page.current, page.entries.len(), page.remaining), (now, now, 1, Some(0)));
        let future = ReadError::Future { requested: next, current: now };
        assert_eq!(store.range(Range::of(KeySpan::one("new")).at(next)).await, Err(future));
        assert_eq!(store.range(Range::of(KeySpan::one("new"))).await.unwrap().entries, []);
        assert!(watch.next().now_or_never().is_none());
        let refused = store.watch(KeySpan::all(), next).await.unwrap_err();
        assert_eq!(refused, WatchError::Future { after: next, current: now });
        assert!(poll!(&mut commit).is_pending() && poll!(&mut refusal).is_pending());
        assert!(poll!(&mut compaction).is_pending());
    }
    watch.request_progress();
    assert_eq!(watch.next().await, Ok(WatchItem::Progress(now)));
    let mut another = store.watch(KeySpan::all(), Revision(1)).await.unwrap();
    assert!(matches!(another.next().await, Ok(WatchItem::Changes { revision, .. }) if revision == now));
    assert!(another.next().now_or_never().is_none());

    for lost in [PowerLoss::Everything, PowerLoss::Torn] {
        let cut = open(&disk.crash(lost, 1)).unwrap();
        witness.clone().check(&cut).await;
        assert_eq!(cut.revision().await, Ok(now), "nothing is lost that anybody saw");
    }

    gate.open();
    assert_eq!(commit.await.unwrap().revision, next);
    assert!(matches!(refusal.await, Err(CommitError::Conflict(conflict)) if conflict.revision == next));
    compaction.await.unwrap();
    assert!(matches!(watch.next().await, Ok(WatchItem::Changes { revision, .. }) if revision == next));
    assert!(matches!(another.next().await, Ok(WatchItem::Changes { revision, .. }) if revision == next));
    assert_eq!(store.revision().await, Ok(next));
}

/// A conflict in the same batch as the commit that causes it: both wait for one sync.
#[tokio::test]
async fn a_conflict_waits_for_the_sync_it_depends_on() {
    let (disk, store, mut witness) = store().await;
    let (first, second) = (Gate::new(), Gate::new());
    disk.inject(DiskFault::hold(DiskCall::Sync, &first));
    disk.inject(DiskFault::hold(DiskCall::Sync, &second));
    let mut commit = pin!(store.commit(put("first")));
    assert!(poll!(&mut commit).is_pending());
    reached(&first).await;
    let creation = || Transaction::new().if_absent("new").put("new", *b"mine");
    let mut winner = pin!(store.commit(creation()));
    let mut refusal = pin!(store.commit(creation()));
    let mut nothing = pin!(store.commit(Transaction::new().delete("absent")));
    let mut waits = async || {
        let answers = [poll!(&mut winner), poll!(&mut refusal), poll!(&mut nothing)];
        assert!(answers.iter().all(std::task::Poll::is_pending), "{answers:?}");
    };
    waits().await;
    first.open();
    reached(&second).await;
    witness.answered(put("first"), commit.await);
    for _ in 0..1000 {
        waits().await;
        tokio::task::yield_now().await;
    }
    witness.clone().check(&open(&disk.crash(PowerLoss::Everything, 0)).unwrap()).await;
    second.open();
    assert_eq!(winner.await.unwrap().revision, Revision(4));
    let Err(CommitError::Conflict(conflict)) = refusal.await else { panic!("it is there already") };
    assert_eq!((conflict.revision, conflict.current.unwrap().modified), (Revision(4), Revision(4)));
    assert_eq!(nothing.await.unwrap().revision, Revision(4));
}

/// Commits that wait for a failed sync are unknown; conflicts that depend on them, and all later
/// commits, are refused.
#[tokio::test]
async fn a_failed_sync_or_write_ends_writes_but_not_reads() {
    let errors = [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::TimedOut];
    let fail = errors
        .map(|kind| [(DiskCall::Sync, FaultEffect::Fail(kind)), (DiskCall::Write, FaultEffect::Fail(kind))]);
    let parts = [
        (DiskCall::Sync, FaultEffect::Forget(ErrorKind::Other)),
        (DiskCall::Write, FaultEffect::Short(40, ErrorKind::StorageFull)),
        (DiskCall::Write, FaultEffect::Short(100_000, ErrorKind::Other)),
    ];
    for (call, effect) in fail.into_iter().flatten().chain(parts) {
        let (disk, store, mut witness) = store().await;
        let mut watch = store.watch(KeySpan::all(), Revision(2)).await.unwrap();
        let gate = Gate::new();
        disk.inject(DiskFault::hold(DiskCall::Sync, &gate));
        disk.inject(DiskFault::new(call, effect.clone()).of("log").after(u64::from(call == DiskCall::Write)));
        let mut first = pin!(store.commit(put("first")));
        assert!(poll!(&mut first).is_pending());
        reached(&gate).await;
        // These form one batch: they wait during the first sync.
        let creation = || Transaction::new().if_absent("new").put("new", *b"mine");
        let transactions = [creation(), creation(), put("third"), Transaction::new().delete("absent")];
        let mut batch = pin!(join_all(transactions.clone().map(|one| store.commit(one))));
        assert!(poll!(&mut batch).is_pending());
        let mut compaction = pin!(store.compact(Revision(2)));
        assert!(poll!(&mut compaction).is_pending());
        // The seal after the first batch is skipped while requests wait, so the next write is the
        // batch.
        gate.open();
        witness.answered(put("first"), first.await);
        let answers = batch.await;
        for (one, answer) in transactions.into_iter().zip(answers) {
            let why = match &answer {
                Err(CommitError::Unknown { why } | CommitError::Refused { why }) => why,
                other => panic!("{call:?} {effect:?}: {other:?}"),
            };
            assert!(why.contains("faulty") && why.contains("open it again"), "{why}");
            let changes = matches!(answer, Err(CommitError::Unknown { .. }));
            assert_eq!(
                changes,
                one == creation() && witness.unknown() == 0 || one == put("third"),
                "{one:?}"
            );
            witness.answered(one, answer);
        }
        let answer = compaction.await;
        assert!(matches!(answer, Err(CompactError::Unknown { .. })), "{answer:?}");
        witness.compacted(Revision(2), &answer);
        assert!(store.trouble().is_some());

        still_reads(&store, &witness).await;
        assert!(matches!(watch.next().await, Ok(WatchItem::Changes { revision: Revision(3), .. })));
        assert!(watch.next().now_or_never().is_none());
        watch.request_progress();
        assert_eq!(watch.next().await, Ok(WatchItem::Progress(Revision(3))));

        let cut = disk.crash(PowerLoss::Everything, 0);
        assert!(store.close().await.is_err(), "it says that it could not write");
        let again = open(&disk).unwrap();
        let mut after = witness.clone();
        after.check(&again).await;
        after.write_next(&again).await;
        after.check(&again).await;
        witness.check(&open(&cut).unwrap()).await;
    }
}

/// After a sync that failed and dropped dirty data, the data is readable until the power cut; a
/// reopened store must not lose it.
#[tokio::test]
async fn reopening_rewrites_the_batch_a_failed_sync_dropped() {
    let (disk, store, mut witness) = store().await;
    disk.inject(DiskFault::new(DiskCall::Sync, FaultEffect::Forget(ErrorKind::Other)));
    witness.answered(put("new"), store.commit(put("new")).await);
    drop(store);
    let again = open(&disk).unwrap();
    witness.check(&again).await;
    assert_eq!(witness.newest(), Revision(3), "it is in the cache");
    witness.check(&open(&disk.crash(PowerLoss::Everything, 0)).unwrap()).await;
}

#[tokio::test]
async fn a_full_disk_is_reported_and_accepts_writes_once_there_is_space() {
    let (disk, store, mut witness) = store().await;
    let used: usize = disk.contents().values().map(Vec::len).sum();
    disk.limit(used as u64 + 4000);
    for count in 0.. {
        let transaction = Transaction::new().put(format!("k{}", count % 7), vec![b'x'; 900]);
        let answer = store.commit(transaction.clone()).await;
        if let Err(error) = &answer {
            assert!(error.to_string().contains("no storage space"), "{error}");
        }
        if !witness.answered(transaction, answer) {
            break;
        }
        assert!(count < 1000);
    }
    assert!(disk.fired().contains_key(&(DiskCall::Write, "full")));
    still_reads(&store, &witness).await;
    drop(store);
    // Still without space: the open succeeds or reports it; with space, all data is there.
    match open(&disk) {
        Ok(store) => witness.check(&store).await,
        Err(error) => assert!(matches!(error, machinery_store::OpenError::Full { .. }), "{error}"),
    }
    disk.limit(u64::MAX);
    let store = open(&disk).unwrap();
    witness.check(&store).await;
    witness.write_next(&store).await;
    witness.check(&store).await;
}

/// Without a reopen. Of concurrent commits some fit and some do not; no power cut loses the former
/// or shows the latter.
#[tokio::test]
async fn a_full_disk_accepts_writes_again_without_a_reopen() {
    for room in [0, 500, 4000, 9000, 20_000] {
        let (disk, store, mut witness) = store().await;
        let used: usize = disk.contents().values().map(Vec::len).sum();
        disk.limit(used as u64 + room);
        let mut refused = 0;
        for count in 0.. {
            let one = |n: usize| Transaction::new().put(format!("k{n}"), vec![b'x'; 100 * n]);
            let together: Vec<_> = (1..=9).map(one).collect();
            let answers = join_all(together.clone().into_iter().map(|one| store.commit(one))).await;
            for (one, answer) in together.into_iter().zip(answers) {
                if let Err(error) = &answer {
                    assert!(matches!(error, CommitError::Refused { .. }), "{error}");
                    assert!(error.to_string().contains("free some there"), "{error}");
                    refused += 1;
                }
                witness.answered(one, answer);
            }
            if refused > 0 {
                break;
            }
            assert!(count < 1000);
        }
        let trouble = store.trouble().expect("it says so");
        assert!(trouble.contains("no storage space"), "{trouble}");
        let last = witness.newest();
        assert_eq!(store.revision().await, Ok(last));
        let mut watch = store.watch(KeySpan::all(), last).await.unwrap();
        let compacted = store.compact(last).await;
        assert!(matches!(compacted, Err(CompactError::Refused { .. })), "{compacted:?}");
        still_reads(&store, &witness).await;
        let mut before = witness.clone();
        let full = disk.crash(PowerLoss::Everything, 0);

        disk.limit(u64::MAX);
        assert!(!store.commit(Transaction::new()).await.unwrap().changed);
        let trouble = store.trouble();
        assert!(trouble.is_none_or(|why| why.contains("the last checkpoint")), "that is made later");
        let answer = store.commit(put("new")).await;
        witness.answered(put("new"), answer);
        assert_eq!(witness.newest(), last.next());
        assert!(
            matches!(watch.next().await, Ok(WatchItem::Changes { revision, .. }) if revision == last.next())
        );
        witness.write_next(&store).await;
        witness.check(&store).await;
        witness.check(&open(&disk.crash(PowerLoss::Everything, 0)).unwrap()).await;
        store.close().await.unwrap();
        witness.check(&open(&disk).unwrap()).await;
        before.check(&open(&full).unwrap()).await;
    }
}

/// After a large commit was refused, smaller ones are refused too until there is space for the
/// large one.
#[tokio::test]
async fn a_full_disk_refuses_smaller_writes_until_the_refused_one_fits() {
    let (disk, store, _) = store().await;
    let used: usize = disk.contents().values().map(Vec::len).sum();
    disk.limit(used as u64 + 10_000);
    let large = Transaction::new().put("large", vec![b'x'; 50_000]);
    store.commit(large.clone()).await.unwrap_err();
    store.commit(put("small")).await.unwrap_err();
    store.commit(Transaction::new()).await.unwrap_err();
    disk.limit(used as u64 + 200_000);
    store.commit(Transaction::new()).await.unwrap();
    store.commit(large).await.unwrap();
    assert_eq!(store.trouble(), None);
}

/// A failed checkpoint costs only disk space: writes continue, and the handle reports it.
#[tokio::test]
async fn a_failed_checkpoint_does_not_stop_writes() {
    for (call, effect) in [
        (DiskCall::Create, FaultEffect::Fail(ErrorKind::StorageFull)),
        (DiskCall::Write, FaultEffect::Short(30, ErrorKind::StorageFull)),
        (DiskCall::Sync, FaultEffect::Forget(ErrorKind::Other)),
        (DiskCall::Rename, FaultEffect::Fail(ErrorKind::Other)),
    ] {
        let (disk, store, mut witness) = store().await;
        disk.inject(DiskFault::new(call, effect).of("checkpoint").for_ever());
        store.checkpoint().await.unwrap_err();
        assert!(store.trouble().is_some());
        for _ in 0..20 {
            witness.write_next(&store).await;
        }
        witness.check(&store).await;
        drop(store);
        witness.check(&open(&disk.crash(PowerLoss::Torn, 0)).unwrap()).await;
        disk.heal();
        let store = open(&disk).unwrap();
        store.checkpoint().await.unwrap();
        assert_eq!(store.trouble(), None);
        witness.check(&store).await;
    }
}

/// Checkpoints run on another thread than the writer: commits do not wait for them.
#[tokio::test]
async fn a_stalled_checkpoint_stalls_no_commit() {
    let disk = faulty::FaultyDisk::new();
    let options = machinery_store::DiskOptions { background: true, ..crate::crash::options() };
    let store = Disk::open_on(Arc::new(disk.clone()), options).unwrap();
    let mut witness = Witness::new();
    let gate = Gate::new();
    disk.inject(DiskFault::hold(DiskCall::Sync, &gate).of("checkpoint"));
    let mut checkpoint = pin!(store.checkpoint());
    assert!(poll!(&mut checkpoint).is_pending());
    reached(&gate).await;
    for _ in 0..100 {
        witness.write_next(&store).await;
    }
    witness.check(&store).await;
    assert!(poll!(&mut checkpoint).is_pending());
    witness.clone().check(&open(&disk.crash(PowerLoss::Everything, 0)).unwrap()).await;
    gate.open();
    checkpoint.await.unwrap();
    store.close().await.unwrap();
    witness.check(&open(&disk).unwrap()).await;
}

/// A checkpoint omits versions compacted meanwhile, while a log begun meanwhile has a lower
/// compacted revision. Regression: such files were taken for damage.
#[tokio::test]
async fn a_compaction_during_a_checkpoint_is_not_damage() {
    // Before the checkpoint has read anything, and after it has read its versions.
    for held in [DiskCall::Create, DiskCall::Write] {
        let disk = faulty::FaultyDisk::new();
        let options = machinery_store::DiskOptions { background: true, ..crate::crash::options() };
        let store = Disk::open_on(Arc::new(disk.clone()), options).unwrap();
        let mut witness = Witness::new();
        for _ in 0..5 {
            let transaction = put("again and again");
            witness.answered(transaction.clone(), store.commit(transaction).await);
        }
        let gate = Gate::new();
        disk.inject(DiskFault::hold(held, &gate).of("checkpoint"));
        let mut checkpoint = pin!(store.checkpoint());
        assert!(poll!(&mut checkpoint).is_pending());
        reached(&gate).await;
        let logs = |disk: &faulty::FaultyDisk| {
            disk.contents().keys().filter(|name| name.starts_with("log-")).count()
        };
        let before = logs(&disk);
        while logs(&disk) < before + 2 {
            witness.write_next(&store).await;
        }
        let to = witness.newest();
        witness.compacted(to, &store.compact(to).await);
        gate.open();
        checkpoint.await.unwrap();
        let again = open(&disk.kill()).unwrap();
        witness.check(&again).await;
        assert_eq!(again.usage(), store.usage(), "what was compacted is not there");
    }
}

/// An operator removed a spare segment.
#[tokio::test]
async fn a_removed_spare_segment_does_not_stop_writes() {
    let (disk, store, mut witness) = store().await;
    while !disk.contents().keys().any(|name| name.starts_with("spare")) {
        witness.write_next(&store).await;
    }
    disk.inject(DiskFault::error(DiskCall::Rename, ErrorKind::NotFound).of("spare"));
    for _ in 0..200 {
        witness.write_next(&store).await;
    }
    assert!(disk.fired().values().sum::<u64>() > 0, "a segment was begun meanwhile");
    witness.check(&store).await;
}

/// A store can be opened right after it was closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_waits_until_the_directory_is_unlocked() {
    let tasks = TaskTracker::new();
    for _ in 0..100 {
        let (disk, store, _) = store().await;
        let other = tasks.spawn({
            let store = store.clone();
            async move { store.close().await }
        });
        store.close().await.unwrap();
        assert!(disk.lock().unwrap().is_some());
        other.await.unwrap().unwrap();
    }
}
