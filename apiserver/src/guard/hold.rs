//! Guard conditions of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_store::{Condition, Entry, Operation, Value as Bytes};
use serde_json::Value;

use super::check::run;
use super::key::{is_of, keys, record};
use crate::cache::View;
use crate::change::{KindView, ObjectWrite, WriteAction};
use crate::invalid::{FieldError, Problem, invalid};
use crate::refusal::{Cause, Refusal};
use crate::storage::Stored;
use crate::strategy::{forget_trace, metadata_mut};
use crate::verbs::output::read;

/// The cause by which clients distinguish a guard's refusal from an invalid object.
const REFUSED: &str = "GuardRefused";
/// Maximum length of a guard key in bytes.
const KEY_BYTES: usize = 1024;
/// Maximum conditions and operations per guard key: three for an added key, two for a removed one.
/// With more removed keys than fit, the change proceeds and the remaining records stay.
const PER_KEY: usize = 5;

/// The conditions and operations that guards add to a commit.
#[derive(Default)]
pub(crate) struct GuardConditions {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) operations: Vec<Operation>,
}

/// Runs the guards of the kind on a change.
///
/// # Errors
/// A guard refuses the change, panics or times out.
pub(crate) async fn hold(
    change: &ObjectWrite<'_>,
    there: Option<&Entry>,
    write: &WriteAction,
) -> Result<GuardConditions, Refusal> {
    let (kind, shared) = (change.kind, change.shared);
    let guards = kind.hooks.guards();
    if guards.is_empty() || matches!(write, WriteAction::Keep) {
        return Ok(GuardConditions::default());
    }
    let old = there.map(|there| read(kind, there, there.modified)).transpose()?;
    let new = match write {
        WriteAction::Put(bytes) => Some(written(bytes)?),
        WriteAction::Keep | WriteAction::Delete => None,
    };
    let before: BTreeSet<String> = old.iter().flat_map(|old| kind.hooks.guard_keys(old)).collect();
    let changes_content =
        new.as_ref().is_some_and(|new| old.as_ref().is_none_or(|old| changes_content(old, new)));
    let after = match new.as_ref().map(|new| keys(guards, new)).transpose() {
        Err(guard) if changes_content => return Err(panicked(change, &guard)),
        // A deletion is not blocked by a failing guard.
        Err(_) => Vec::new(),
        Ok(after) => after.unwrap_or_default(),
    };
    // Keys may depend on any metadata: a gained key needs a check even without new content.
    let new = new.filter(|_| changes_content || after.iter().any(|key| !before.contains(key)));
    // Only checked writes: an object older than the limit can still be deleted.
    if new.is_some() {
        check_keys(change, &after)?;
    }
    if before.is_empty() && after.is_empty() {
        return Ok(GuardConditions::default());
    }
    // One revision for all checks and records: see docs/designs/008-guards-and-fences.md.
    let KindView { kind: served, view } = change.kind_view(None).await?;
    let others = |key| others(&view, change, key);
    if let Some(new) = new {
        let new = Arc::new(new);
        for guard in guards {
            let own = after.iter().filter(|key| is_of(key, guard.name()));
            let beside: BTreeMap<_, _> =
                own.flat_map(|key| others(key)).map(|other| (&other.key, other)).collect();
            let beside: Vec<Arc<Entry>> = beside.into_values().cloned().collect();
            let wrong = run(change, &served, guard, &new, beside).await?;
            if !wrong.is_empty() {
                return Err(refused(change, guard.name(), &wrong));
            }
        }
    }
    let capacity = shared.limits.guard_keys.saturating_mul(PER_KEY);
    let mut added = GuardConditions::default();
    let left = before.iter().filter(|key| after.binary_search(key).is_err());
    // Current keys first: at the capacity only records of keys left behind are skipped.
    for key in after.iter().chain(left) {
        let record = record(kind, key);
        let other = others(key).next();
        // The other object may be older than the guard and have no record. A condition on the
        // object itself replaces it.
        let there = other.filter(|_| !before.contains(key));
        let is_left = other.is_some() || after.binary_search(key).is_ok();
        let so_far = added.conditions.len() + added.operations.len();
        if so_far + 2 + usize::from(there.is_some()) > capacity {
            break;
        }
        added.conditions.push(Condition::Unchanged(record.clone(), view.at));
        added.conditions.extend(there.map(|there| Condition::Unchanged(there.key.clone(), view.at)));
        // The put of an empty value fails the commits of concurrent checks under this key.
        added.operations.push(match is_left {
            true => Operation::Put(record, Bytes::from(&b""[..])),
            false => Operation::Delete(record),
        });
    }
    Ok(added)
}

