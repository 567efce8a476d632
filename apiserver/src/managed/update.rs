//! Field ownership after updates: the changes that a write makes to `managedFields`.

use std::sync::LazyLock;

use serde_json::Value;

use super::cap::cap;
use super::entry::{Managed, Manager, decode, encode};
use super::manager::problems;
use super::of::Unkeyed;
use super::versions::{Differences, brought_up_to_date};
use super::{Comparison, FieldSet, PathElement, Versions};
use crate::same::same_but;

const ENTRIES: &str = "/metadata/managedFields";

/// A write: its field manager, operation, time and schemas.
#[derive(Clone, Copy)]
pub(crate) struct Write<'a> {
    /// The manager's name, as `manager_name` gives it.
    pub(crate) manager: &'a str,
    /// `status`, `scale`; none for the object itself.
    pub(crate) subresource: Option<&'a str>,
    /// The version that the object is written in: `apps/v1`.
    pub(crate) api_version: &'a str,
    /// The time, as objects have it: in UTC, to the second.
    pub(crate) now: &'a str,
    /// The topology of the object in each version.
    pub(crate) versions: &'a dyn Versions,
}

/// Sets `metadata.managedFields` of an object that is about to be written: the writer owns new and
/// changed fields, other managers lose them, and removed fields have no owner. `old` is the live
/// object, and none for a create.
///
/// The object's own managedFields are used if they can be decoded and are of served versions, so a
/// client may edit them; an empty list resets them, which for an existing object ends all tracking.
/// Any other value is ignored. A write to a subresource cannot change them.
///
/// Must be called with the object as it will be stored: after defaulting, and after the parts are
/// restored that the write cannot change.
pub(crate) fn updated(old: Option<&Value>, new: &mut Value, write: &Write<'_>) {
    let live = old.and_then(|old| old["metadata"].get("managedFields"));
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let wanted = metadata.remove("managedFields");
    let before = starting_point(live, wanted.as_ref(), write);
    let entries = if before.is_empty() && old.is_some() {
        None
    } else {
        match after(before, old, new, write) {
            Ok(managed) => (!managed.is_empty()).then(|| encode(&managed)),
            Err(Unkeyed) => live.cloned(),
        }
    };
    if let (Some(entries), Some(metadata)) = (entries, new["metadata"].as_object_mut()) {
        metadata.insert("managedFields".into(), entries);
    }
}

/// Restores the entries of `old` in an object that differs only in their times, so that the write
/// changes nothing.
pub(crate) fn keep_times(old: &Value, new: &mut Value) {
    let (Some(was), Some(is)) = (old.pointer(ENTRIES), new.pointer_mut(ENTRIES)) else { return };
    if is == was || !same_but_for_times(is, was) {
        return;
    }
    let given = std::mem::replace(is, was.clone());
    if let (false, Some(is)) = (old == new, new.pointer_mut(ENTRIES)) {
        *is = given;
    }
}

/// Restores the entries of `before` in a changed object, if the changed entries cannot be decoded;
/// returns false then.
pub(crate) fn keep_readable(before: &Value, made: &mut Value) -> bool {
    let entries = |object: &Value| object.pointer(ENTRIES).cloned();
    let made_of_them = entries(made);
    let reads = decode(made_of_them.as_ref()).is_ok() && !made_of_them.as_ref().is_some_and(has_problems);
    if let (false, Some(metadata)) = (reads, made.get_mut("metadata").and_then(Value::as_object_mut)) {
        match entries(before) {
            Some(entries) => metadata.insert("managedFields".into(), entries),
            None => metadata.remove("managedFields"),
        };
    }
    reads
}

fn has_problems(entries: &Value) -> bool {
    !problems(entries).is_empty()
}

fn same_but_for_times(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_array(), b.as_array()) else { return false };
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a.as_object(), b.as_object()) {
            (Some(a), Some(b)) => same_but(&["time"], a, b),
            _ => a == b,
        })
}

fn starting_point(live: Option<&Value>, wanted: Option<&Value>, write: &Write<'_>) -> Managed {
    if write.subresource.is_none() {
        if wanted.is_some_and(is_reset) {
            return Managed::new();
        }
        if let Ok(wanted) = decode(wanted)
            && !wanted.is_empty()
            && wanted.values().all(|owned| write.versions.lists(&owned.api_version).is_some())
        {
            return wanted;
        }
    }
    decode(live).unwrap_or_default()
}

fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.is_empty(),
        _ => false,
    }
}

/// Returns the entries of an object after this write, its first.
pub(super) fn added_by(object: &Value, write: &Write<'_>) -> Result<Managed, Unkeyed> {
    after(Managed::new(), None, object, write)
}

/// Returns the managers and their fields after the write.
fn after(
    mut managed: Managed,
    old: Option<&Value>,
    new: &Value,
    write: &Write<'_>,
) -> Result<Managed, Unkeyed> {
    let nothing = Value::Object(serde_json::Map::new());
    let mut differences = Differences::new(old.unwrap_or(&nothing), new, write, &[]);
    let Comparison { added, modified, .. } = differences.in_version(write.api_version)?.clone();
    brought_up_to_date(&mut managed, write);
    for owned in managed.values_mut() {
        differences.in_version(&owned.api_version)?.take_from(&mut owned.set);
    }
    managed.retain(|_, owned| !owned.set.is_empty());

    let mine = modified.union(added).difference(&OF_NO_ONE);
    if !mine.is_empty() {
        let manager = Manager {
            applied: false,
            name: write.manager.into(),
            api_version: write.api_version.into(),
            subresource: write.subresource.unwrap_or_default().into(),
        };
        let owned = managed.entry(manager).or_default();
        owned.set = std::mem::take(&mut owned.set).union(mine);
        owned.api_version = write.api_version.into();
        owned.time = write.now.into();
    }
    cap(&mut managed);
    Ok(managed)
}

/// Fields without an owner: those that the server sets or that identify the object.
pub(super) static OF_NO_ONE: LazyLock<FieldSet> = LazyLock::new(|| {
    const METADATA: [&str; 9] = [
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    let field = |name: &str| PathElement::Field(name.into());
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in METADATA {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
});
