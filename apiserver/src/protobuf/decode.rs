//! Decodes a protobuf message to the JSON that Go would produce for it.

mod schema;

use serde_json::{Map, Value};

use super::special;
use super::wire::{Malformed, Payload, WireReader};
use crate::builtin::{Base, Cardinality, MessageField, Omit, Type, table};

/// Maximum nesting of a body, of messages and of the JSON in them.
pub(super) const MOST_DEEP: usize = 100;

/// Maximum number of values in a body: a list element of two bytes can expand to a message of many
/// fields.
const MOST_VALUES: usize = 250_000;

/// Decodes one body, within the limits on nesting and values.
pub(super) struct Decoder {
    values_left: usize,
}

impl Decoder {
    pub(super) const fn new() -> Self {
        Self { values_left: MOST_VALUES }
    }

    /// Merges a message's fields into an object, as a repeated occurrence does, and then adds the
    /// JSON zero values.
    pub(super) fn message(
        &mut self,
        of: &Type,
        message: &[u8],
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        if depth > MOST_DEEP {
            return Err("exceeded max depth".into());
        }
        let mut reader = WireReader::new(of.short_name(), message);
        while let Some((number, payload)) = reader.next()? {
            if let Some(field) = of.numbered(number) {
                self.field(field, payload, into, depth)?;
            }
        }
        self.finish(of, into)
    }

    fn field(
        &mut self,
        field: &MessageField,
        payload: Payload<'_>,
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        if let (true, Base::Message(inlined)) = (field.name.is_empty(), field.base) {
            return self.message(table().get(inlined), payload.bytes("inlined")?, into, depth + 1);
        }
        if !into.contains_key(&field.name) {
            self.spend()?;
            into.insert(field.name.clone(), Value::Null);
        }
        let Some(slot) = into.get_mut(&field.name) else { return Ok(()) };
        match field.shape {
            Cardinality::One => self.one(field, payload, slot, depth),
            Cardinality::List => self.element(field, payload, slot, depth),
            Cardinality::Map => self.entry(field, payload.bytes(&field.name)?, slot, depth),
        }
    }

    fn one(
        &mut self,
        field: &MessageField,
        payload: Payload<'_>,
        slot: &mut Value,
        depth: usize,
    ) -> Result<(), Malformed> {
        if let Base::Message(inner) = field.base {
            let object = object_in(slot);
            return self.message(table().get(inner), payload.bytes(&field.name)?, object, depth + 1);
        }
        *slot = self.single(field, payload, depth)?;
        Ok(())
    }

    fn element(
        &mut self,
        field: &MessageField,
        payload: Payload<'_>,
        slot: &mut Value,
        depth: usize,
    ) -> Result<(), Malformed> {
        if let (Base::Bool | Base::Int32 | Base::Int64, Payload::Bytes(packed)) = (field.base, payload) {
            let mut packed = WireReader::new(&field.name, packed);
            while !packed.is_empty() {
                self.spend()?;
                let element = self.single(field, Payload::Varint(packed.varint()?), depth)?;
                array_in(slot).push(element);
            }
            return Ok(());
        }
        self.spend()?;
        let element = self.single(field, payload, depth)?;
        array_in(slot).push(element);
        Ok(())
    }

