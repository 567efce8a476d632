//! Clients that get in each other's way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::poll;
use machinery_objects::Revision;
use machinery_sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinSet, yield_now};

use super::calls::{Exchange, History};
use super::recorder::{Client, Recorder};
use crate::faulty::Dice;
use crate::{Backend, CommitError, Key, Range, ReadError, Seen, Span, Transaction, Watch, WatchError};

/// How much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Decides everything that the clients do, but not who comes first.
    pub seed: u64,
    /// Clients that write and read.
    pub clients: usize,
    /// Clients that watch.
    pub watchers: usize,
    /// Steps of each client.
    pub steps: usize,
    /// Keys. Few, so that they are fought for.
    pub keys: u64,
    /// The store is compacted as often as this passes,
    pub compact_every: Duration,
    /// and after so many steps of all clients together: whichever comes first.
    pub compact_steps: u64,
    /// In a thousand commits so many are given up by their client.
    pub given_up_per_mille: u16,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            clients: 8,
            watchers: 6,
            steps: 300,
            keys: 10,
            compact_every: Duration::from_millis(100),
            compact_steps: 200,
            given_up_per_mille: 10,
        }
    }
}

/// What came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Commits that made a revision.
    pub commits: usize,
    /// Commits that were refused for a condition.
    pub conflicts: usize,
    /// Reads that were answered.
    pub reads: usize,
    /// Of these, at a revision before the newest.
    pub past_reads: usize,
    /// Reads and watches that were refused because of compaction.
    pub compacted: usize,
    /// Reads and watches that were refused because they asked for the future.
    pub future: usize,
    /// Compactions.
    pub compactions: usize,
    /// Watches that told something.
    pub watches: usize,
    /// Of these, such as began in the past.
    pub resumed: usize,
    /// Changes that were told.
    pub told: usize,
    /// Marks that were told.
    pub marks: usize,
}

/// A run that did not load the store is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("seed {seed}: there were {there} {what}, and {least} are the least that shows something: {load:?}")]
pub struct TooLittle {
    /// The run's.
    pub seed: u64,
    /// What is missing.
    pub what: &'static str,
    /// How many there were.
    pub there: usize,
    /// How many there should have been.
    pub least: usize,
    /// Everything that came about.
    pub load: Load,
}

impl Load {
    /// What came about in `history`.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut load = Self::default();
        for call in &history.calls {
            match &call.exchange {
                Exchange::Commit(_, Some(Ok(commit))) => load.commits += usize::from(commit.changed),
                Exchange::Commit(_, Some(Err(CommitError::Conflict(_)))) => load.conflicts += 1,
                Exchange::Range(_, Some(Ok(page))) => {
                    load.reads += 1;
                    load.past_reads += usize::from(page.at < page.current);
                }
                Exchange::Range(_, Some(Err(ReadError::Compacted { .. }))) => load.compacted += 1,
                Exchange::Range(_, Some(Err(ReadError::Future { .. }))) => load.future += 1,
                Exchange::Compact(_, Some(Ok(()))) => load.compactions += 1,
                _ => {}
            }
        }
        for watched in &history.watches {
            let told = |seen: &&(u64, Seen)| matches!(seen.1, Seen::Changes { .. });
            let count = watched.seen.iter().filter(told).count();
            load.told += count;
            load.marks += watched.seen.len() - count;
            load.watches += usize::from(count > 0);
            load.resumed += usize::from(count > 0 && watched.after > history.first);
            load.compacted += usize::from(matches!(watched.end, Some(WatchError::Compacted { .. })));
            load.future += usize::from(matches!(watched.end, Some(WatchError::Future { .. })));
        }
        load
    }

    fn suffices(self, plan: &Plan) -> Result<(), TooLittle> {
        let steps = plan.clients * plan.steps;
        let floors = [
            ("commits", self.commits, steps / 4),
            ("conflicts", self.conflicts, steps / 100),
            ("reads", self.reads, steps / 20),
            ("reads of the past", self.past_reads, steps / 100),
            ("refusals of what is compacted", self.compacted, 1),
            ("refusals of the future", self.future, 1),
            ("compactions", self.compactions, 3),
            ("watches", self.watches, plan.watchers * 3),
            ("watches that were resumed", self.resumed, plan.watchers * 2),
            ("changes told", self.told, steps / 8),
            ("marks", self.marks, plan.watchers),
        ];
        match floors.into_iter().find(|(_, there, least)| there < least) {
            None => Ok(()),
            Some((what, there, least)) => Err(TooLittle { seed: plan.seed, what, there, least, load: self }),
        }
    }
}

