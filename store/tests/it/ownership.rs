//! A directory that is moved, replaced or removed under a running store, and two processes that
//! write to one log.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use machinery_store::faulty::{self, DiskCall, DiskFault, Gate};
use machinery_store::{
    Backend, CommitError, CompactError, Disk, KeySpan, OpenError, Range, Transaction, WatchItem,
};

use crate::crash::{open, options};

/// A store in a directory, with two acknowledged commits.
struct Kept {
    place: tempfile::TempDir,
    store: Disk,
}

impl Kept {
    async fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = Disk::open(place.path().join("store"), options()).unwrap();
        for key in ["a", "b"] {
            store.commit(Transaction::new().put(key, *b"kept")).await.unwrap();
        }
        Self { place, store }
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("store")
    }

    fn elsewhere(&self) -> PathBuf {
        self.place.path().join("elsewhere")
    }

    /// The path of the open segment.
    fn log(&self) -> PathBuf {
        let names = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("log-")).max().unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Replaces a file by a copy of itself.
fn replace(path: &Path) {
    let new = path.with_extension("new");
    fs::copy(path, &new).unwrap();
    fs::rename(new, path).unwrap();
}

async fn keys(store: &Disk) -> Vec<String> {
    let page = store.range(Range::of(KeySpan::all())).await.unwrap();
    page.entries.iter().map(|entry| entry.key.to_string()).collect()
}

