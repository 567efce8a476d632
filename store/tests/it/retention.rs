//! Compaction by policy, and the reported size of a store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{
    Backend, Disk, DiskOptions, KeySpan, Memory, Options, Range, ReadError, Retention, Transaction, Usage,
    WatchError, faulty,
};

async fn put(store: &dyn Backend, key: &str) -> Revision {
    store.commit(Transaction::new().put(key, vec![0; 10])).await.unwrap().revision
}

async fn compacted(store: &dyn Backend) -> Revision {
    match store.range(Range::of(KeySpan::all()).at(Revision::ZERO)).await {
        Err(ReadError::Compacted { compacted, .. }) => compacted,
        other => panic!("{other:?}"),
    }
}

async fn by_count(store: &dyn Backend, usage: impl Fn() -> Usage) {
    for _ in 0..1000 {
        put(store, "k").await;
    }
    let oldest = compacted(store).await;
    assert!((889..=901).contains(&oldest.0), "a hundred are kept, and at most an eighth more: {oldest}");
    let Usage { keys, bytes, revisions } = usage();
    assert_eq!((keys, revisions), (1, 1001 - oldest.0));
    assert_eq!(bytes, (revisions + 1) * 11, "the versions that can be read, and no other");
}

async fn by_age(store: &dyn Backend) {
    let first = put(store, "k").await;
    tokio::time::advance(Duration::from_secs(30)).await;
    put(store, "k").await;
    assert_eq!(compacted(store).await, Revision(1), "nothing is old");
    tokio::time::advance(Duration::from_secs(31)).await;
    put(store, "k").await;
    assert_eq!(compacted(store).await, first, "what was the newest a minute ago is the oldest");
    tokio::time::advance(Duration::from_secs(3600)).await;
    let last = put(store, "k").await;
    assert_eq!(compacted(store).await, Revision(last.0 - 1));
}

const COUNT: Retention = Retention { revisions: Some(100), ..Retention::MANUAL };
const AGE: Retention = Retention { age: Some(Duration::from_secs(60)), ..Retention::MANUAL };

fn options(retention: Retention) -> Options {
    Options { retention, ..Options::default() }
}

fn disk(retention: Retention) -> (Disk, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let options = DiskOptions { store: options(retention), ..DiskOptions::default() };
    (Disk::open(directory.path(), options).unwrap(), directory)
}

#[tokio::test]
async fn p09_memory_keeps_revisions_by_count() {
    let memory = Memory::new(options(COUNT));
    by_count(&memory, || memory.usage()).await;
}

#[tokio::test]
async fn p09_disk_keeps_revisions_by_count() {
    let (disk, _directory) = disk(COUNT);
    by_count(&disk, || disk.usage()).await;
}

#[tokio::test(start_paused = true)]
async fn p09_memory_keeps_revisions_by_age() {
    by_age(&Memory::new(options(AGE))).await;
}

#[tokio::test(start_paused = true)]
async fn p09_disk_keeps_revisions_by_age() {
    let (disk, _directory) = disk(AGE);
    by_age(&disk).await;
}

#[tokio::test]
async fn p09_policy_compaction_survives_a_reopen() {
    let (disk, directory) = disk(COUNT);
    for _ in 0..1000 {
        put(&disk, "k").await;
    }
    let before = (compacted(&disk).await, disk.usage());
    disk.close().await.unwrap();
    let options = DiskOptions { store: options(Retention::MANUAL), ..DiskOptions::default() };
    let disk = Disk::open(directory.path(), options).unwrap();
    assert_eq!((compacted(&disk).await, disk.usage()), before);
}

/// Checkpoints write no more bytes than the log, however large the store is.
#[tokio::test]
async fn checkpoints_write_no_more_than_the_log() {
    let disk = faulty::FaultyDisk::new();
    let store = Options { retention: Retention::MANUAL, ..Options::default() };
    let options = DiskOptions { store, segment_bytes: 4096, checkpoint_bytes: 8192, background: false };
    let store = Disk::open_on(Arc::new(disk.clone()), options).unwrap();
    let (mut written, mut seen) = (0, BTreeSet::new());
    for count in 0..3000 {
        store.commit(Transaction::new().put(format!("key-{count:04}"), vec![0; 100])).await.unwrap();
        for (name, bytes) in disk.contents() {
            if name.starts_with("checkpoint") && seen.insert(name) {
                written += bytes.len();
            }
        }
    }
    assert!(seen.len() >= 3, "it does not wait for ever: {seen:?}");
    // The log has at least 32 bytes and the key beyond each value; a checkpoint has slightly more
    // than the threshold.
    let log = 3000 * (32 + 8 + 100);
    assert!(written < 2 * log, "{written} bytes of {} checkpoints", seen.len());
    store.close().await.unwrap();
}