    /// Decodes an entry of a map. Go's decoder reads past the end of an entry whose lengths are
    /// wrong; here that is refused.
    fn entry(
        &mut self,
        field: &MessageField,
        message: &[u8],
        slot: &mut Value,
        depth: usize,
    ) -> Result<(), Malformed> {
        let (mut key, mut value) = (String::new(), None);
        let mut reader = WireReader::new(&field.name, message);
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => key = special::text(payload.bytes(&field.name)?),
                2 => value = Some(self.single(field, payload, depth)?),
                _ => {}
            }
        }
        self.spend()?;
        let value = match value {
            Some(value) => value,
            None => self.zero(field.base)?,
        };
        object_in(slot).insert(key, value);
        Ok(())
    }

    /// Decodes one value of a field of any shape.
    fn single(
        &mut self,
        field: &MessageField,
        payload: Payload<'_>,
        depth: usize,
    ) -> Result<Value, Malformed> {
        let name = &field.name;
        // Integers are truncated to their width, as in Go.
        Ok(match field.base {
            Base::Bool => (payload.varint(name)? != 0).into(),
            Base::Int32 => (payload.varint(name)? as i32).into(),
            Base::Int64 => payload.varint(name)?.cast_signed().into(),
            Base::String => special::text(payload.bytes(name)?).into(),
            Base::Message(inner) => {
                let mut object = Map::new();
                self.message(table().get(inner), payload.bytes(name)?, &mut object, depth + 1)?;
                Value::Object(object)
            }
            Base::Double => schema::number(payload.double(name)?),
            Base::SchemaOrBool(_) | Base::SchemaOrArray(_) | Base::SchemaOrStrings(_) => {
                self.schema_or(field.base, payload.bytes(name)?, depth)?
            }
            base => special::read(base, payload.bytes(name)?, depth)?,
        })
    }

    /// Removes and adds fields as Go's encoder would.
    fn finish(&mut self, of: &Type, into: &mut Map<String, Value>) -> Result<(), Malformed> {
        for field in of.by_number() {
            if let (true, Base::Message(inlined)) = (field.name.is_empty(), field.base) {
                self.finish(table().get(inlined), into)?;
                continue;
            }
            match into.get(&field.name) {
                Some(value) => {
                    if is_left_out(field, value) {
                        into.remove(&field.name);
                    }
                }
                None => {
                    if is_left_out_when_absent(field) {
                        continue;
                    }
                    let zero = match (field.shape, field.base) {
                        _ if field.pointer => Value::Null,
                        (Cardinality::List | Cardinality::Map, _) | (_, Base::Bytes | Base::Strings) => {
                            Value::Null
                        }
                        (Cardinality::One, base) => self.zero(base)?,
                    };
                    self.spend()?;
                    into.insert(field.name.clone(), zero);
                }
            }
        }
        Ok(())
    }

    /// Returns the JSON form of an unset value of this type.
    fn zero(&mut self, base: Base) -> Result<Value, Malformed> {
        Ok(match base {
            Base::Bool | Base::SchemaOrBool(_) => false.into(),
            Base::Int32 | Base::Int64 | Base::Double | Base::IntOrString => 0.into(),
            Base::String | Base::Bytes => "".into(),
            Base::Quantity => "0".into(),
            Base::Strings => Value::Array(Vec::new()),
            Base::Time | Base::MicroTime | Base::RawExtension | Base::FieldsV1 | Base::Json => Value::Null,
            Base::SchemaOrArray(_) | Base::SchemaOrStrings(_) => Value::Null,
            Base::Message(inner) => {
                let mut object = Map::new();
                self.finish(table().get(inner), &mut object)?;
                Value::Object(object)
            }
        })
    }

    fn spend(&mut self) -> Result<(), Malformed> {
        let left = self.values_left.checked_sub(1);
        self.values_left = left.ok_or_else(|| format!("more than {MOST_VALUES} values"))?;
        Ok(())
    }
}

/// Returns whether Go's encoder leaves out a field that was on the wire.
fn is_left_out(field: &MessageField, value: &Value) -> bool {
    if field.pointer || field.omit == Omit::Never {
        return false;
    }
    if field.shape != Cardinality::One {
        return value.is_null();
    }
    match field.base {
        Base::Bool => *value == false,
        Base::Int32 | Base::Int64 | Base::Double => *value == 0,
        Base::String | Base::Bytes => *value == "",
        Base::Strings => value.as_array().is_none_or(Vec::is_empty),
        Base::Time | Base::MicroTime => value.is_null() && field.omit == Omit::Zero,
        Base::Quantity | Base::IntOrString | Base::RawExtension | Base::FieldsV1 | Base::Message(_) => false,
        Base::Json | Base::SchemaOrBool(_) | Base::SchemaOrArray(_) | Base::SchemaOrStrings(_) => false,
    }
}

/// Returns whether Go's encoder omits a field that was not on the wire. A Go struct is only omitted
/// if it is a pointer.
fn is_left_out_when_absent(field: &MessageField) -> bool {
    match field.omit {
        Omit::Never => false,
        Omit::Zero => true,
        Omit::Empty => {
            let is_struct = !matches!(
                field.base,
                Base::Bool
                    | Base::Int32
                    | Base::Int64
                    | Base::Double
                    | Base::String
                    | Base::Bytes
                    | Base::Strings
            );
            field.pointer || field.shape != Cardinality::One || !is_struct
        }
    }
}

fn object_in(slot: &mut Value) -> &mut Map<String, Value> {
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("it is one since the line above")
}

fn array_in(slot: &mut Value) -> &mut Vec<Value> {
    if !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    slot.as_array_mut().expect("it is one since the line above")
}
