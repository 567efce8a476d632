//! A backend with one flaw, to test the conformance suite and the history checker: its reads and
//! writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use machinery_objects::Revision;
use machinery_sync::Mutex;
use tokio::task::yield_now;

use super::flaw::Flaw;
use super::flawed_watch::FlawedWatch;
use crate::{
    Backend, Commit, CommitError, CompactError, Condition, Entry, Key, KeySpan, Page, Range, ReadError,
    Transaction, Watch, WatchError,
};

/// A [`Backend`] with one [`Flaw`], over a correct one.
pub struct FlawedBackend {
    pub(super) inner: Arc<dyn Backend>,
    pub(super) flaw: Flaw,
    pub(super) known: Arc<Mutex<FlawState>>,
}

/// The state that the flaws need.
#[derive(Debug)]
pub(super) struct FlawState {
    pub(super) newest: Revision,
    pub(super) compacted: Revision,
    /// Entries hidden from readers, by key and revision.
    hidden: BTreeSet<(Key, Revision)>,
    every: u64,
    chances: u64,
}

impl FlawState {
    /// Returns whether the flaw shows this time.
    pub(super) fn now(&mut self) -> bool {
        self.chances += 1;
        self.chances.is_multiple_of(self.every)
    }
}

impl FlawedBackend {
    /// Wraps `inner`; the flaw shows at every `every`th opportunity.
    pub fn new(inner: Arc<dyn Backend>, flaw: Flaw, every: u64) -> Self {
        let (newest, compacted) = (Revision(1), Revision(1));
        let known = FlawState { newest, compacted, hidden: BTreeSet::new(), every, chances: 0 };
        Self { inner, flaw, known: Arc::new(Mutex::new(known)) }
    }

