//! Snapshots, restores, and files of every released format.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::faulty::{self, DiskCall, DiskFault};
use machinery_store::{
    Backend, Disk, DiskOptions, Entry, KeySpan, Memory, OpenError, Options, Range, Retention, SnapshotError,
    Transaction, WatchError, restore,
};

const BUMP: u64 = 1_000_000_000;

async fn fill(store: &dyn Backend) -> Revision {
    for round in 0..3 {
        for key in 0..20 {
            let value = format!("value {round} of {key}").into_bytes();
            store.commit(Transaction::new().put(format!("/things/{key:02}"), value)).await.unwrap();
        }
    }
    let last = Transaction::new().delete("/things/03").put("/pair/a", *b"1").put("/pair/b", vec![0; 5000]);
    store.commit(last).await.unwrap().revision
}

async fn all(store: &dyn Backend) -> Vec<Arc<Entry>> {
    store.range(Range::of(KeySpan::all())).await.unwrap().entries
}

async fn check_restored(snapshot: &Path, into: &Path, taken_at: Revision, expected: &[Arc<Entry>]) {
    let revision = restore(snapshot, into, BUMP).unwrap();
    assert_eq!(revision, Revision(taken_at.0 + BUMP));
    let disk = Disk::open(into, DiskOptions::default()).unwrap();
    assert_eq!(disk.revision().await.unwrap(), revision);
    assert_eq!(all(&disk).await, expected);
    // Clients of the old store must list again, even if it continued after the snapshot.
    for seen in [taken_at, Revision(taken_at.0 + 1000)] {
        let refused = disk.watch(KeySpan::all(), seen).await.unwrap_err();
        assert!(matches!(refused, WatchError::Compacted { .. }), "{refused}");
    }
    let commit = disk.commit(Transaction::new().put("new", *b"")).await.unwrap();
    assert_eq!(commit.revision, revision.next());
    disk.close().await.unwrap();
    let disk = Disk::open(into, DiskOptions::default()).unwrap();
    assert_eq!(all(&disk).await.len(), expected.len() + 1);
}

#[tokio::test]
async fn p12_a_snapshot_of_a_disk_is_restored_with_later_revisions() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::open(directory.path().join("old"), DiskOptions::default()).unwrap();
    let taken_at = fill(&disk).await;
    let (file, expected) = (directory.path().join("snapshot"), all(&disk).await);
    assert_eq!(disk.snapshot(&file).await.unwrap(), taken_at);
    disk.commit(Transaction::new().put("later", *b"")).await.unwrap();
    check_restored(&file, &directory.path().join("new"), taken_at, &expected).await;
}

#[tokio::test]
async fn p12_a_snapshot_of_a_memory_is_restored_with_later_revisions() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory::new(Options::default());
    let taken_at = fill(&memory).await;
    let (file, expected) = (directory.path().join("snapshot"), all(&memory).await);
    assert_eq!(memory.snapshot(&file).await.unwrap(), taken_at);
    check_restored(&file, &directory.path().join("new"), taken_at, &expected).await;
}

/// Regression: file modes followed the umask.
#[tokio::test]
async fn files_are_accessible_to_their_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("home");
    let options = DiskOptions { segment_bytes: 4096, ..DiskOptions::default() };
    let disk = Disk::open(home.join("deep/store"), options).unwrap();
    fill(&disk).await;
    disk.checkpoint().await.unwrap();
    fill(&disk).await;
    disk.snapshot(home.join("snapshot")).await.unwrap();
    disk.close().await.unwrap();
    restore(home.join("snapshot"), home.join("restored/store"), BUMP).unwrap();
    let mut seen = Vec::new();
    let mut left = vec![home];
    while let Some(path) = left.pop() {
        let found = fs::metadata(&path).unwrap();
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, expected, "{}", path.display());
        if found.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        seen.push(path.file_name().unwrap().to_str().unwrap().split('-').next().unwrap().to_owned());
    }
    for kind in ["checkpoint", "lock", "log", "restored", "snapshot", "store"] {
        assert!(seen.iter().any(|one| one == kind), "{kind} in {seen:?}");
    }
}

/// Regression: a restore over another store mixed the two.
#[tokio::test]
async fn p12_a_snapshot_is_not_restored_over_anything() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory::new(Options::default());
    fill(&memory).await;
    let file = directory.path().join("snapshot");
    memory.snapshot(&file).await.unwrap();
    assert!(
        matches!(memory.snapshot(&file).await.unwrap_err(), SnapshotError::Exists { path } if path == file)
    );

    let taken = directory.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("notes.txt"), "mine").unwrap();
    let refused = restore(&file, &taken, BUMP).unwrap_err();
    assert!(matches!(&refused, OpenError::NotAStore { path, .. } if *path == taken), "{refused}");
    assert_eq!(fs::read_dir(&taken).unwrap().count(), 1);
}

#[tokio::test]
async fn p12_a_snapshot_that_was_cut_or_changed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory::new(Options::default());
    for value in 0..3 {
        let pair = Transaction::new().put("/pair/a", [value]).put("/pair/b", [value]);
        memory.commit(pair).await.unwrap();
    }
    let file = directory.path().join("snapshot");
    memory.snapshot(&file).await.unwrap();
    let whole = fs::read(&file).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        let into = directory.path().join("never");
        let error = restore(&file, &into, BUMP).expect_err(what);
        assert!(error.to_string().contains("snapshot"), "{error}");
        assert!(!into.exists(), "{what}");
    };
    for length in 0..whole.len() {
        refused(&whole[..length], &format!("{length} bytes"));
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped, &format!("bit {bit}"));
    }
}

