//! Key rotation: rewrites all values with the first provider.

use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::coop::consume_budget;

use super::backend::Sealed;
use super::error::ResealError;
use crate::contract::{Backend, CommitError, Entry, Key, KeySpan, Operation, Range, ReadError, Transaction};

/// Entries per page.
const PAGE: usize = 500;
/// Concurrent writes; they share syncs of the store.
const AT_ONCE: usize = 64;
/// Attempts for an entry that other clients write concurrently.
const TRIES: usize = 20;

/// The result of [`Sealed::reseal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// Number of entries with a ring. All were unsealed.
    pub entries: u64,
    /// Number of entries that were rewritten with their ring's first provider.
    pub rewritten: u64,
}

impl<B: Backend + ?Sized> Sealed<B> {
    /// Unseals every value, then rewrites values that are not stored as their ring's first provider
    /// would. Each rewrite is conditional on the entry; reads and writes continue meanwhile.
    ///
    /// If a value cannot be unsealed, nothing is written. An error or a dropped future during the
    /// rewrite leaves some entries rewritten; call again to complete it. Old values stay in the
    /// history until it is compacted.
    pub async fn reseal(&self) -> Result<Resealed, ResealError> {
        let mut done = Resealed::default();
        let mut stale = false;
        let mut pages = EntryPages::default();
        while let Some(entries) = pages.next(self).await? {
            for entry in &entries {
                // Yields to other tasks between values.
                consume_budget().await;
                self.sealing.open(entry.clone())?;
                done.entries += u64::from(self.sealing.ring(&entry.key).is_some());
                stale |= self.is_stale(entry);
            }
        }
        if !stale {
            return Ok(done);
        }
        let mut pages = EntryPages::default();
        while let Some(entries) = pages.next(self).await? {
            let stale = entries.into_iter().filter(|entry| self.is_stale(entry));
            let written = stream::iter(stale).map(|entry| self.reseal_entry(entry)).buffer_unordered(AT_ONCE);
            done.rewritten += written.try_fold(0, |sum, one| async move { Ok(sum + u64::from(one)) }).await?;
        }
        Ok(done)
    }

    fn is_stale(&self, entry: &Entry) -> bool {
        self.sealing.ring(&entry.key).is_some_and(|ring| !ring.is_first(&entry.value))
    }

    /// Rewrites an entry unless another client does or deletes it. Returns whether this call wrote
    /// it.
    async fn reseal_entry(&self, mut entry: Arc<Entry>) -> Result<bool, ResealError> {
        for _ in 0..TRIES {
            let opened = self.sealing.open(entry.clone())?;
            let value = self.sealing.seal(&entry.key, opened.value.clone());
            // Conditional, or it would undo the write of a client meanwhile.
            let mut transaction = Transaction::new().if_at(entry.key.clone(), entry.modified);
            transaction.operations.push(Operation::Put(entry.key.clone(), value));
            let now = match self.below.commit(transaction).await {
                Ok(_) => return Ok(true),
                Err(CommitError::Conflict(conflict)) => conflict.current,
                // The entry itself shows whether it was rewritten.
                Err(CommitError::Unknown { .. }) => self.read(&entry.key).await?,
                Err(error) => return Err(ResealError::Write { key: entry.key.clone(), error }),
            };
            match now {
                Some(now) if self.is_stale(&now) => entry = now,
                _ => return Ok(false),
            }
        }
        Err(ResealError::Overtaken { key: entry.key.clone(), times: TRIES })
    }

    async fn read(&self, key: &Key) -> Result<Option<Arc<Entry>>, ReadError> {
        Ok(self.below.range(Range::of(KeySpan::One(key.clone()))).await?.entries.pop())
    }
}

/// Iterates over all entries in pages, each read at the newest revision, so that no history is
/// needed.
#[derive(Default)]
struct EntryPages {
    after: Option<Key>,
    over: bool,
}

impl EntryPages {
    async fn next<B: Backend + ?Sized>(
        &mut self,
        of: &Sealed<B>,
    ) -> Result<Option<Vec<Arc<Entry>>>, ReadError> {
        if self.over {
            return Ok(None);
        }
        let range =
            Range { after: self.after.take(), limit: NonZeroUsize::new(PAGE), ..Range::of(KeySpan::all()) };
        let page = of.below.range(range).await?;
        self.over = page.next.is_none();
        self.after = page.entries.last().map(|entry| entry.key.clone());
        Ok(Some(page.entries))
    }
}
