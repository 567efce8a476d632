//! Computes and commits a write.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Condition, Entry, Key, Operation, Transaction, Value};

use super::WritePreconditions;
use crate::guard::{self, Guard, GuardConditions};
use crate::kind::Kind;
use crate::quota;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Committed;

/// Attempts of a write under contention. Each failure means that another write succeeded.
const TRIES: usize = 100;

/// A write of one object.
pub(crate) struct ObjectWrite<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) kind: &'a Kind,
    pub(crate) key: &'a Key,
    pub(crate) preconditions: WritePreconditions<'a>,
    pub(crate) origin: WriteOrigin,
    /// Whether to do everything but the commit.
    pub(crate) dry_run: bool,
}

/// The origin of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOrigin {
    /// A request of a user.
    Request,
    /// A server-side controller, for instance in a cascade, or for an object that clients of a
    /// cluster expect: guards do not refuse it.
    Controller,
}

/// The action of a write.
#[derive(Clone)]
pub(crate) enum WriteAction {
    /// Commits nothing: the stored object is already as requested.
    Keep,
    Put(Value),
    Delete,
}

impl ObjectWrite<'_> {
    /// Computes the write by `step` from the current state and commits it. `current` is a recent
    /// state; after a conflict, `step` runs again on the newest one.
    ///
    /// Returns the revision of the object or of its deletion; the current one if nothing changed;
    /// none for a dry run.
    pub(crate) async fn commit(
        &self,
        mut current: Option<Arc<Entry>>,
        mut step: impl FnMut(Option<&Entry>) -> Result<WriteAction, Refusal>,
    ) -> Result<Option<Revision>, Refusal> {
        for _ in 0..TRIES {
            // First: a writer that lost its Lease gets that conflict, and no error of the object.
            let mut conditions = self.preconditions.conditions(self).await?;
            let write = step(current.as_deref())?;
            let held = guard::hold(self, current.as_deref(), &write).await?;
            let counted = quota::hold(self, current.as_deref(), &write).await?;
            // After fences, guards and quotas: the answer of a dry run is that of the write.
            if self.dry_run {
                return Ok(None);
            }
            let key = self.key.clone();
            let operation = match write {
                WriteAction::Keep => return Ok(Some(current.map_or(Revision::ZERO, |entry| entry.modified))),
                WriteAction::Put(bytes) => Operation::Put(key.clone(), bytes),
                WriteAction::Delete => Operation::Delete(key.clone()),
            };
            conditions.push(match &current {
                Some(entry) => Condition::At(key, entry.modified),
                None => Condition::Absent(key),
            });
            let GuardConditions { conditions: guarded, operations: records } = held;
            // The turn is held until the commit: the next creation in the queue counts this one.
            let quota::Held { conditions: counted, operations: told, turn: _turn } = counted;
            conditions.extend(guarded.into_iter().chain(counted));
            let operations = [operation].into_iter().chain(records).chain(told).collect();
            let transaction = Transaction { conditions, operations };
            match self.shared.objects.commit(transaction).await? {
                Committed::Done(revision) => return Ok(Some(revision)),
                // The conflict carries the object's new state, which saves a read.
                Committed::Lost(conflict) if conflict.key == *self.key => current = conflict.current,
                Committed::Lost(_) => {} // another input has changed: retry
            }
        }
        Err(contended())
    }

    /// Commits the write if the object is still in the state that it was computed from, else
    /// returns none.
    pub(crate) async fn commit_if_unchanged(
        &self,
        seen: Option<Arc<Entry>>,
        write: &WriteAction,
    ) -> Result<Option<Option<Revision>>, Refusal> {
        let of = |entry: &Entry| (entry.created, entry.modified);
        let (was, mut moved) = (seen.as_deref().map(of), false);
        // No new computation on a newer state: admission has not reviewed it.
        let step = |there: Option<&Entry>| match there.map(of) == was {
            true => Ok(write.clone()),
            false => {
                moved = true;
                Err(contended())
            }
        };
        let made = self.commit(seen, step).await;
        match made {
            Err(_) if moved => Ok(None),
            made => made.map(Some),
        }
    }

    /// Returns the guards of the kind: its own, and those over several kinds.
    pub(crate) fn guards(&self) -> Vec<Arc<dyn Guard>> {
        self.shared.caches.guards(self.kind)
    }

    /// Returns the object's namespace and name.
    pub(crate) fn names(&self) -> (Option<&str>, &str) {
        self.kind.place.names(self.key)
    }
}

/// 429: every attempt lost to a concurrent write.
pub(crate) fn contended() -> Refusal {
    let message = "the object, or what this change rests on, is written so often that the change found no moment: try again";
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
