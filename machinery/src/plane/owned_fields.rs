//! Writes of the fields of a status that one controller owns, by server-side apply.

use std::sync::Arc;

use machinery_objects::{
    Conflict, Object, Patch, PatchFormat, Preconditions, SourceError, Uid, WriteError, Writer, Written,
};
use serde_json::{Map, Value, json};

use super::kinds::ObjectType;

/// Limit of repeated writes after conflicts with writers of other fields.
const REPEATS: usize = 8;

/// The fields of an object's status that one controller owns and writes by server-side apply.
///
/// A write sends these fields and no others: of fields that it does not know it drops none, and it
/// does not conflict with writers of other fields. Other managers of a field lose it.
#[derive(Clone, Copy, Debug)]
pub struct OwnedFields {
    manager: &'static str,
    paths: &'static [&'static str],
    conditions: &'static [&'static str],
}

impl OwnedFields {
    /// Creates the owned fields of a field manager: paths such as `.status.address`, and the types
    /// of entries of `.status.conditions`. A `?` after a path marks an optional field: it is
    /// cleared by null, and others by an empty value.
    #[must_use]
    pub const fn new(
        manager: &'static str,
        paths: &'static [&'static str],
        conditions: &'static [&'static str],
    ) -> Self {
        Self { manager, paths, conditions }
    }

    /// Returns the patch that applies the values of these fields in `new`, after `old` was read.
    ///
    /// # Errors
    /// An object is no JSON.
    pub fn patch<K: ObjectType>(&self, old: &K, new: &K) -> Result<Patch, serde_json::Error> {
        let (old, new) = (serde_json::to_value(old)?, serde_json::to_value(new)?);
        let mut applied = json!({
            "apiVersion": new["apiVersion"], "kind": new["kind"],
            "metadata": {"name": new["metadata"]["name"]},
            "status": {},
        });
        if let Some(namespace) = new["metadata"].get("namespace") {
            applied["metadata"]["namespace"] = namespace.clone();
        }
        for path in self.paths {
            let (path, is_optional) = path.strip_suffix('?').map_or((*path, false), |path| (path, true));
            let names: Vec<&str> = path.split('.').skip(1).collect();
            let of = |object: &Value| names.iter().try_fold(object, |value, name| value.get(name)).cloned();
            // A cleared field is sent once: without it, another manager's value would stay.
            let cleared = || of(&old).map(|old| if is_optional { Value::Null } else { empty(&old) });
            if let Some(value) = of(&new).or_else(cleared) {
                insert(&mut applied, &names, value);
            }
        }
        let conditions = new["status"]["conditions"].as_array().into_iter().flatten();
        let is_owned = |condition: &&Value| self.conditions.iter().any(|name| condition["type"] == *name);
        let conditions: Vec<Value> = conditions.filter(is_owned).cloned().collect();
        if !conditions.is_empty() {
            applied["status"]["conditions"] = conditions.into();
        }
        let format = PatchFormat::Apply { manager: self.manager.into(), force: true };
        Ok(Patch { format, body: Arc::from(applied.to_string().into_bytes()), status: true })
    }

    /// Applies the values of these fields in `new` to the server's object, if it has the UID of
    /// `old`.
    ///
    /// # Errors
    /// As [`Writer::patch`]. Servers other than Machinery's check no UID of an applied status:
    /// there the version is a precondition, and after a conflict the object is read and the write
    /// repeated if the UID is the same. A version in `only_if` is never replaced.
    pub async fn apply<K: ObjectType>(
        &self,
        writer: &dyn Writer<K>,
        old: &K,
        new: &K,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        let patch = self.patch(old, new).map_err(invalid)?;
        let has_fences = writer.capabilities().fences;
        if has_fences || only_if.version.is_some() {
            let uid = if has_fences { uid_of(old) } else { only_if.uid.clone() };
            let only_if = Preconditions { uid, ..only_if.clone() };
            return writer.patch(&old.key(), &patch, &only_if).await;
        }
        repeated(writer, old, &patch, only_if, |_| true).await
    }

    /// As [`apply`](Self::apply), if these fields still have the values that they have in `old`:
    /// for controllers that may have rivals, as without leader election. Writes of other fields
    /// since then are no conflict.
    ///
    /// # Errors
    /// As [`Writer::patch`]; a conflict of the version, if the fields were written meanwhile.
    pub async fn apply_if_unchanged<K: ObjectType>(
        &self,
        writer: &dyn Writer<K>,
        old: &K,
        new: &K,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        let patch = self.patch(old, new).map_err(invalid)?;
        let values = |object: &K| self.patch(object, object).map(|patch| patch.body);
        let read = values(old).map_err(invalid)?;
        let is_unchanged = |live: &K| values(live).is_ok_and(|live| live == read);
        repeated(writer, old, &patch, only_if, is_unchanged).await
    }
}

/// Writes with the version of `old`, and again with the present one after a conflict if the object
/// is acceptable.
async fn repeated<K: ObjectType>(
    writer: &dyn Writer<K>,
    old: &K,
    patch: &Patch,
    only_if: &Preconditions,
    accepts: impl Fn(&K) -> bool,
) -> Result<Written<K>, WriteError> {
    let mut only_if = Preconditions { version: old.version(), ..only_if.clone() };
    // A patch without changes reads the object: no permission beyond that of the write is needed.
    let unchanged = Patch { format: PatchFormat::Merge, body: Arc::from(&b"{}"[..]), status: true };
    for _ in 0..REPEATS {
        match writer.patch(&old.key(), patch, &only_if).await {
            Err(WriteError::Conflict(Conflict::Version { .. } | Conflict::Unspecified { .. })) => {}
            written => return written,
        }
        let live = writer.patch(&old.key(), &unchanged, &Preconditions::default()).await?.object;
        if Object::uid(&live) != Object::uid(old) {
            return Err(WriteError::Conflict(Conflict::Uid { found: uid_of(&live) }));
        }
        if !accepts(&live) {
            return Err(WriteError::Conflict(Conflict::Version { found: live.version() }));
        }
        only_if.version = live.version();
    }
    writer.patch(&old.key(), patch, &only_if).await
}

fn uid_of<K: ObjectType>(object: &K) -> Option<Uid> {
    Object::uid(object).and_then(Uid::new)
}

fn invalid(error: serde_json::Error) -> WriteError {
    SourceError::Invalid { reason: error.to_string(), causes: Vec::new() }.into()
}

/// Returns the empty value of the same JSON type.
fn empty(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => false.into(),
        Value::Number(_) => 0.into(),
        Value::String(_) => "".into(),
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
    }
}

fn insert(object: &mut Value, names: &[&str], value: Value) {
    let Some((last, parents)) = names.split_last() else { return };
    let mut object = object;
    for name in parents {
        let Some(fields) = object.as_object_mut() else { return };
        object = Map::entry(fields, *name).or_insert_with(|| json!({}));
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert((*last).into(), value);
    }
}
