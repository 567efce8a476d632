//! How deep a value is nested.

use serde_json::Value;

use crate::refusal::Refusal;

/// How deep an object may be nested, its managed fields included. Parsers stop at 127, this server's own of what is stored among them, and an
/// object comes to its clients within lists, tables and events of watches, and to webhooks within reviews: there has to be room for those.
pub(crate) const OBJECT_DEPTH: usize = 120;

/// How many containers are in each other. Whoever made the value had the stack for it.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// That an object is not too deep for whoever reads it. One that was so already may stay so, and hence can go.
///
/// # Errors
/// 400: it is.
pub(crate) fn shallow(object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
    let is = depth(object);
    if is <= OBJECT_DEPTH || old.is_some_and(|old| is <= depth(old)) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the object is nested {is} levels deep with its managedFields, and {OBJECT_DEPTH} is the limit: nest it less"
    )))
}
