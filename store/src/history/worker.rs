//! A client that writes and reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::poll;
use machinery_objects::Revision;
use machinery_sync::atomic::Ordering;
use tokio::task::yield_now;

use super::recorder::Client;
use super::traffic::{CompactionPacer, TrafficPlan, around};
use crate::faulty::Dice;
use crate::{Backend, CommitError, Key, KeySpan, Operation, Range, Transaction};

pub(super) struct WriteClient {
    client: Client,
    dice: Dice,
    plan: TrafficPlan,
    /// The revisions of the entries it has read; `None` for absent keys.
    known: BTreeMap<Key, Option<Revision>>,
    newest: Revision,
    name: String,
    written: u64,
}

impl WriteClient {
    pub(super) fn new(client: Client, dice: Dice, plan: TrafficPlan, newest: Revision, name: String) -> Self {
        Self { client, dice, plan, known: BTreeMap::new(), newest, name, written: 0 }
    }

    pub(super) async fn run(mut self, pace: Arc<CompactionPacer>) {
        for _ in 0..self.plan.steps {
            match self.dice.below(100) {
                0..60 => self.write_one().await,
                60..72 => self.write_several().await,
                72..76 => self.put_anyway().await,
                76..82 => self.read(Range::of(KeySpan::all())).await,
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
                // Wait for the compaction, so that it keeps up on a busy machine.
                pace.done.notified().await;
            }
            if self.dice.chance(800) {
                yield_now().await;
            }
        }
    }

    fn key(&mut self) -> Key {
        format!("/k/{}", self.dice.below(self.plan.keys)).into()
    }

    /// Returns a unique value, so that a read identifies its writer.
    fn value(&mut self) -> Vec<u8> {
        self.written += 1;
        format!("{}-{}", self.name, self.written).into_bytes()
    }

    /// Updates, deletes or creates a key, conditional on the last read of it: mostly updates.
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

    /// Writes two to four keys, conditional on their last reads.
    async fn write_several(&mut self) {
        let mut transaction = Transaction::new();
        let (mut keys, count) = (BTreeSet::new(), 2 + self.dice.below(3));
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
                    let is_put = matches!(operation, Operation::Put(..));
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
        self.read(Range::of(KeySpan::One(key))).await;
    }

    async fn read_pages(&mut self) {
        let limit = 1 + self.dice.below(4) as usize;
        let range = || Range::of(KeySpan::prefix("/k/")).limit(limit);
        let mut next = self.client.range(range().counted()).await.ok().and_then(|page| page.next);
        while let Some(cursor) = next {
            yield_now().await;
            next = self.client.range(range().resume(cursor)).await.ok().and_then(|page| page.next);
        }
    }

    async fn read_around(&mut self) {
        let at = around(&mut self.dice, self.newest);
        let range = Range::of(KeySpan::all()).at(at).limit(self.dice.below(5) as usize);
        let _ = self.client.range(range).await;
    }
}
