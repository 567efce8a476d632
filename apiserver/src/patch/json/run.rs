//! Runs the operations of a JSON patch on a document.

use serde_json::Value;

use super::equal::equal;
use super::limits::PatchLimits;
use super::operation::{Act, PatchOperation};
use super::pointer::{Pointer, find, index};
use crate::patch::refused::rejected;
use crate::refusal::Refusal;

/// Returns the document after all operations. It takes the document by value, so a refusal discards
/// partial results.
pub(in crate::patch) fn apply(mut document: Value, operations: &[PatchOperation]) -> Result<Value, Refusal> {
    let mut limits = PatchLimits::new();
    for operation in operations {
        step(&mut document, operation, &mut limits)?;
    }
    if document.is_object() { Ok(document) } else { Err(rejected("what the patch makes is no object")) }
}

fn step(document: &mut Value, operation: &PatchOperation, limits: &mut PatchLimits) -> Result<(), Refusal> {
    let path = &operation.path;
    match &operation.act {
        Act::Add(value) => {
            limits.fits(value, path.depth())?;
            add(document, path, value.clone(), limits)
        }
        Act::Replace(value) => {
            limits.fits(value, path.depth())?;
            replace(document, path, value.clone())
        }
        Act::Remove => remove(document, path, limits).map(drop),
        Act::Copy { from } => {
            let value = from.get(document).ok_or_else(|| missing("copy", from))?;
            limits.copy(value)?;
            let value = value.clone();
            limits.fits(&value, path.depth())?;
            add(document, path, value, limits)
        }
        Act::Move { from } => {
            let value = remove(document, from, limits)?;
            if path.depth() > from.depth() {
                limits.fits(&value, path.depth())?;
            }
            add(document, path, value, limits)
        }
        Act::Test(expected) => test(document, path, expected),
    }
}

fn add(document: &mut Value, path: &Pointer, value: Value, limits: &mut PatchLimits) -> Result<(), Refusal> {
    let Some((parents, name)) = path.split() else {
        *document = value;
        return Ok(());
    };
    match find(document, parents) {
        Some(Value::Object(fields)) => {
            fields.insert(name.into(), value);
            Ok(())
        }
        Some(Value::Array(items)) if name == "-" => {
            items.push(value);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let places = items.len() + 1;
            let at = index(name, places).filter(|at| *at < places).ok_or_else(|| missing("add", path))?;
            limits.shift(items.len() - at)?;
            items.insert(at, value);
            Ok(())
        }
        _ => Err(missing("add", path)),
    }
}

/// Replaces a value. A missing key is added, as in Kubernetes; a missing index is refused.
fn replace(document: &mut Value, path: &Pointer, value: Value) -> Result<(), Refusal> {
    let Some((parents, name)) = path.split() else {
        *document = value;
        return Ok(());
    };
    match find(document, parents) {
        Some(Value::Object(fields)) => {
            fields.insert(name.into(), value);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let item = index(name, items.len()).and_then(|at| items.get_mut(at));
            *item.ok_or_else(|| missing("replace", path))? = value;
            Ok(())
        }
        _ => Err(missing("replace", path)),
    }
}

fn remove(document: &mut Value, path: &Pointer, limits: &mut PatchLimits) -> Result<Value, Refusal> {
    let Some((parents, name)) = path.split() else {
        return Err(rejected("the whole object cannot be removed"));
    };
    let removed = match find(document, parents) {
        Some(Value::Object(fields)) => fields.remove(name),
        Some(Value::Array(items)) => match index(name, items.len()).filter(|at| *at < items.len()) {
            Some(at) => {
                limits.shift(items.len() - at)?;
                Some(items.remove(at))
            }
            None => None,
        },
        _ => None,
    };
    removed.ok_or_else(|| missing("remove", path))
}

/// A missing key equals null, as in Kubernetes: so a client can require its absence.
fn test(document: &Value, path: &Pointer, expected: &Value) -> Result<(), Refusal> {
    let found = match path.get(document) {
        Some(found) => found,
        None if path.in_object(document) => &Value::Null,
        None => return Err(missing("test", path)),
    };
    if equal(found, expected) {
        return Ok(());
    }
    Err(rejected(format!("testing value {} failed: test failed", path.text())))
}

fn missing(verb: &str, path: &Pointer) -> Refusal {
    rejected(format!(
        "{verb} operation does not apply: doc is missing path: {:?}: missing value",
        path.text()
    ))
}
