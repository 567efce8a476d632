//! Server-side apply: merges an applied configuration, takes over its fields, and removes fields
//! that the field manager applied before and no longer does.

use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use super::client_side::{applied_before, note};
use super::compare::Comparison;
use super::entry::{Managed, Manager, Owned, decode, encode};
use super::merge::merge;
use super::of::{Unkeyed, of};
use super::prune::prune;
use super::update::{OF_NO_ONE, added_by};
use super::versions::{Differences, brought_up_to_date};
use super::{FieldSet, MalformedFields, Write};
use crate::bounded::{LIST_BYTES, MAX_ERRORS};

/// The field manager recorded for all fields that existed before field ownership was tracked.
const BEFORE: &str = "before-first-apply";

/// A field of an apply that another field manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The conflicting field manager, in the words of the error message.
    pub(crate) with: String,
    /// `.spec.parts[name="p"].count`
    pub(crate) field: String,
}

/// The conflicts of an apply. Long lists are bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conflicts {
    pub(crate) listed: Vec<Conflict>,
    /// Number of further conflicts.
    pub(crate) others: usize,
}

/// Why something was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotApplied {
    Conflicts(Conflicts),
    /// The object has a list with duplicate keys.
    Unkeyed,
    /// The `managedFields` of the object cannot be decoded.
    Malformed,
}

/// Returns the object after a server-side apply, with its `managedFields`. `leaves` says which
/// fields of the root this write does not touch.
pub(crate) fn applied(
    live: Option<&Value>,
    applied: &Value,
    force: bool,
    leaves: &[&str],
    write: &Write<'_>,
) -> Result<Value, NotApplied> {
    let lists = write.lists();
    let (live, entries) = match live {
        Some(live) => untracked(live),
        None => (Value::Object(Map::new()), None),
    };
    let mut managed = decode(entries.as_ref())?;
    if managed.is_empty() {
        // Else the first apply would overwrite untracked fields without a conflict.
        managed = added_by(&live, &Write { manager: BEFORE, ..*write })?;
        for owned in managed.values_mut() {
            owned.set = std::mem::take(&mut owned.set).less_root(leaves);
        }
        managed.retain(|_, owned| !owned.set.is_empty());
    }
    brought_up_to_date(&mut managed, write);
    let me = Manager {
        applied: true,
        name: write.manager.into(),
        subresource: write.subresource.unwrap_or_default().into(),
        ..Manager::default()
    };
    let last = managed.remove(&me).unwrap_or_default();
    let mine = of(applied, &lists).less_root(leaves);
    let mut new = prune(merge(&live, applied, &lists)?, &last, &mine, &managed, write);

    let mut differences = Differences::new(&live, &new, write, leaves);
    let conflicts = conflicts(&managed, &mut differences, &applied_before(&live, write))?;
    if !force && !conflicts.listed.is_empty() {
        return Err(NotApplied::Conflicts(conflicts));
    }
    // The keys are checked in the version of the write even if no other manager owns a field.
    differences.in_version(write.api_version)?;
    for owned in managed.values_mut() {
        differences.in_version(&owned.api_version)?.take_from(&mut owned.set);
    }
    managed.retain(|_, owned| !owned.set.is_empty());
    let mine = mine.difference(&OF_NO_ONE);
    if !mine.is_empty() {
        // An apply that changes nothing keeps its timestamp.
        let time = if new == live { last.time } else { write.now.into() };
        managed.insert(me, Owned { set: mine, api_version: write.api_version.into(), time });
    }
    note(&mut new, applied, write);
    Ok(with_entries(new, &managed))
}

/// The changed fields that other managers own, except those without conflicts.
fn conflicts(
    managed: &Managed,
    differences: &mut Differences<'_>,
    free: &FieldSet,
) -> Result<Conflicts, Unkeyed> {
    let mut others: Vec<_> = managed.iter().collect();
    others.sort_by_key(|(by, _)| (&by.name, !by.applied, &by.api_version, &by.subresource));
    let (mut conflicts, mut bytes) = (Conflicts::default(), 0);
    for (by, owned) in others {
        let Comparison { added, modified, .. } = differences.in_version(&owned.api_version)?;
        let changed = owned.set.intersection(modified).union(owned.set.intersection(added));
        let fields = changed.difference(free).texts();
        conflicts.others += fields.more();
        for field in fields.kept() {
            let conflict = Conflict { with: by.to_string(), field: field.clone() };
            if conflicts.listed.len() < MAX_ERRORS && bytes < LIST_BYTES {
                bytes += conflict.with.len() + conflict.field.len();
                conflicts.listed.push(conflict);
            } else {
                conflicts.others += 1;
            }
        }
    }
    Ok(conflicts)
}

/// The object without its entries, and they.
fn untracked(object: &Value) -> (Value, Option<Value>) {
    let mut object = object.clone();
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let entries = metadata.and_then(|metadata| metadata.remove("managedFields"));
    (object, entries)
}

fn with_entries(mut object: Value, managed: &Managed) -> Value {
    if let (false, Some(metadata)) =
        (managed.is_empty(), object.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("managedFields".into(), encode(managed));
    }
    object
}

impl Display for Manager {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if !self.applied {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

impl From<Unkeyed> for NotApplied {
    fn from(_: Unkeyed) -> Self {
        Self::Unkeyed
    }
}

impl From<MalformedFields> for NotApplied {
    fn from(_: MalformedFields) -> Self {
        Self::Malformed
    }
}
