//! The strategy of deletions.

use serde_json::{Value, json};

use super::trace::set_aside;
use super::{Context, Step, conflict, has_finalizers, is_deleting, meta_text, metadata_mut};
use crate::kind::Kind;
use crate::meta::time::shown;
use crate::refusal::Refusal;
use crate::request::Propagation;

/// How, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    /// The propagation policy. If omitted, the finalizers decide, and else it is background.
    pub(crate) propagation: Option<Propagation>,
}

/// Returns the next step of a deletion.
pub(crate) fn delete(old: &Value, deletion: &Deletion, context: &Context<'_>) -> Result<Step, Refusal> {
    let kind = context.kind;
    let conditions = [
        ("the UID in the precondition", "the UID in record", &deletion.uid, "uid"),
        (
            "the ResourceVersion in the precondition",
            "the ResourceVersion in record",
            &deletion.version,
            "resourceVersion",
        ),
    ];
    for (in_condition, in_record, asked, field) in conditions {
        let there = meta_text(old, field);
        if let Some(asked) = asked.as_deref().filter(|asked| *asked != there) {
            let after = if field == "uid" {
                "The object might have been deleted and then recreated"
            } else {
                "The object might have been modified"
            };
            let why = format!("{in_condition} ({asked}) does not match {in_record} ({there}). {after}");
            return Err(not_that_one(kind, meta_text(old, "name"), &why));
        }
    }
    let mut new = old.clone();
    finalizers(&mut new, deletion.propagation);
    let marked = is_deleting(old);
    let now = shown(context.now);
    let only_marked = !marked && kind.hooks.deleting(&mut new, &now)?;
    if !has_finalizers(&new) && !kind.hooks.holds(&new) {
        return Ok(Step::Delete(new));
    }
    if !marked {
        let metadata = metadata_mut(&mut new);
        metadata.insert("deletionTimestamp".into(), now.into());
        if !only_marked {
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        }
        if kind.has_generation && !only_marked {
            let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
            metadata.insert("generation".into(), (generation + 1).into());
        }
    }
    if new == *old {
        return Ok(Step::Keep);
    }
    set_aside(&mut new, Some(old), context.trace).put(&mut new);
    Ok(Step::Put(new))
}

/// 409, of the kind by its name.
fn not_that_one(kind: &Kind, name: &str, why: &str) -> Refusal {
    let mut refusal = conflict(kind, name, why);
    let qualified = match &*kind.group {
        "" => kind.names.kind.clone(),
        group => format!("{}.{group}", kind.names.kind),
    };
    refusal.message = format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}");
    refusal.about.kind = kind.names.kind.clone();
    refusal
}

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Foreground deletion and orphaning hold the object by a finalizer that the garbage collector
/// removes.
fn finalizers(object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else { return };
    let wanted = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let metadata = metadata_mut(object);
    let mut all: Vec<Value> =
        metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let before = all.len();
    all.retain(|finalizer| {
        let ours = finalizer == FOREGROUND || finalizer == ORPHAN;
        !ours || wanted.is_some_and(|wanted| finalizer == wanted)
    });
    if let Some(wanted) = wanted
        && !all.iter().any(|finalizer| finalizer == wanted)
    {
        all.push(wanted.into());
    } else if all.len() == before {
        return;
    }
    if all.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(all));
    }
}