/// The other objects under a guard key.
fn others<'v>(
    view: &'v View,
    change: &'v ObjectWrite<'_>,
    key: &'v str,
) -> impl Iterator<Item = &'v Arc<Entry>> {
    view.guarded(key).map(|state| &state.entry).filter(|other| other.key != *change.key)
}

/// Returns the name of the guard that caused a refusal.
pub(crate) fn guard_that_refused(refusal: &Refusal) -> Option<&str> {
    refusal.causes.iter().find(|cause| cause.reason == REFUSED).map(|cause| cause.message.as_str())
}

/// Decodes an object that is about to be stored. It has no resourceVersion yet.
fn written(bytes: &[u8]) -> Result<Value, Refusal> {
    let unreadable = |_| Refusal::new(500, "InternalError", "what is to be stored cannot be read");
    let stored = Stored::of(bytes).map_err(unreadable)?;
    serde_json::from_slice(stored.json())
        .map_err(|_| Refusal::new(500, "InternalError", "what is to be stored is not JSON"))
}

/// Returns whether more than deletion, ownership and trace metadata changes. Guards skip other
/// updates unless they add a key, so that an object that violates a guard can still be deleted.
fn changes_content(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in [
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "finalizers",
            "generation",
            "managedFields",
            "ownerReferences",
            "resourceVersion",
        ] {
            metadata_mut(&mut object).remove(field);
        }
        forget_trace(&mut object);
        object
    };
    rest(old) != rest(new)
}

/// Checks the number and length of the keys against the limits of a transaction.
fn check_keys(change: &ObjectWrite<'_>, keys: &[String]) -> Result<(), Refusal> {
    let most = change.shared.limits.guard_keys;
    let problem = match keys.iter().find(|key| key.len() > KEY_BYTES) {
        _ if keys.len() > most => {
            let why = format!("it would be under so many keys of guards, and may be under {most}");
            FieldError::new(ROOT, Problem::TooMany(keys.len()), why)
        }
        Some(_) => {
            let why = format!("a key of a guard may not be more than {KEY_BYTES} bytes");
            FieldError::new(ROOT, Problem::TooLong, why)
        }
        None => return Ok(()),
    };
    Err(wrong(change, &[problem]))
}

/// Kubernetes' field path of the whole object.
pub(super) const ROOT: &str = "<nil>";

/// 422 with these errors of the object.
pub(super) fn wrong(change: &ObjectWrite<'_>, errors: &[FieldError]) -> Refusal {
    invalid(&change.kind.group, &change.kind.names.kind, change.names().1, errors)
}

/// 422 with the cause `GuardRefused`: it depends on other objects, so a retry does not help.
fn refused(change: &ObjectWrite<'_>, guard: &str, errors: &[FieldError]) -> Refusal {
    let mut refusal = wrong(change, errors);
    refusal.causes.push(Cause { reason: REFUSED, message: guard.into(), field: String::new() });
    refusal
}

/// 500: a bug in the embedding program.
pub(super) fn panicked(change: &ObjectWrite<'_>, guard: &str) -> Refusal {
    change.shared.metrics.counted.add(crate::metrics::Event::Panic);
    let message = format!(
        "the guard {guard:?} of {} panicked, and nothing was written: the server's log says where",
        change.kind.resource()
    );
    Refusal::new(500, "InternalError", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn guards_ignore_deletion_metadata() {
        let check = |meta: Value, spec: u64, expected: bool| {
            let old =
                json!({"metadata": {"name": "a", "finalizers": ["x"], "resourceVersion": "7"}, "spec": 1});
            let new = json!({"metadata": meta, "spec": spec});
            assert_eq!(changes_content(&old, &new), expected, "{new}");
        };
        check(json!({"name": "a", "finalizers": ["x"]}), 1, false);
        check(json!({"name": "a"}), 1, false);
        let going = json!({
            "name": "a", "deletionTimestamp": "2026-11-21T09:30:38Z", "deletionGracePeriodSeconds": 0, "generation": 2,
            "ownerReferences": [], "managedFields": [],
        });
        check(going.clone(), 1, false);
        check(going, 2, true);
        check(json!({"name": "a", "labels": {"a": "b"}}), 1, true);
    }
}
