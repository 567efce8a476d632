//! Real processes killed under load, again and again on the same directory.
//!
//! The parent starts this test program as a child, which opens the store and commits from several
//! tasks, and prints its acknowledgements and watch items. `STORE_KILLS` is the number of kills.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use futures::future::try_join_all;
use machinery_objects::Revision;
use machinery_store::faulty::Dice;
use machinery_store::{
    Backend, Disk, DiskOptions, Event, KeySpan, Options, Range, ReadError, Retention, Transaction, Watch,
    WatchItem,
};

/// Environment variable: the child's directory.
const DIRECTORY: &str = "STORE_KILL_DIRECTORY";
const SEED: &str = "STORE_KILL_SEED";
/// Prefix of the child's output lines.
const MARK: &str = "@store ";
const TASKS: u64 = 4;
const PARTS: [&str; 3] = ["x", "y", "z"];

fn open(directory: &Path) -> Disk {
    let store =
        Options { retention: Retention { revisions: Some(60), ..Retention::MANUAL }, ..Options::default() };
    let options = DiskOptions { store, segment_bytes: 4096, checkpoint_bytes: 8192, background: true };
    Disk::open(directory, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Helper process, started by the parent. Does nothing without its environment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    report("opens");
    let store = open(directory.as_ref());
    let opened = store.revision().await.unwrap();
    report(format_args!("opened {opened}"));
    let mut watch = store.watch(KeySpan::all(), compacted(&store).await).await.unwrap();
    watch.request_progress();
    report_events(&mut watch, Some(opened)).await;
    let tasks = (0..TASKS).map(|task| writer(&store, task, Dice::new(seed + task)));
    let (written, ()) = futures::join!(try_join_all(tasks), report_events(&mut watch, None));
    written.unwrap();
}

/// Commits for ever: puts an increasing number under all of its keys.
async fn writer(store: &Disk, task: u64, mut dice: Dice) -> Result<(), machinery_store::CommitError> {
    let keys = PARTS.map(|part| format!("{task}/{part}"));
    let now = store.range(Range::of(KeySpan::one(&*keys[0]))).await.unwrap();
    let mut count = now.entries.first().map_or(0, |entry| number(&entry.value));
    loop {
        count += 1;
        let mut value = format!("{count} ").into_bytes();
        value.resize(10 + dice.below(700) as usize, b'.');
        let transaction = keys.iter().fold(Transaction::new(), |one, key| one.put(&**key, &*value));
        // Odd numbers put one more key, which even ones delete.
        let transaction = match count % 2 {
            0 => transaction.delete(format!("{task}/odd")),
            _ => transaction.if_absent(format!("{task}/odd")).put(format!("{task}/odd"), &*value),
        };
        let commit = store.commit(transaction).await?;
        report(format_args!("acknowledged {} {task} {count}", commit.revision));
    }
}

/// Prints the items of a watch, up to the progress item at `end`.
async fn report_events(watch: &mut Watch, end: Option<Revision>) {
    while let Ok(seen) = watch.next().await {
        match seen {
            WatchItem::Progress(at) if Some(at) == end => return,
            WatchItem::Progress(_) => {}
            WatchItem::Changes { revision, events } => {
                let (task, count) = whole(&changes(&events));
                report(format_args!("shown {revision} {task} {count}"));
            }
        }
    }
}

fn changes(events: &[Event]) -> BTreeMap<&str, Option<u64>> {
    events.iter().map(|event| (&**event.key(), event.after().map(|entry| number(&entry.value)))).collect()
}

async fn compacted(store: &Disk) -> Revision {
    match store.range(Range::of(KeySpan::all()).at(Revision(1))).await {
        Ok(_) => Revision(1),
        Err(ReadError::Compacted { compacted, .. }) => compacted,
        Err(error) => panic!("{error}"),
    }
}

/// One write, so that a line is complete or missing.
fn report(what: impl std::fmt::Display) {
    let line = format!("{MARK}{what}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn number(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// Returns the task and number of a transaction, and checks that it is complete.
fn whole(changes: &BTreeMap<&str, Option<u64>>) -> (u64, u64) {
    let (task, _) = changes.keys().next().unwrap().split_once('/').unwrap();
    let count = changes.values().flatten().next().copied().unwrap();
    let odd = (count % 2 == 1).then_some(count);
    let keys = PARTS.iter().map(|part| (format!("{task}/{part}"), Some(count)));
    let all: BTreeMap<_, _> = keys.chain([(format!("{task}/odd"), odd)]).collect();
    assert!(
        changes.iter().map(|(key, value)| (key.to_string(), *value)).eq(all),
        "half a transaction: {changes:?}"
    );
    (task.parse().unwrap(), count)
}

/// The output of all children: the transaction of each revision, and the last observed transaction
/// of each task.
#[derive(Default)]
struct ObservedCommits {
    revisions: BTreeMap<u64, (u64, u64)>,
    opened: u64,
}

impl ObservedCommits {
    fn observe(&mut self, line: &str) {
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let mut numbers = words.map(|word| word.parse::<u64>().unwrap());
        match (what, numbers.next(), numbers.next(), numbers.next()) {
            ("opens", None, None, None) => {}
            ("opened", Some(revision), None, None) => self.opened = revision,
            ("acknowledged" | "shown", Some(revision), Some(task), Some(count)) => {
                self.record_commit(revision, (task, count))
            }
            _ => panic!("a child said {line:?}"),
        }
    }

    fn record_commit(&mut self, revision: u64, what: (u64, u64)) {
        let known = *self.revisions.entry(revision).or_insert(what);
        assert_eq!(known, what, "revision {revision} is used twice");
    }

    /// Compares the store with the observations, and records its other commits.
    async fn check(&mut self, store: &Disk) {
        let current = store.revision().await.unwrap().0;
        let newest = self.revisions.keys().next_back().copied().unwrap_or(1).max(self.opened);
        assert!(current >= newest, "the store is at {current}, and {newest} was known");
        assert!(current <= newest + TASKS, "a task has one transaction under way at the most");
        let compacted = compacted(store).await;
        let mut watch = store.watch(KeySpan::all(), compacted).await.unwrap();
        for revision in compacted.0 + 1..=current {
            let WatchItem::Changes { revision: seen, events } = watch.next().await.unwrap() else {
                panic!("not asked for")
            };
            assert_eq!(seen.0, revision, "revisions have no gap");
            self.record_commit(revision, whole(&changes(&events)));
        }
        // The newest entry of each task.
        let page = store.range(Range::of(KeySpan::all())).await.unwrap();
        for task in 0..TASKS {
            let prefix = format!("{task}/");
            let own = page.entries.iter().filter(|entry| entry.key.starts_with(&prefix));
            let mut own: BTreeMap<_, _> =
                own.map(|entry| (&*entry.key, Some(number(&entry.value)))).collect();
            let mut known = self.revisions.iter().filter(|(_, (of, _))| *of == task);
            let Some((_, (_, count))) = known.next_back() else { continue };
            let odd = format!("{task}/odd");
            own.entry(&odd).or_insert(None);
            assert_eq!(whole(&own), (task, *count));
        }
    }

    /// Checks that each task's transactions were applied in order, each once.
    fn check_order(&self) {
        let mut last = BTreeMap::new();
        for (revision, (task, count)) in &self.revisions {
            let before = last.insert(*task, *count).unwrap_or(0);
            assert_eq!(*count, before + 1, "task {task} at {revision}");
        }
    }
}

/// Starts a child, kills it after this many lines of acknowledgements, and reads the rest of its
/// output.
fn life(directory: &Path, seed: u64, lines: u64, known: &mut ObservedCommits) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads", "1"])
        .env(DIRECTORY, directory)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map(ChildGuard)
        .unwrap();
    let mut output = BufReader::new(child.0.stdout.take().unwrap());
    let (mut said, mut line) = (0, String::new());
    loop {
        if said >= lines {
            child.0.kill().unwrap();
        }
        line.clear();
        if output.read_line(&mut line).unwrap() == 0 {
            assert!(said >= lines, "a child ended before it was killed");
            return said;
        }
        said += observe_line(&line, known);
    }
}

/// Parses a line. Output of the test harness and truncated lines are ignored.
fn observe_line(line: &str, known: &mut ObservedCommits) -> u64 {
    let said = line.find(MARK).map(|at| &line[at + MARK.len()..]);
    let Some(said) = said.and_then(|said| said.strip_suffix('\n')) else { return 0 };
    known.observe(said);
    // Watch items are interleaved, at first with those of earlier children.
    u64::from(!said.starts_with("shown"))
}

/// Kills the child and waits for it on drop.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Checks a copy, so that the next child opens the original. Some are not checked.
#[tokio::test]
async fn a_hundred_kills_under_load_lose_nothing() {
    let kills = std::env::var("STORE_KILLS").map_or(100, |text| text.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("store");
    let (mut dice, mut known, mut said) = (Dice::new(41), ObservedCommits::default(), 0);
    for kill in 0..kills {
        // Some are killed while opening the store.
        let lines = if kill % 8 == 7 { dice.below(3) } else { 3 + dice.below(60) };
        said += life(&directory, kill, lines, &mut known);
        if kill % 3 == 2 || !directory.exists() {
            continue;
        }
        let copied = place.path().join(format!("copy {kill}"));
        copy(&directory, &copied);
        let store = open(&copied);
        known.check(&store).await;
        let next = store.revision().await.unwrap().next();
        assert_eq!(store.commit(Transaction::new().put("more", *b"0")).await.unwrap().revision, next);
        drop(store);
        std::fs::remove_dir_all(copied).unwrap();
    }
    let store = open(&directory);
    known.check(&store).await;
    known.check_order();
    println!("{kills} kills, {said} answers, {} revisions", known.revisions.len());
    assert!(known.revisions.len() as u64 > kills * 20, "there was load");
    let names = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
    let made = names.filter(|name| name.to_str().unwrap().starts_with("checkpoint")).count();
    assert!(made > 0, "checkpoints were made meanwhile");
}
