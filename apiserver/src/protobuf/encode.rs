//! Encodes JSON as the protobuf message that Go would write for it, byte for byte.

mod envelope;
mod list;
mod schema;
mod special;
pub(super) mod wire;

use serde_json::{Map, Value};

use self::wire::{write_bytes, write_double, write_message, write_varint};
use crate::builtin::{Base, Cardinality, MessageField, Type, table};

pub(crate) use envelope::{encode, watch_frame};
pub(crate) use list::ListWriter;

/// A value that is not of its field's type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongType {
    /// The field's name.
    pub(super) field: String,
}

/// Encodes the fields of an object that its type has, and skips the others.
pub(super) fn message(out: &mut Vec<u8>, of: &Type, object: &Map<String, Value>) -> Result<(), WrongType> {
    for field in of.by_number() {
        if let (true, Base::Message(inlined)) = (field.name.is_empty(), field.base) {
            write_message(out, field.number, |out| message(out, table().get(inlined), object))?;
            continue;
        }
        let value = object.get(&field.name).filter(|value| !value.is_null());
        match (field.shape, value) {
            (Cardinality::One, None) if field.pointer => {}
            // Also without a value: Go writes the zeros of all fields but pointers.
            (Cardinality::One, _) => single(out, field, field.number, value)?,
            (Cardinality::List, Some(Value::Array(elements))) => {
                for element in elements {
                    single(out, field, field.number, Some(element).filter(|element| !element.is_null()))?;
                }
            }
            (Cardinality::Map, Some(Value::Object(entries))) => {
                for (key, value) in entries {
                    write_message(out, field.number, |out| {
                        write_bytes(out, 1, key.as_bytes());
                        single(out, field, 2, Some(value).filter(|value| !value.is_null()))
                    })?;
                }
            }
            (Cardinality::List | Cardinality::Map, None) => {}
            (Cardinality::List | Cardinality::Map, Some(_)) => return Err(wrong(field)),
        }
    }
    Ok(())
}

/// Encodes one value of a field, under a number; a missing one as its zero.
fn single(
    out: &mut Vec<u8>,
    field: &MessageField,
    number: u32,
    value: Option<&Value>,
) -> Result<(), WrongType> {
    let or_wrong = |integer: Option<i64>| integer.ok_or_else(|| wrong(field));
    match field.base {
        Base::String => {
            let text = value.map_or(Some(""), Value::as_str).ok_or_else(|| wrong(field))?;
            write_bytes(out, number, text.as_bytes());
        }
        Base::Bool => {
            let yes = value.map_or(Some(false), Value::as_bool).ok_or_else(|| wrong(field))?;
            write_varint(out, number, u64::from(yes));
        }
        Base::Int32 => {
            let integer = value.map_or(Some(0), Value::as_i64);
            let integer = integer.filter(|integer| i32::try_from(*integer).is_ok());
            write_varint(out, number, or_wrong(integer)?.cast_unsigned());
        }
        Base::Int64 => {
            write_varint(out, number, or_wrong(value.map_or(Some(0), Value::as_i64))?.cast_unsigned());
        }
        Base::Message(inner) => {
            let empty = Map::new();
            let object = value.map_or(Some(&empty), Value::as_object).ok_or_else(|| wrong(field))?;
            write_message(out, number, |out| message(out, table().get(inner), object))?;
        }
        Base::Double => {
            let double = value.map_or(Some(0.0), Value::as_f64).ok_or_else(|| wrong(field))?;
            write_double(out, number, double);
        }
        Base::SchemaOrBool(of) => {
            write_message(out, number, |out| schema::or_bool(out, field, table().get(of), value))?;
        }
        Base::SchemaOrArray(of) => {
            write_message(out, number, |out| schema::or_array(out, field, table().get(of), value))?;
        }
        Base::SchemaOrStrings(of) => {
            write_message(out, number, |out| schema::or_strings(out, field, table().get(of), value))?;
        }
        base => special::write(out, number, base, value).ok_or_else(|| wrong(field))?,
    }
    Ok(())
}

fn wrong(field: &MessageField) -> WrongType {
    WrongType { field: field.name.clone() }
}
