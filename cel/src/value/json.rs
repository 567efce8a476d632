//! Reads JSON by its declared type. A mismatch is an error of the reading expression: hosts
//! validate by the schema first.

use std::sync::{Arc, LazyLock};

use base64::Engine;
use serde_json::Value;

use super::map::MapKind;
use super::{Items, List, Map, Outcome, Text, Val, fail};
use crate::declared::{DeclaredType, Form, Order};
use crate::functions::duration_words::declared_duration;
use crate::functions::time;

static ANY: LazyLock<DeclaredType> = LazyLock::new(DeclaredType::any);

/// Reads a JSON value. Lists and objects are read lazily.
pub(crate) fn read<'a>(json: &'a Value, declared: &'a DeclaredType) -> Outcome<'a> {
    if json.is_null() && !matches!(declared.form, Form::Dyn) {
        if declared.nullable() {
            return Ok(Val::Null);
        }
        return fail("invalid data, got null for schema with nullable=false");
    }
    let wrong = |expected: &str| fail(format!("invalid data, expected {expected}"));
    Ok(match (&declared.form, json) {
        (Form::Dyn, json) => any(json),
        (Form::Host, _) => return wrong("no JSON"),
        (Form::Unknown, json) => Val::Unknown(json),
        (Form::Bool, Value::Bool(it)) => Val::Bool(*it),
        (Form::Bool, _) => return wrong("bool"),
        (Form::Int, Value::Number(it)) if it.is_i64() => Val::Int(it.as_i64().unwrap_or_default()),
        (Form::Int, _) => return wrong("int"),
        (Form::Double, Value::Number(it)) => Val::Double(it.as_f64().unwrap_or_default()),
        (Form::Double, _) => return wrong("float"),
        (Form::IntOrString, Value::Number(it)) if it.is_i64() => Val::Int(it.as_i64().unwrap_or_default()),
        (Form::String | Form::IntOrString, Value::String(it)) => Val::String(Text::Lent(it)),
        (Form::IntOrString, _) => return wrong("XIntOrString value to be either a string or integer"),
        (Form::Bytes, Value::String(it)) => match base64::engine::general_purpose::STANDARD.decode(it) {
            Ok(bytes) => Val::Bytes(bytes.into()),
            Err(_) => return fail(format!("Invalid byte formatted string {it}")),
        },
        (Form::Date, Value::String(it)) => match time::date(it) {
            Some(nanos) => Val::Timestamp(nanos),
            None => return fail(format!("Invalid date formatted string {it}")),
        },
        (Form::DateTime, Value::String(it)) => match time::parse_timestamp(it) {
            Some(nanos) => Val::Timestamp(nanos),
            None => return fail(format!("Invalid date-time formatted string {it}")),
        },
        (Form::Duration, Value::String(it)) => match declared_duration(it) {
            Some(nanos) => Val::Duration(nanos),
            None => return fail(format!("Invalid duration {it}")),
        },
        (Form::String | Form::Bytes | Form::Date | Form::DateTime | Form::Duration, _) => {
            return wrong("string");
        }
        (Form::List(item, order), Value::Array(items)) => {
            Val::List(List { items: Items::Json(items, item), order })
        }
        (Form::List(..), _) => return wrong("an array for the provided schema with type=array"),
        (Form::Map(value), Value::Object(entries)) => Val::Map(Map(MapKind::Json(entries, value))),
        (Form::Object(object), Value::Object(entries)) => Val::Map(Map(MapKind::Object(entries, object))),
        (Form::Map(_) | Form::Object(_), _) => {
            return wrong("a map for the provided schema with type=object");
        }
    })
}

fn any(json: &Value) -> Val<'_> {
    match json {
        Value::Null => Val::Null,
        Value::Bool(it) => Val::Bool(*it),
        Value::Number(it) => match it.as_i64() {
            Some(it) => Val::Int(it),
            None => Val::Double(it.as_f64().unwrap_or_default()),
        },
        Value::String(it) => Val::String(Text::Lent(it)),
        Value::Array(items) => Val::List(List { items: Items::Json(items, &ANY), order: &Order::Atomic }),
        Value::Object(entries) => Val::Map(Map(MapKind::Json(entries, &ANY))),
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Val::text(Arc::<str>::from(text))
    }
}