/// Returns the directory of samples: `v1/store` is a directory, `v1/snapshot` a file, both with the
/// content of [`fill`].
fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples")
}

fn tiny() -> DiskOptions {
    let store = Options { retention: Retention::MANUAL, ..Options::default() };
    DiskOptions { store, segment_bytes: 4096, background: false, ..DiskOptions::default() }
}

#[tokio::test]
async fn p13_every_released_format_is_opened() {
    let memory = Memory::new(Options::default());
    let taken_at = fill(&memory).await;
    let expected = all(&memory).await;
    let mut seen = 0;
    for version in fs::read_dir(samples()).unwrap().map(|version| version.unwrap().path()) {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("store");
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(version.join("store")).unwrap().map(|file| file.unwrap()) {
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
        let disk = Disk::open(&copy, tiny()).unwrap();
        assert_eq!(all(&disk).await, expected, "{}", version.display());
        assert_eq!(disk.revision().await.unwrap(), taken_at);
        for at in 1..=taken_at.0 {
            let range = Range::of(KeySpan::all()).at(Revision(at));
            assert_eq!(
                disk.range(range.clone()).await.unwrap().entries,
                memory.range(range).await.unwrap().entries
            );
        }
        disk.watch(KeySpan::all(), Revision(1)).await.unwrap();
        check_restored(&version.join("snapshot"), &directory.path().join("new"), taken_at, &expected).await;
        seen += 1;
    }
    assert!(seen > 0);
}

/// Run this for each new format and commit its output; never change existing samples. `cargo test
/// -p machinery-store --test it write_a_sample -- --ignored`
#[tokio::test]
#[ignore = "it writes the sample of a new format"]
async fn write_a_sample() {
    let version = fs::read_dir(samples()).map_or(1, |versions| versions.count() + 1);
    let path = samples().join(format!("v{version}"));
    fs::create_dir_all(&path).unwrap();
    let disk = Disk::open(path.join("store"), tiny()).unwrap();
    for round in 0..2 {
        for key in 0..20 {
            let value = format!("value {round} of {key}").into_bytes();
            disk.commit(Transaction::new().put(format!("/things/{key:02}"), value)).await.unwrap();
        }
    }
    disk.checkpoint().await.unwrap();
    for key in 0..20 {
        let value = format!("value 2 of {key}").into_bytes();
        disk.commit(Transaction::new().put(format!("/things/{key:02}"), value)).await.unwrap();
    }
    let last = Transaction::new().delete("/things/03").put("/pair/a", *b"1").put("/pair/b", vec![0; 5000]);
    disk.commit(last).await.unwrap();
    disk.snapshot(path.join("snapshot")).await.unwrap();
    disk.close().await.unwrap();
    let _ = fs::remove_file(path.join("store/lock"));
}

/// A failed write leaves unpublished versions behind, which a snapshot must not contain.
#[tokio::test]
async fn p12_a_snapshot_after_a_failed_sync_has_only_visible_commits() {
    let (files, place) = (faulty::FaultyDisk::new(), tempfile::tempdir().unwrap());
    let disk = Disk::open_on(Arc::new(files.clone()), DiskOptions::default()).unwrap();
    let shown = fill(&disk).await;
    let expected = all(&disk).await;
    files.inject(DiskFault::error(DiskCall::Sync, std::io::ErrorKind::Other));
    disk.commit(Transaction::new().put("/things/00", *b"newer").put("new", *b"")).await.unwrap_err();
    let file = place.path().join("snapshot");
    assert_eq!(disk.snapshot(&file).await.unwrap(), shown);
    check_restored(&file, &place.path().join("new"), shown, &expected).await;
}

/// The files of an interrupted restore are not taken for a new store.
#[tokio::test]
async fn p12_an_interrupted_restore_is_not_a_store() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("checkpoint-0000000000000029.unfinished"), "some of it").unwrap();
    let error = Disk::open(place.path(), DiskOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }) && error.to_string().contains("restore"), "{error}");
}

#[tokio::test]
async fn p12_a_bump_leaves_revisions() {
    let place = tempfile::tempdir().unwrap();
    let memory = Memory::new(Options::default());
    fill(&memory).await;
    let (file, into) = (place.path().join("snapshot"), place.path().join("new"));
    memory.snapshot(&file).await.unwrap();
    for bump in [u64::MAX, u64::MAX / 2] {
        let error = restore(&file, &into, bump).unwrap_err();
        assert!(error.to_string().contains("bump"), "{error}");
    }
    assert!(!into.exists());
}

/// A snapshot in progress reserves its name.
#[tokio::test]
async fn two_snapshots_under_one_name_are_one_and_an_error() {
    let place = tempfile::tempdir().unwrap();
    let memory = Memory::new(Options::default());
    fill(&memory).await;
    let file = place.path().join("snapshot");
    std::fs::write(place.path().join("snapshot.unfinished"), "of another one").unwrap();
    let error = memory.snapshot(&file).await.unwrap_err();
    assert!(
        matches!(&error, SnapshotError::Exists { path } if path.ends_with("snapshot.unfinished")),
        "{error}"
    );
    assert!(!file.exists());
}
