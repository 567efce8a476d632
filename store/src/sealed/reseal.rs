//! Bringing all that is there to the first key.

use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::coop::consume_budget;

use super::backend::Sealed;
use super::error::ResealError;
use crate::contract::{Backend, CommitError, Entry, Key, KeySpan, Operation, Range, ReadError, Transaction};

/// Entries that are read at once.
const PAGE: usize = 500;
/// Entries that are written at once: they share the syncs of the store.
const AT_ONCE: usize = 64;
/// How often an entry is tried that others write, too.
const TRIES: usize = 20;

/// What became of the values that are kept sealed, or were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// Entries whose key has a ring. All of them were opened.
    pub entries: u64,
    /// Those that were not kept as their ring's first way wants it, and are now.
    pub rewritten: u64,
}

impl<B: Backend + ?Sized> Sealed<B> {
    /// Opens every value there is; then writes those anew that are not kept as their ring's first way wants it, each as it is now or not at
    /// all. Reads and writes go on meanwhile.
    ///
    /// If a value cannot be opened, nothing is written. Dropping the future, or an error while it writes, leaves some written and some not;
    /// it can be asked for again. What was there before stays in the history until that is compacted.
    pub async fn reseal(&self) -> Result<Resealed, ResealError> {
        let mut done = Resealed::default();
        let mut stale = false;
        let mut pages = EntryPages::default();
        while let Some(entries) = pages.next(self).await? {
            for entry in &entries {
                // Many values are opened in turns with what others do.
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

    /// Writes an entry anew, unless somebody does, or it goes. Whether it was written here.
    async fn reseal_entry(&self, mut entry: Arc<Entry>) -> Result<bool, ResealError> {
        for _ in 0..TRIES {
            let opened = self.sealing.open(entry.clone())?;
            let value = self.sealing.seal(&entry.key, opened.value.clone());
            let mut transaction = Transaction::new().if_at(entry.key.clone(), entry.modified);
            transaction.operations.push(Operation::Put(entry.key.clone(), value));
            let now = match self.below.commit(transaction).await {
                Ok(_) => return Ok(true),
                Err(CommitError::Conflict(conflict)) => conflict.current,
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

/// All entries, a page at a time, each page as of when it is read: no history is needed, however long it takes.
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
