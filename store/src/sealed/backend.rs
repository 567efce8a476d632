//! The encrypting backend.

use std::fmt::{Debug, Formatter, Result as Written};
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::Revision;
use tokio::task::coop::consume_budget;

use super::error::UnsealError;
use super::format::{self, Salt};
use super::growth::Growth;
use super::key_ring::{KeyRing, open};
use super::watch::UnsealingWatch;
use crate::contract::{
    Backend, Change, Commit, CommitError, CompactError, Entry, Event, KeySpan, Operation, Page, Range,
    ReadError, Transaction, Value, Watch, WatchError,
};

/// A [`Backend`] that seals (encrypts) values before it stores them in the backend below. Clones
/// share it.
///
/// A sealed value is larger by 58 bytes and the length of the sealing key's name; limits of the
/// backend below are reported minus that growth, with the size that was put. Each read decrypts the
/// value: cache values that are read often.
///
/// A value that cannot be unsealed fails the whole call with an error that names the entry and the
/// sealing key: [`ReadError::Unavailable`], [`WatchError::Unavailable`]. If a commit conflicts with
/// such a value, the error is [`CommitError::Refused`]; if a commit has replaced one, it was
/// applied, and the error is [`CommitError::Unknown`].
pub struct Sealed<B: ?Sized> {
    pub(super) below: Arc<B>,
    pub(super) sealing: Arc<Sealing>,
}

/// The choice of key rings, and the source of randomness.
pub(super) struct Sealing {
    choose: ChooseRing,
    random: FillRandom,
}

type ChooseRing = Box<dyn Fn(&str) -> Option<KeyRing> + Send + Sync>;
type FillRandom = Box<dyn Fn(&mut [u8]) + Send + Sync>;

impl<B: Backend + ?Sized> Sealed<B> {
    /// Seals values in `below`. `choose` returns the key ring of a store key, or `None` to store
    /// its value in plain; its result must never change. `random` fills a buffer with
    /// cryptographically secure random bytes.
    pub fn new(
        below: Arc<B>,
        choose: impl Fn(&str) -> Option<KeyRing> + Send + Sync + 'static,
        random: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        let sealing = Sealing { choose: Box::new(choose), random: Box::new(random) };
        Self { below, sealing: Arc::new(sealing) }
    }

    /// Returns the backend below.
    #[must_use]
    pub fn below(&self) -> &B {
        &self.below
    }
}

impl Sealing {
    pub(super) fn ring(&self, key: &str) -> Option<KeyRing> {
        (self.choose)(key)
    }

    pub(super) fn seal(&self, key: &str, value: Value) -> Value {
        let salt = || {
            let mut salt: Salt = [0; _];
            (self.random)(&mut salt);
            salt
        };
        match self.ring(key) {
            Some(ring) => ring.seal(key, value, salt),
            None => format::plain(value),
        }
    }

    pub(super) fn open(&self, entry: Arc<Entry>) -> Result<Arc<Entry>, UnsealError> {
        let value = open(self.ring(&entry.key).as_ref(), &entry.key, &entry.value)?;
        if Arc::ptr_eq(&value, &entry.value) {
            return Ok(entry);
        }
        let Entry { key, created, modified, .. } = &*entry;
        Ok(Arc::new(Entry { key: key.clone(), value, created: *created, modified: *modified }))
    }

    pub(super) fn open_event(&self, event: Event) -> Result<Event, UnsealError> {
        let before = event.before.map(|entry| self.open(entry)).transpose()?;
        let change = match event.change {
            Change::Put(entry) => Change::Put(self.open(entry)?),
            Change::Deleted(key) => Change::Deleted(key),
        };
        Ok(Event { before, change })
    }

    fn seal_all(&self, operations: &mut [Operation]) -> Growth {
        let mut growth = Growth::default();
        for operation in operations {
            if let Operation::Put(key, value) = operation {
                let put = value.len();
                *value = self.seal(key, std::mem::take(value));
                growth.note(put, value.len());
            }
        }
        growth
    }

    /// Unseals the current entry of a conflict; the error is `Refused` if that fails.
    fn open_error(&self, error: CommitError) -> CommitError {
        let CommitError::Conflict(mut conflict) = error else { return error };
        match conflict.current.map(|entry| self.open(entry)).transpose() {
            Ok(current) => {
                conflict.current = current;
                CommitError::Conflict(conflict)
            }
            Err(why) => CommitError::Refused { why: why.to_string().into() },
        }
    }
}

#[async_trait]
impl<B: Backend + ?Sized> Backend for Sealed<B> {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.below.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        let page = self.below.range(range).await?;
        let mut entries = Vec::with_capacity(page.entries.len());
        for entry in page.entries {
            // Yields to other tasks while a long page is decrypted.
            consume_budget().await;
            let opened = self.sealing.open(entry);
            entries.push(opened.map_err(|why| ReadError::Unavailable { why: why.to_string().into() })?);
        }
        Ok(Page { entries, ..page })
    }

    async fn commit(&self, mut transaction: Transaction) -> Result<Commit, CommitError> {
        let growth = self.sealing.seal_all(&mut transaction.operations);
        let done = self.below.commit(transaction).await;
        let commit = done.map_err(|error| self.sealing.open_error(growth.adjust(error)))?;
        let before: Result<_, UnsealError> = commit
            .before
            .into_iter()
            .map(|entry| entry.map(|entry| self.sealing.open(entry)).transpose())
            .collect();
        let before = before.map_err(|why| {
            let why = format!(
                "it did, at revision {}, and what was there before is not known: {why}",
                commit.revision
            );
            CommitError::Unknown { why: why.into() }
        })?;
        Ok(Commit { before, ..commit })
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let watch = self.below.watch(span, after).await?;
        Ok(Watch::new(UnsealingWatch::new(watch, self.sealing.clone())))
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.below.compact(to).await
    }
}

impl<B: ?Sized> Clone for Sealed<B> {
    fn clone(&self) -> Self {
        Self { below: self.below.clone(), sealing: self.sealing.clone() }
    }
}

impl<B: ?Sized> Debug for Sealed<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        f.debug_struct("Sealed").finish_non_exhaustive()
    }
}