/// Lets clients loose on `backend`, which is empty, and returns the record of it.
pub async fn traffic(backend: Arc<dyn Backend>, plan: Plan) -> Result<History, TooLittle> {
    let first = backend.revision().await.unwrap_or(Revision::ZERO);
    let recorder = Recorder::new(backend, first);
    let mut dice = Dice::new(plan.seed);
    let pace = Arc::new(Pace::default());
    let (finish, finished) = watch::channel(None);

    let mut clients = JoinSet::new();
    for number in 0..plan.clients {
        let worker = Worker {
            client: recorder.client(),
            dice: Dice::new(dice.roll()),
            plan,
            known: BTreeMap::new(),
            newest: first,
            name: format!("c{number}"),
            written: 0,
        };
        clients.spawn(worker.run(Arc::clone(&pace)));
    }
    let mut others = JoinSet::new();
    for _ in 0..plan.watchers {
        let watcher = Watcher { client: recorder.client(), dice: Dice::new(dice.roll()), plan, seen: first };
        others.spawn(watcher.run(Arc::clone(&pace), finished.clone()));
    }
    others.spawn(compact(recorder.client(), Dice::new(dice.roll()), plan, pace, finished));

    join(&mut clients).await;
    // What was given up may still happen: this write comes after it, in a store that answers in order.
    let last = recorder.client();
    let end = last.commit(Transaction::new().put("end", *b"1")).await.map(|commit| commit.revision);
    finish.send_replace(Some(end.unwrap_or(first)));
    join(&mut others).await;
    let _ = last.range(Range::of(Span::all())).await;

    let history = recorder.history();
    Load::of(&history).suffices(&plan)?;
    Ok(history)
}

async fn join(tasks: &mut JoinSet<()>) {
    while let Some(task) = tasks.join_next().await {
        task.expect("a client does not panic");
    }
}

/// A revision up to a hundred before or after `now`.
fn around(dice: &mut Dice, now: Revision) -> Revision {
    Revision((now.0 + dice.below(201)).saturating_sub(100))
}

/// How many steps all clients have made, that it is time to compact, and to where it was compacted last.
#[derive(Default)]
struct Pace {
    steps: AtomicU64,
    due: Notify,
    compacted: AtomicU64,
}

struct Worker {
    client: Client,
    dice: Dice,
    plan: Plan,
    /// The revisions of what it has read, and none for what was absent.
    known: BTreeMap<Key, Option<Revision>>,
    newest: Revision,
    name: String,
    written: u64,
}

impl Worker {
    async fn run(mut self, pace: Arc<Pace>) {
        for _ in 0..self.plan.steps {
            match self.dice.below(100) {
                0..60 => self.write_one().await,
                60..72 => self.write_several().await,
                72..76 => self.put_anyway().await,
                76..82 => self.read(Range::of(Span::all())).await,
                82..86 => self.read_pages().await,
                86..94 => self.read_around().await,
                94..97 => self.read_one().await,
                _ => {
                    if let Ok(revision) = self.client.revision().await {
                        self.newest = revision;
                    }
                }
            }
            if (pace.steps.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.plan.compact_steps) {
                pace.due.notify_one();
            }
            if self.dice.chance(800) {
                yield_now().await;
            }
        }
    }

    fn key(&mut self) -> Key {
        format!("/k/{}", self.dice.below(self.plan.keys)).into()
    }

    /// No two values are the same, so that a value tells who put it.
    fn value(&mut self) -> Vec<u8> {
        self.written += 1;
        format!("{}-{}", self.name, self.written).into_bytes()
    }

    /// Nine updates in ten, and as many deletes as creates, each on what was last seen.
    async fn write_one(&mut self) {
        let key = self.key();
        let value = self.value();
        let transaction = match (self.known.get(&key), self.dice.below(100)) {
            (Some(Some(seen)), 0..95) => Transaction::new().if_at(Arc::clone(&key), *seen).put(key, value),
            (Some(Some(seen)), _) => Transaction::new().if_at(Arc::clone(&key), *seen).delete(key),
            _ => Transaction::new().if_absent(Arc::clone(&key)).put(key, value),
        };
        self.commit(transaction).await;
    }

    /// Two to four keys, guarded by what they were when they were read.
    async fn write_several(&mut self) {
        let mut transaction = Transaction::new();
        let (mut keys, count) = (std::collections::BTreeSet::new(), 2 + self.dice.below(3));
        for _ in 0..count {
            keys.insert(self.key());
        }
        for key in keys {
            let known = self.known.get(&key).copied();
            transaction = match (self.dice.below(4), known) {
                (0, Some(Some(seen))) => transaction.if_at(Arc::clone(&key), seen),
                (0, Some(None)) => transaction.if_absent(Arc::clone(&key)),
                (1, _) => transaction.if_unchanged(Arc::clone(&key), self.newest),
                _ => transaction,
            };
            transaction = match self.dice.below(8) {
                0 | 1 => transaction.delete(key),
                2 => transaction,
                _ => {
                    let value = self.value();
                    transaction.put(key, value)
                }
            };
        }
        self.commit(transaction).await;
    }

    async fn put_anyway(&mut self) {
        let (key, value) = (self.key(), self.value());
        self.commit(Transaction::new().put(key, value)).await;
    }

