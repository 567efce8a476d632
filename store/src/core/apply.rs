//! Applies transactions one after the other, each to the state that the previous one left.

use std::sync::Arc;

use machinery_objects::Revision;

use super::history::{REVISION_BYTES, RevisionChanges};
use super::table::{NewestVersions, Table, TableLoader};
use super::version::{State, Version};
use crate::contract::{
    Commit, CommitError, Condition, Conflict, Entry, Key, Limits, Operation, Transaction, Value,
};

/// The writer's state. Exactly one writer owns it.
#[derive(Debug)]
pub(crate) struct Core<N = Arc<Table>> {
    newest: N,
    /// The newest revision, published or not.
    head: Revision,
    compacted: Revision,
    /// Bytes of keys and values of all versions.
    used: u64,
    /// The part of them that is the current state.
    live: u64,
    quota: u64,
}

/// The result of a transaction, and the changes to publish.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) commit: Commit,
    pub(crate) revised: Option<RevisionChanges>,
}

impl<N: NewestVersions> Core<N> {
    /// Returns the writer of a store without history.
    pub(crate) fn new(newest: N, head: Revision, limits: &Limits) -> Self {
        Self { newest, head, compacted: head, used: 0, live: 0, quota: limits.quota_bytes }
    }

    /// Sets the history: its compacted revision, and the sizes of all versions and of the current
    /// state.
    pub(crate) fn with_history(self, compacted: Revision, used: u64, live: u64) -> Self {
        Self { compacted, used, live, ..self }
    }

