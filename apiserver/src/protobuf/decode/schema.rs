//! Decodes the unions in the schemas of CustomResourceDefinitions: a schema, or something simpler.

use serde_json::{Map, Value};

use super::Decoder;
use crate::builtin::{Base, table};
use crate::protobuf::special::text;
use crate::protobuf::wire::{Malformed, WireReader};

/// Integers up to this magnitude are exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a number as Go prints it: an integral one without a fraction.
pub(super) fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < EXACT { (number as i64).into() } else { number.into() }
}

impl Decoder {
    /// Decodes a union. Of two members that are both set, the one that Go prints.
    pub(super) fn schema_or(&mut self, base: Base, bytes: &[u8], depth: usize) -> Result<Value, Malformed> {
        let (mut schema, mut allows, mut many) = (None::<Map<String, Value>>, false, Vec::new());
        let mut reader = WireReader::new("JSONSchemaProps", bytes);
        while let Some((number, payload)) = reader.next()? {
            match (base, number) {
                (Base::SchemaOrBool(_), 1) => allows = payload.varint("allows")? != 0,
                (Base::SchemaOrBool(of), 2) | (Base::SchemaOrArray(of) | Base::SchemaOrStrings(of), 1) => {
                    let into = schema.get_or_insert_default();
                    self.message(table().get(of), payload.bytes("schema")?, into, depth + 1)?;
                }
                (Base::SchemaOrArray(of), 2) => {
                    self.spend()?;
                    let mut one = Map::new();
                    self.message(table().get(of), payload.bytes("jSONSchemas")?, &mut one, depth + 1)?;
                    many.push(Value::Object(one));
                }
                (Base::SchemaOrStrings(_), 2) => {
                    self.spend()?;
                    many.push(text(payload.bytes("property")?).into());
                }
                _ => {}
            }
        }
        Ok(match (base, schema) {
            _ if !many.is_empty() => Value::Array(many),
            (_, Some(schema)) => Value::Object(schema),
            (Base::SchemaOrBool(_), None) => allows.into(),
            (_, None) => Value::Null,
        })
    }
}