    async fn commit(&mut self, transaction: Transaction) {
        if self.dice.chance(self.plan.given_up_per_mille) {
            let _ = poll!(self.client.commit(transaction));
            return;
        }
        let operations = transaction.operations.clone();
        match self.client.commit(transaction).await {
            Ok(commit) => {
                self.newest = self.newest.max(commit.revision);
                for operation in operations {
                    let is_put = matches!(operation, crate::Operation::Put(..));
                    self.known.insert(Arc::clone(operation.key()), is_put.then_some(commit.revision));
                }
            }
            Err(CommitError::Conflict(conflict)) => {
                self.newest = self.newest.max(conflict.revision);
                self.known.insert(conflict.key, conflict.current.map(|entry| entry.modified));
            }
            Err(_) => {}
        }
    }

    async fn read(&mut self, range: Range) {
        if let Ok(page) = self.client.range(range).await {
            self.newest = self.newest.max(page.at);
            for entry in page.entries {
                self.known.insert(Arc::clone(&entry.key), Some(entry.modified));
            }
        }
    }

    async fn read_one(&mut self) {
        let key = self.key();
        self.read(Range::of(Span::One(key))).await;
    }

    async fn read_pages(&mut self) {
        let limit = 1 + self.dice.below(4) as usize;
        let range = || Range::of(Span::prefix("/k/")).limit(limit);
        let mut next = self.client.range(range().counted()).await.ok().and_then(|page| page.next);
        while let Some(cursor) = next {
            yield_now().await;
            next = self.client.range(range().resume(cursor)).await.ok().and_then(|page| page.next);
        }
    }

    async fn read_around(&mut self) {
        let at = around(&mut self.dice, self.newest);
        let range = Range::of(Span::all()).at(at).limit(self.dice.below(5) as usize);
        let _ = self.client.range(range).await;
    }
}

struct Watcher {
    client: Client,
    dice: Dice,
    plan: Plan,
    /// Where it would go on.
    seen: Revision,
}

impl Watcher {
    async fn run(mut self, pace: Arc<Pace>, mut finished: watch::Receiver<Option<Revision>>) {
        while finished.borrow().is_none() {
            let after = match self.dice.below(6) {
                0 | 1 => match self.client.revision().await {
                    Ok(now) => around(&mut self.dice, now),
                    Err(_) => self.seen,
                },
                2 => Revision(pace.compacted.load(Ordering::Relaxed)).max(Revision(1)),
                _ => self.seen,
            };
            let span = match self.dice.below(8) {
                0 => Span::one(format!("/k/{}", self.dice.below(self.plan.keys))),
                1 => Span::prefix("/k/1"),
                _ => Span::all(),
            };
            match self.client.watch(span, after).await {
                Ok(watch) => self.follow(watch, &mut finished).await,
                // Too old, too new: where the store is now will do.
                Err(_) => self.seen = self.client.revision().await.unwrap_or(self.seen),
            }
            yield_now().await;
        }
    }

    /// Reads for a while, now quickly and now slowly.
    async fn follow(&mut self, mut watch: Watch, finished: &mut watch::Receiver<Option<Revision>>) {
        let (mut left, mut end) = (self.dice.below(80), None);
        while left > 0 || end.is_some() {
            let seen = tokio::select! {
                biased;
                seen = watch.next() => seen,
                _ = finished.changed(), if end.is_none() => {
                    end = *finished.borrow();
                    watch.request_progress();
                    continue;
                }
            };
            self.seen = match seen {
                Ok(Seen::Changes { revision, .. } | Seen::Progress(revision)) => revision,
                Err(_) => {
                    self.seen = self.client.revision().await.unwrap_or(self.seen);
                    return;
                }
            };
            if end.is_some_and(|end| self.seen >= end) {
                return;
            }
            if end.is_none() && self.dice.chance(100) {
                watch.request_progress();
            }
            let slow = if self.dice.chance(100) { self.dice.below(40) } else { 0 };
            for _ in 0..slow {
                yield_now().await;
            }
            left = left.saturating_sub(1);
        }
    }
}

/// Compacts to somewhere in the last hundred revisions, and once in a while to where it cannot.
async fn compact(
    client: Client,
    mut dice: Dice,
    plan: Plan,
    pace: Arc<Pace>,
    mut finished: watch::Receiver<Option<Revision>>,
) {
    let mut clock = tokio::time::interval(plan.compact_every);
    while finished.borrow().is_none() {
        tokio::select! {
            biased;
            _ = finished.changed() => return,
            _ = clock.tick() => {}
            () = pace.due.notified() => {}
        }
        if let Ok(now) = client.revision().await {
            let back = if dice.chance(200) { 0 } else { dice.below(100) };
            let to =
                if dice.chance(50) { Revision(now.0 + 1000) } else { Revision(now.0.saturating_sub(back)) };
            if client.compact(to).await.is_ok() {
                pace.compacted.store(to.0, Ordering::Relaxed);
            }
        }
    }
}
