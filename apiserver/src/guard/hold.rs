//! Runs the guards of a write, and returns the conditions of its commit.

use std::sync::Arc;

use machinery_store::Entry;
use serde_json::Value;

use super::check::run;
use super::conditions::{GuardConditions, WrittenKeys};
use super::key::{ObjectKeys, is_of, keys};
use super::others::OtherObjects;
use super::{Guard, GuardedObject, GuardedWrite};
use crate::admission::Operation;
use crate::change::{ObjectWrite, WriteAction, WriteOrigin, contended};
use crate::invalid::{FieldError, Problem, invalid};
use crate::refusal::{Cause, Refusal};
use crate::storage::Stored;
use crate::strategy::{forget_trace, is_deleting, metadata_mut};
use crate::verbs::output::read;

/// The cause by which clients distinguish a guard's refusal from an invalid object.
const REFUSED: &str = "GuardRefused";
/// Maximum length of a guard key in bytes.
const KEY_BYTES: usize = 1024;
/// Attempts to check a write on a state that existed, while others write under its keys.
const TRIES: usize = 10;

/// Runs the guards of the kind on a change.
///
/// # Errors
/// A guard refuses the change, panics or times out.
pub(crate) async fn hold(
    change: &ObjectWrite<'_>,
    there: Option<&Entry>,
    write: &WriteAction,
) -> Result<GuardConditions, Refusal> {
    let guards = change.guards();
    if guards.is_empty() || matches!(write, WriteAction::Keep) {
        return Ok(GuardConditions::default());
    }
    let stored = change.kind.storage_version();
    let old = there.map(|there| read(stored, there, there.modified)).transpose()?;
    let new = match write {
        WriteAction::Put(bytes) => Some(written(bytes)?),
        WriteAction::Keep | WriteAction::Delete => None,
    };
    let before = old.as_ref().map(|old| keys(&guards, old).keys).unwrap_or_default();
    let changes_content =
        new.as_ref().is_some_and(|new| old.as_ref().is_none_or(|old| changes_content(old, new)));
    let ObjectKeys { keys: after, panicked: bug } =
        new.as_ref().map_or(ObjectKeys { keys: Vec::new(), panicked: None }, |new| keys(&guards, new));
    // A deletion is not blocked by a failing guard.
    if let Some(guard) = bug.filter(|_| changes_content) {
        return Err(panicked(change, &guard));
    }
    let keys = WrittenKeys { before: before.into_iter().collect(), after };
    // Keys may depend on any metadata: a gained key needs a check even without new content.
    let write = checked(change, old, new, changes_content || keys.gains());
    // Only checked writes: an object older than the limit can still be deleted.
    if write.as_ref().is_some_and(|write| write.operation != Operation::Delete) {
        check_keys(change, &keys.after)?;
    }
    if keys.is_empty() {
        return Ok(GuardConditions::default());
    }
    let Some(write) = write.map(Arc::new) else {
        let others = OtherObjects::read(change, &guards).await?;
        return Ok(GuardConditions::of(change, &guards, &keys, &others));
    };
    for _ in 0..TRIES {
        // One revision for all checks and records: see docs/designs/008-guards-and-fences.md.
        let others = OtherObjects::read(change, &guards).await?;
        match check(change, &guards, &write, (&keys, &others)).await? {
            Some(refusal) if !others.is_torn(change, &keys).await? => return Err(refusal),
            Some(_) => {}
            None => return Ok(GuardConditions::of(change, &guards, &keys, &others)),
        }
    }
    Err(contended())
}

/// Returns the write for the guards to check, or none if it is not checked: it changes no content,
/// continues a deletion, or belongs to a cascade.
fn checked(
    change: &ObjectWrite<'_>,
    old: Option<Value>,
    new: Option<Value>,
    is_relevant: bool,
) -> Option<GuardedWrite> {
    if change.origin == WriteOrigin::Controller {
        return None;
    }
    let object = |object: &Arc<Value>| GuardedObject::new(change.kind.place.clone(), object.clone());
    let (old, new) = (old.map(Arc::new), new.map(Arc::new));
    let ends = new.as_deref().is_none_or(is_deleting);
    match (&old, &new) {
        (Some(old), _) if ends && !is_deleting(old) => {
            let old = object(old);
            Some(GuardedWrite { operation: Operation::Delete, object: old.clone(), old: Some(old) })
        }
        (old, Some(new)) if is_relevant => {
            let operation = if old.is_some() { Operation::Update } else { Operation::Create };
            Some(GuardedWrite { operation, object: object(new), old: old.as_ref().map(object) })
        }
        _ => None,
    }
}

/// Runs the checks. Returns the first refusal.
async fn check(
    change: &ObjectWrite<'_>,
    guards: &[Arc<dyn Guard>],
    write: &Arc<GuardedWrite>,
    (keys, others): (&WrittenKeys, &OtherObjects<'_>),
) -> Result<Option<Refusal>, Refusal> {
    let is_deletion = write.operation == Operation::Delete;
    let before: Vec<String>;
    let of_object = match is_deletion {
        true => {
            before = keys.before.iter().cloned().collect();
            &before
        }
        false => &keys.after,
    };
    for guard in guards {
        // An object under no key of a guard is none of its concern.
        let has_keys = of_object.iter().any(|key| is_of(key, guard.prefix()));
        if !has_keys || (is_deletion && !guard.checks_deletions()) {
            continue;
        }
        let beside = others.of_guard(guards, of_object, &**guard);
        let wrong = run(change, guard, write, beside).await?;
        if !wrong.is_empty() {
            return Ok(Some(refused(change, guard.name(), &wrong)));
        }
    }
    Ok(None)
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