/// Each way to lose the directory, and the way back, if there is one.
type Way = (&'static str, fn(&Kept), Option<fn(&Kept)>);

const WAYS: [Way; 7] = [
    (
        "the directory is moved",
        |kept| fs::rename(kept.path(), kept.elsewhere()).unwrap(),
        Some(|kept| fs::rename(kept.elsewhere(), kept.path()).unwrap()),
    ),
    (
        "the directory is replaced by a copy",
        |kept| {
            fs::rename(kept.path(), kept.elsewhere()).unwrap();
            copy(&kept.elsewhere(), &kept.path());
        },
        Some(|kept| {
            fs::remove_dir_all(kept.path()).unwrap();
            fs::rename(kept.elsewhere(), kept.path()).unwrap();
        }),
    ),
    ("the directory is deleted", |kept| fs::remove_dir_all(kept.path()).unwrap(), None),
    ("the lock file is removed", |kept| fs::remove_file(kept.path().join("lock")).unwrap(), Some(|_| ())),
    ("the lock file is replaced", |kept| replace(&kept.path().join("lock")), Some(|_| ())),
    ("the segment is removed", |kept| fs::remove_file(kept.log()).unwrap(), None),
    ("the segment is replaced", |kept| replace(&kept.log()), Some(|_| ())),
];

#[tokio::test]
async fn a_directory_moved_or_deleted_under_a_store_is_noticed_before_the_next_acknowledgement() {
    for (what, lose, back) in WAYS {
        let kept = Kept::new().await;
        let (store, shown) = (&kept.store, kept.path().display().to_string());
        let mut watch = store.watch(KeySpan::all(), store.revision().await.unwrap()).await.unwrap();
        lose(&kept);
        // A transaction without changes is acknowledged too, and tells a health check.
        let probe = store.commit(Transaction::new()).await.unwrap_err();
        let Err(refused) = store.commit(Transaction::new().put("c", *b"lost")).await else {
            panic!("{what}: acknowledged")
        };
        for refused in [probe, refused] {
            assert!(matches!(refused, CommitError::Refused { .. }), "{what}: {refused}");
            let text = refused.to_string();
            assert!(text.contains(&shown) && text.contains("not the directory that was opened"), "{text}");
            assert!(text.contains("stop this process") && text.contains("open it again"), "{text}");
        }
        assert!(store.trouble().unwrap().contains("not the directory"), "{what}");
        let compacted = store.compact(store.revision().await.unwrap()).await.unwrap_err();
        assert!(matches!(compacted, CompactError::Refused { .. }), "{what}: {compacted}");
        store.checkpoint().await.expect_err("it would be written to a foreign directory");
        assert_eq!(keys(store).await, ["a", "b"], "{what}: reads go on");
        watch.request_progress();
        assert!(matches!(watch.next().await.unwrap(), WatchItem::Progress(_)), "{what}: so do watches");
        store.close().await.expect_err("its end was not marked");
        if let Some(back) = back {
            back(&kept);
            let again = Disk::open(kept.path(), options()).unwrap();
            assert_eq!(keys(&again).await, ["a", "b"], "{what}");
            again.commit(Transaction::new().put("c", *b"kept")).await.unwrap();
        }
    }
}

/// The check comes after the sync: the lock may be lost while it runs.
#[tokio::test]
async fn a_lock_lost_during_the_sync_leaves_the_outcome_unknown() {
    let disk = faulty::FaultyDisk::new();
    let store = open(&disk).unwrap();
    store.commit(Transaction::new().put("a", *b"kept")).await.unwrap();
    let gate = Gate::new();
    disk.inject(DiskFault::hold(DiskCall::Sync, &gate));
    let lose = async {
        gate.reached().await;
        disk.replace_lock();
        gate.open();
    };
    let (done, ()) = futures::join!(store.commit(Transaction::new().put("b", *b"?")), lose);
    let unknown = done.unwrap_err();
    assert!(matches!(unknown, CommitError::Unknown { .. }), "{unknown}");
    assert_eq!(keys(&store).await, ["a"], "it is not visible");
    let refused = store.commit(Transaction::new().put("c", *b"")).await.unwrap_err();
    assert!(matches!(refused, CommitError::Refused { .. }), "{refused}");
}

/// Files of another store at the same path: it must stay as it is.
#[tokio::test]
async fn maintenance_does_not_touch_a_directory_that_took_the_place_of_its_own() {
    let kept = Kept::new().await;
    let other = Kept::new().await;
    other.store.close().await.unwrap();
    fs::rename(kept.path(), kept.elsewhere()).unwrap();
    fs::rename(other.path(), kept.path()).unwrap();
    let contents = || {
        let mut all: Vec<_> = fs::read_dir(kept.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        all.sort();
        all
    };
    let before = contents();
    kept.store.checkpoint().await.unwrap_err();
    for key in ["c", "d"] {
        kept.store.commit(Transaction::new().put(key, vec![0; 9000])).await.unwrap_err();
    }
    kept.store.close().await.unwrap_err();
    assert_eq!(contents(), before);
    assert_eq!(keys(&Disk::open(kept.elsewhere(), options()).unwrap()).await, ["a", "b"]);
}

/// Helper process: opens the store, and commits for each line of its input.
#[tokio::test]
async fn writer() {
    let Some(directory) = std::env::var_os("STORE_WRITER_DIRECTORY") else { return };
    let store = Disk::open(directory, options()).unwrap();
    println!("@opened");
    for line in std::io::stdin().lines() {
        match store.commit(Transaction::new().put(line.unwrap(), *b"1")).await {
            Ok(commit) => println!("@acknowledged {}", commit.revision),
            Err(error) => println!("@refused {error}"),
        }
    }
}

#[tokio::test]
async fn a_lock_file_removed_under_a_process_lets_no_second_one_write() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ownership::writer", "--nocapture", "--test-threads", "1"])
        .env("STORE_WRITER_DIRECTORY", place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let mut answers = lines.filter_map(|line| line.find('@').map(|at| line[at + 1..].to_owned()));
    let mut next = || answers.next().expect("the other process answers");
    assert_eq!(next(), "opened");
    writeln!(input, "a").unwrap();
    assert!(next().starts_with("acknowledged"));

    fs::remove_file(place.path().join("lock")).unwrap();
    let error = Disk::open(place.path(), options()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    writeln!(input, "b").unwrap();
    let refused = next();
    assert!(refused.starts_with("refused") && refused.contains("lock is another file"), "{refused}");
    let error = Disk::open(place.path(), options()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "it is open still: {error}");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let store = Disk::open(place.path(), options()).unwrap();
    assert_eq!(keys(&store).await, ["a"]);
}

/// Two processes wrote batches of equal lengths to the same places: on a file system that shared
/// the files and not the locks, say. Each batch alone is as it was written.
#[tokio::test]
async fn a_log_to_which_two_processes_wrote_is_not_sound() {
    let disk = faulty::FaultyDisk::new();
    let store = open(&disk).unwrap();
    store.commit(Transaction::new().put("common", *b"0")).await.unwrap();
    let begin = disk.kill();
    let mut logs = Vec::new();
    for name in ["x", "y"] {
        let disk = begin.kill();
        let store = open(&disk).unwrap();
        for count in 0..5_u8 {
            store.commit(Transaction::new().put(format!("{name}{count}"), [count])).await.unwrap();
        }
        store.close().await.unwrap();
        let (log, bytes) = disk.contents().into_iter().rfind(|(log, _)| log.starts_with("log-")).unwrap();
        logs.push((log, bytes));
    }
    let [(name, one), (_, other)] = &logs[..] else { panic!("two logs") };
    let places = one.windows(4).enumerate().filter(|(_, bytes)| bytes == b"fram").map(|(at, _)| at);
    let places: Vec<_> = places.collect();
    assert_eq!(places.len(), 7, "a batch of both, five of one, and a seal");
    // One's first batches, and what the other wrote after them.
    for border in &places[2..6] {
        for (first, then) in [(one, other), (other, one)] {
            let mixed = [&first[..*border], &then[*border..]].concat();
            let both = begin.kill();
            both.put(name, &mixed);
            let error = open(&both).expect_err("writes of one of them are lost");
            assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("two processes wrote to this log"), "{error}");
        }
    }
    let whole = begin.kill();
    whole.put(name, one);
    assert_eq!(keys(&open(&whole).unwrap()).await.len(), 6, "either log alone is sound");
}
