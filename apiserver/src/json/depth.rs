//! Nesting depth of values.

use serde_json::Value;

use crate::refusal::Refusal;

/// Maximum depth of an object including its managed fields. JSON parsers stop at 127, also the one
/// that reads the store, and objects are sent within lists, tables, watch events and admission
/// reviews, which need further levels.
pub(crate) const OBJECT_DEPTH: usize = 120;

/// Returns the nesting depth. The recursion is no deeper than that of the parser that made the
/// value.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Checks the depth of an object. An object that was too deep before may be updated, and so
/// deleted.
///
/// # Errors
/// 400 if the object is too deep.
pub(crate) fn shallow(object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
    let is = depth(object);
    if is <= OBJECT_DEPTH || old.is_some_and(|old| is <= depth(old)) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the object is nested {is} levels deep with its managedFields, and {OBJECT_DEPTH} is the limit: nest it less"
    )))
}