/// A megabyte in each revision: without a bound in bytes, the number of revisions bounds no memory.
async fn by_bytes(store: &dyn Backend, usage: impl Fn() -> Usage) {
    let keep = BYTES.bytes.unwrap();
    for count in 0..100_usize {
        store.commit(Transaction::new().put("k", vec![0; 100_000])).await.unwrap();
        store.commit(Transaction::new().put(format!("kept-{count}"), vec![0; 1000])).await.unwrap();
        let Usage { keys, bytes, revisions } = usage();
        let live = 100_001 + (keys - 1) * 1008;
        // The disk counts the history before a batch, which adds to it.
        assert!(bytes <= live + keep + 2 * 100_001, "{bytes} bytes of {keys} keys");
        assert!(count < 20 || revisions > 10, "some history is kept: {revisions} of {count}");
    }
    assert_eq!(usage().keys, 101, "no live entry is removed");
    assert!(compacted(store).await > Revision(150));
}

async fn small_revisions_count(store: &dyn Backend, usage: impl Fn() -> Usage) {
    for _ in 0..10_000 {
        put(store, "k").await;
    }
    let most = BYTES.bytes.unwrap() / 256;
    let Usage { revisions, .. } = usage();
    assert!((most / 2..=most + 1).contains(&revisions), "{revisions} of at most {most}");
}

async fn deleted_entries_count(store: &dyn Backend, usage: impl Fn() -> Usage) {
    for count in 0..100 {
        let key = format!("key-{count}");
        store.commit(Transaction::new().put(&*key, vec![0; 100_000])).await.unwrap();
        store.commit(Transaction::new().delete(&*key)).await.unwrap();
    }
    assert!(usage().bytes <= BYTES.bytes.unwrap() + 2 * 100_010, "{:?}", usage());
}

const BYTES: Retention = Retention { bytes: Some(1 << 20), ..Retention::MANUAL };

#[tokio::test]
async fn p09_memory_keeps_history_by_bytes() {
    for case in 0..3 {
        let memory = Memory::new(options(BYTES));
        match case {
            0 => by_bytes(&memory, || memory.usage()).await,
            1 => small_revisions_count(&memory, || memory.usage()).await,
            _ => deleted_entries_count(&memory, || memory.usage()).await,
        }
    }
}

#[tokio::test]
async fn p09_disk_keeps_history_by_bytes() {
    for case in 0..3 {
        let (disk, _directory) = disk(BYTES);
        match case {
            0 => by_bytes(&disk, || disk.usage()).await,
            1 => small_revisions_count(&disk, || disk.usage()).await,
            _ => deleted_entries_count(&disk, || disk.usage()).await,
        }
    }
}

/// The history on the disk may be that of a machine with more memory.
#[tokio::test]
async fn p09_a_reopened_store_keeps_history_by_bytes() {
    let (disk, directory) = disk(Retention::MANUAL);
    for _ in 0..100 {
        disk.commit(Transaction::new().put("k", vec![0; 100_000])).await.unwrap();
    }
    let newest = disk.revision().await.unwrap();
    disk.close().await.unwrap();
    let options = DiskOptions { store: options(BYTES), ..DiskOptions::default() };
    let disk = Disk::open(directory.path(), options.clone()).unwrap();
    assert!(disk.usage().bytes <= BYTES.bytes.unwrap() + 2 * 100_001, "{:?}", disk.usage());
    assert_eq!(disk.revision().await.unwrap(), newest);
    let oldest = compacted(&disk).await;
    assert_eq!(put(&disk, "other").await, newest.next());
    disk.close().await.unwrap();
    let disk = Disk::open(directory.path(), options).unwrap();
    assert!(compacted(&disk).await >= oldest, "history does not come back");
    assert_eq!(disk.usage().keys, 2);
}

/// A watch that has not read the compacted changes ends, as after any compaction.
#[tokio::test]
async fn p09_a_watch_behind_the_bound_in_bytes_is_too_slow() {
    let memory = Memory::new(options(BYTES));
    let first = put(&memory, "k").await;
    let mut behind = memory.watch(KeySpan::all(), first).await.unwrap();
    for _ in 0..100 {
        memory.commit(Transaction::new().put("k", vec![0; 100_000])).await.unwrap();
    }
    let ended = loop {
        match behind.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(ended, WatchError::TooSlow { .. }), "{ended:?}");
    let compacted = memory.watch(KeySpan::all(), first).await.err().unwrap();
    assert!(matches!(compacted, WatchError::Compacted { .. }), "{compacted:?}");
}