    pub(crate) fn head(&self) -> Revision {
        self.head
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Returns about how much memory the history takes.
    pub(crate) fn history_bytes(&self) -> u64 {
        let revisions = self.head.0.saturating_sub(self.compacted.0);
        self.used.saturating_sub(self.live) + REVISION_BYTES * revisions
    }

    /// Applies all of `transaction`, or on an error nothing.
    pub(crate) fn apply(&mut self, transaction: Transaction) -> Result<Applied, CommitError> {
        for (place, condition) in transaction.conditions.iter().enumerate() {
            self.check_condition(place, condition)?;
        }
        // All refusals come before the first change: a half applied transaction cannot be undone.
        self.check_quota(&transaction.operations)?;
        let revision = self.head.next();
        let mut before = Vec::with_capacity(transaction.operations.len());
        let mut versions = Vec::new();
        for operation in transaction.operations {
            let place = versions.len() as u16;
            let (was, version) = match operation {
                Operation::Put(key, value) => self.put(key, value, revision, place),
                Operation::Delete(key) => self.delete(key, revision, place),
            };
            before.push(was);
            versions.extend(version);
        }
        let changed = !versions.is_empty();
        // A revision without a change would be an empty element of the history.
        if changed {
            self.head = revision;
        }
        let revised = changed.then(|| RevisionChanges { revision, versions: versions.into() });
        Ok(Applied { commit: Commit { revision: self.head, changed, before }, revised })
    }

    /// Reapplies the operations of a logged transaction; `None` if they contradict the current
    /// state.
    pub(crate) fn replay(
        &mut self,
        operations: impl ExactSizeIterator<Item = Operation>,
    ) -> Option<RevisionChanges> {
        let revision = self.head.next();
        let mut versions = Vec::with_capacity(operations.len());
        for operation in operations {
            let place = versions.len() as u16;
            let (_, version) = match operation {
                Operation::Put(key, value) => self.put(key, value, revision, place),
                Operation::Delete(key) => self.delete(key, revision, place),
            };
            // Deletes of absent keys are never logged, so `None` means a damaged log.
            let version = version?;
            // A commit has one operation per key: two at one revision are no log of ours.
            if version.replaces(revision) {
                return None;
            }
            versions.push(version);
        }
        self.head = revision;
        (!versions.is_empty()).then(|| RevisionChanges { revision, versions: versions.into() })
    }

    /// Drops the versions replaced by those in `gone`, and the keys last deleted by them.
    pub(crate) fn forget(&mut self, gone: Vec<RevisionChanges>) {
        // Only the dropped changes are walked: compaction costs the memory that it frees.
        for revised in gone {
            self.compacted = self.compacted.max(revised.revision);
            for version in revised.versions() {
                if let Some(older) = version.cut() {
                    self.used -= older.bytes();
                }
                if version.entry().is_none() && self.newest.remove_if(version) {
                    self.used -= version.bytes();
                }
            }
        }
    }

    fn check_condition(&self, place: usize, condition: &Condition) -> Result<(), CommitError> {
        let key = condition.key();
        let newest = self.newest.newest(key);
        let current = newest.as_ref().and_then(|version| version.entry());
        let holds = match condition {
            Condition::Absent(_) => current.is_none(),
            Condition::At(_, revision) => current.is_some_and(|entry| entry.modified == *revision),
            Condition::Unchanged(_, since) => self.is_unchanged(newest.as_ref(), *since),
        };
        if holds {
            return Ok(());
        }
        Err(CommitError::Conflict(Box::new(Conflict {
            condition: place,
            key: Arc::clone(key),
            current: current.cloned(),
            revision: self.head,
        })))
    }

    fn is_unchanged(&self, newest: Option<&Arc<Version>>, since: Revision) -> bool {
        match newest {
            // Commits up to that revision may still change the key.
            _ if since > self.head => false,
            Some(version) if version.revision() <= since => true,
            // Put or deleted since. The state differs, unless the key was absent then and is absent
            // now.
            Some(version) => {
                let absent_then = || version.at(since).is_none_or(|then| then.entry().is_none());
                version.entry().is_none() && since >= self.compacted && absent_then()
            }
            // Nothing is left of the key: absent since the compacted revision, unknown before it.
            None => since >= self.compacted,
        }
    }

    fn check_quota(&self, operations: &[Operation]) -> Result<(), CommitError> {
        let added = operations.iter().map(|operation| match operation {
            Operation::Put(key, value) => (key.len() + value.len()) as u64,
            Operation::Delete(_) => 0,
        });
        let added: u64 = added.sum();
        // Replaced values still count: the history holds them until it is compacted.
        let used = self.used + added;
        let has_room = || {
            used <= Limits::with_reserve(self.quota) && operations.iter().all(|one| self.fits_reserve(one))
        };
        // Deletes alone always pass, or a full store could not be emptied.
        if added > 0 && used > self.quota && !has_room() {
            return Err(CommitError::QuotaExceeded { used, quota: self.quota });
        }
        Ok(())
    }

    /// Returns whether an operation may use the reserve beyond the quota.
    fn fits_reserve(&self, operation: &Operation) -> bool {
        let Operation::Put(key, value) = operation else { return true };
        let there = self.newest.newest(key).and_then(|newest| newest.entry().map(|entry| entry.value.len()));
        Limits::fits_reserve(value.len(), there)
    }

    fn put(&mut self, key: Key, value: Value, revision: Revision, place: u16) -> AppliedOperation {
        let older = self.newest.newest(&key);
        let before = older.as_ref().and_then(|version| version.entry().cloned());
        let created = before.as_ref().map_or(revision, |entry| entry.created);
        // All versions of a key share one string.
        let key = older.as_ref().map_or(key, |version| Arc::clone(version.key()));
        let entry = Arc::new(Entry { key, value, created, modified: revision });
        (before, Some(self.record(State::Present(entry), place, older)))
    }

    fn delete(&mut self, key: Key, revision: Revision, place: u16) -> AppliedOperation {
        let Some(older) = self.newest.newest(&key) else { return (None, None) };
        let Some(before) = older.entry().cloned() else { return (None, None) };
        let gone = State::Gone(Arc::clone(&before.key), revision);
        (Some(before), Some(self.record(gone, place, Some(older))))
    }

    fn record(&mut self, state: State, place: u16, older: Option<Arc<Version>>) -> Arc<Version> {
        let replaced = older.as_ref().map_or(0, |older| older.live_bytes());
        let version = Version::new(state, place, older);
        self.used += version.bytes();
        self.live = (self.live + version.live_bytes()).saturating_sub(replaced);
        self.newest.put(Arc::clone(&version));
        version
    }
}

impl Core<TableLoader<'_>> {
    /// Returns the writer of the loaded `table`.
    pub(crate) fn finish(self, table: Arc<Table>) -> Core {
        let Self { newest, head, compacted, used, live, quota } = self;
        newest.finish();
        Core { newest: table, head, compacted, used, live, quota }
    }
}

/// The previous entry, and the new version if the state changed.
type AppliedOperation = (Option<Arc<Entry>>, Option<Arc<Version>>);
