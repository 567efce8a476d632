//! Encodes the unions in the schemas of CustomResourceDefinitions: a schema, or something simpler.

use serde_json::Value;

use super::wire::{write_bytes, write_message, write_varint};
use super::{WrongType, message, wrong};
use crate::builtin::{MessageField, Type};

/// Writes a schema, or a boolean.
pub(super) fn or_bool(
    out: &mut Vec<u8>,
    field: &MessageField,
    of: &Type,
    value: Option<&Value>,
) -> Result<(), WrongType> {
    match value {
        None | Some(Value::Bool(_)) => {
            write_varint(out, 1, u64::from(value == Some(&Value::Bool(true))));
            Ok(())
        }
        Some(schema) => {
            write_varint(out, 1, 1);
            write_schema(out, 2, field, of, schema)
        }
    }
}

/// Writes a schema, or a list of schemas.
pub(super) fn or_array(
    out: &mut Vec<u8>,
    field: &MessageField,
    of: &Type,
    value: Option<&Value>,
) -> Result<(), WrongType> {
    match value {
        None => Ok(()),
        Some(Value::Array(schemas)) => {
            schemas.iter().try_for_each(|schema| write_schema(out, 2, field, of, schema))
        }
        Some(schema) => write_schema(out, 1, field, of, schema),
    }
}

/// Writes a schema, or a list of names.
pub(super) fn or_strings(
    out: &mut Vec<u8>,
    field: &MessageField,
    of: &Type,
    value: Option<&Value>,
) -> Result<(), WrongType> {
    match value {
        None => Ok(()),
        Some(Value::Array(names)) => names.iter().try_for_each(|name| {
            write_bytes(out, 2, name.as_str().ok_or_else(|| wrong(field))?.as_bytes());
            Ok(())
        }),
        Some(schema) => write_schema(out, 1, field, of, schema),
    }
}

fn write_schema(
    out: &mut Vec<u8>,
    number: u32,
    field: &MessageField,
    of: &Type,
    schema: &Value,
) -> Result<(), WrongType> {
    let schema = schema.as_object().ok_or_else(|| wrong(field))?;
    write_message(out, number, |out| message(out, of, schema))
}