    fn now(&self) -> bool {
        self.known.lock().now()
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    /// Answers a read at `at` with the state at `instead`.
    async fn pretend(
        &self,
        range: Range,
        at: Revision,
        instead: Option<Revision>,
    ) -> Result<Page, ReadError> {
        let page = self.inner.range(Range { at: instead, ..range }).await?;
        let next = page.next.map(|cursor| crate::Cursor { at, ..cursor });
        Ok(Page { at, current: page.current.max(at), next, ..page })
    }

    async fn read(&self, range: Range) -> Result<Page, ReadError> {
        match (self.flaw, range.at, &range.after) {
            (Flaw::ReadsStale, None, _) if self.now() => {
                let before = Revision(self.inner.revision().await?.0.saturating_sub(1));
                match self.inner.range(range.clone().at(before)).await {
                    Ok(page) => return Ok(Page { current: before, ..page }),
                    Err(_) => return self.inner.range(range).await,
                }
            }
            (Flaw::ReadsNowForThen, Some(at), None) | (Flaw::TearsPages, Some(at), Some(_))
                if self.inner.range(range.clone()).await.is_ok() && self.now() =>
            {
                return self.pretend(range, at, None).await;
            }
            _ => {}
        }
        match (self.flaw, self.inner.range(range.clone()).await) {
            (Flaw::ReadsFuture, Err(ReadError::Future { requested, .. })) => {
                self.pretend(range, requested, None).await
            }
            (Flaw::ReadsCompacted, Err(ReadError::Compacted { requested, compacted })) => {
                self.pretend(range, requested, Some(compacted)).await
            }
            (_, answer) => answer,
        }
    }

    async fn make(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let Transaction { conditions, operations } = transaction.clone();
        let count = operations.len();
        match self.flaw {
            Flaw::LosesWrite if count > 0 && self.now() => {
                let checked = self.inner.commit(Transaction { conditions, operations: vec![] }).await?;
                return Ok(Commit {
                    revision: checked.revision.next(),
                    changed: true,
                    before: vec![None; count],
                });
            }
            Flaw::HalvesTransaction if count > 1 && self.now() => {
                let (first, second) = operations.split_at(count / 2);
                let mut first =
                    self.inner.commit(Transaction { conditions, operations: first.to_vec() }).await?;
                yield_now().await;
                let rest = Transaction { conditions: vec![], operations: second.to_vec() };
                let second = self.inner.commit(rest).await?;
                first.before.extend(second.before);
                return Ok(Commit {
                    revision: second.revision,
                    changed: first.changed || second.changed,
                    ..first
                });
            }
            Flaw::AppliesRefused => {
                let refused = self.inner.commit(transaction).await;
                if matches!(refused, Err(CommitError::Conflict(_))) && self.now() {
                    // Applies half of it, like a store that stops in the middle.
                    let half = operations.into_iter().take(1).collect();
                    self.inner.commit(Transaction { conditions: vec![], operations: half }).await?;
                }
                return refused;
            }
            _ => {}
        }
        let mut spoilt = Vec::new();
        for condition in conditions {
            spoilt.push(self.spoil(condition).await);
        }
        let commit = self.inner.commit(Transaction { conditions: spoilt, operations }).await?;
        if self.has(Flaw::CountsNoOps) && !commit.changed && count > 0 {
            let touch = Transaction::new().put("touched", *b"1");
            let touched = self.inner.commit(touch).await?;
            return Ok(Commit { revision: touched.revision, changed: true, ..commit });
        }
        if self.has(Flaw::ReusesRevision) && commit.changed && self.now() {
            return Ok(Commit { revision: Revision(commit.revision.0 - 1), ..commit });
        }
        Ok(commit)
    }

    async fn spoil(&self, condition: Condition) -> Condition {
        match (self.flaw, condition) {
            (Flaw::IgnoresAba, Condition::At(key, revision)) if self.now() => {
                let now = self.inner.range(Range::of(KeySpan::One(Arc::clone(&key)))).await;
                let there = now.ok().and_then(|page| page.entries.first().map(|entry| entry.modified));
                Condition::At(key, there.unwrap_or(revision))
            }
            (Flaw::CountsChanges, Condition::Unchanged(key, since)) => {
                let watch = self.inner.watch(KeySpan::One(Arc::clone(&key)), since).await;
                let changed = watch.is_ok_and(|mut watch| watch.next().now_or_never().is_some());
                if changed { Condition::At(key, Revision::ZERO) } else { Condition::Unchanged(key, since) }
            }
            (_, condition) => condition,
        }
    }

    async fn hide_live_entry(&self, to: Revision) {
        let Ok(page) = self.inner.range(Range::of(KeySpan::all())).await else { return };
        let mut known = self.known.lock();
        let old = page.entries.iter().filter(|entry| entry.modified < to).min_by_key(|entry| entry.modified);
        if let Some(old) = old
            && known.now()
        {
            known.hidden.insert((Arc::clone(&old.key), old.modified));
        }
    }
}

#[async_trait]
impl Backend for FlawedBackend {
    async fn revision(&self) -> Result<Revision, ReadError> {
        let revision = self.inner.revision().await?;
        let old = self.has(Flaw::TellsOldRevision) && revision.0 > 1 && self.now();
        Ok(if old { Revision(revision.0 - 1) } else { revision })
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        let span = match range.span {
            KeySpan::Prefix(prefix) if self.has(Flaw::TakesPrefixForDirectory) && !prefix.is_empty() => {
                KeySpan::prefix(format!("{}/", prefix.trim_end_matches('/')))
            }
            span => span,
        };
        let mut page = self.read(Range { span, ..range }).await?;
        if self.has(Flaw::DropsLastEntry) && page.entries.len() > 1 && self.now() {
            page.entries.pop();
        }
        let known = self.known.lock();
        let is_hidden = |entry: &Entry| known.hidden.contains(&(Arc::clone(&entry.key), entry.modified));
        page.entries.retain(|entry| !is_hidden(entry));
        Ok(page)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let commit = self.make(transaction).await?;
        let mut known = self.known.lock();
        known.newest = known.newest.max(commit.revision);
        Ok(commit)
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let all = if self.has(Flaw::LeaksOtherKeys) { KeySpan::all() } else { span.clone() };
        let inner = self.inner.watch(all, after).await?;
        Ok(Watch::new(FlawedWatch::new(self, inner, span, after)))
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.inner.compact(to).await?;
        if self.has(Flaw::CompactsLiving) {
            self.hide_live_entry(to).await;
        }
        let mut known = self.known.lock();
        known.compacted = known.compacted.max(to);
        Ok(())
    }
}
