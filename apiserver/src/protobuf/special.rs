//! Decoders of types with a JSON form of their own: times, quantities, int-or-strings and others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::decode::MOST_DEEP;
use super::envelope;
use super::wire::{Malformed, WireReader};
use crate::builtin::{Base, KubeTime, Precision, quantity};

/// The JSON of a special value.
pub(super) fn read(base: Base, bytes: &[u8], depth: usize) -> Result<Value, Malformed> {
    match base {
        Base::Bytes => Ok(STANDARD.encode(bytes).into()),
        Base::Strings => read_strings(bytes),
        Base::Time => read_time(bytes, Precision::Seconds),
        Base::MicroTime => read_time(bytes, Precision::Micros),
        Base::Quantity => read_quantity(bytes),
        Base::IntOrString => read_int_or_string(bytes),
        Base::RawExtension | Base::FieldsV1 | Base::Json => read_raw(bytes, depth),
        _ => Err("a value that is not special".into()),
    }
}

/// Decodes a string. Each byte of invalid UTF-8 is replaced, as Go's encoder does.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

fn read_strings(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut texts = Vec::new();
    let mut reader = WireReader::new("ExtraValue", bytes);
    while let Some((number, payload)) = reader.next()? {
        if number == 1 {
            texts.push(Value::from(text(payload.bytes("items")?)));
        }
    }
    Ok(Value::Array(texts))
}

fn read_time(bytes: &[u8], precision: Precision) -> Result<Value, Malformed> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    let mut reader = WireReader::new("Timestamp", bytes);
    while let Some((number, payload)) = reader.next()? {
        match number {
            1 => seconds = payload.varint("seconds")?.cast_signed(),
            2 => nanos = payload.varint("nanos")? as i32,
            _ => {}
        }
    }
    if precision == Precision::Seconds {
        nanos = 0;
    }
    let nanos = i64::from(nanos / 1000 * 1000);
    let moment = seconds.checked_add(nanos.div_euclid(1_000_000_000)).map(|seconds| KubeTime {
        seconds,
        nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0),
    });
    let moment = moment.ok_or("time: year outside of range [0,9999]")?;
    if moment == KubeTime::NONE {
        return Ok(Value::Null);
    }
    Ok(moment.format(precision).ok_or("time: year outside of range [0,9999]")?.into())
}

fn read_quantity(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut canonical = "0".to_owned();
    let mut reader = WireReader::new("Quantity", bytes);
    while let Some((number, payload)) = reader.next()? {
        if number == 1 {
            let said = text(payload.bytes("string")?);
            canonical = quantity::canonical(&said).map_err(|error| error.to_string())?;
        }
    }
    Ok(canonical.into())
}

fn read_int_or_string(bytes: &[u8]) -> Result<Value, Malformed> {
    let (mut form, mut int, mut string) = (0, 0, String::new());
    let mut reader = WireReader::new("IntOrString", bytes);
    while let Some((number, payload)) = reader.next()? {
        match number {
            1 => form = payload.varint("type")?,
            2 => int = payload.varint("intVal")? as i32,
            3 => string = text(payload.bytes("strVal")?),
            _ => {}
        }
    }
    match form {
        0 => Ok(int.into()),
        1 => Ok(string.into()),
        _ => Err("impossible IntOrString.Type".into()),
    }
}

/// JSON in a message; the object of a watch event may be a body of its own.
fn read_raw(bytes: &[u8], depth: usize) -> Result<Value, Malformed> {
    let mut raw = &[][..];
    let mut reader = WireReader::new("RawExtension", bytes);
    while let Some((number, payload)) = reader.next()? {
        if number == 1 {
            raw = payload.bytes("raw")?;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    if raw.starts_with(&envelope::MAGIC) {
        return envelope::open(raw, depth + 1);
    }
    let value: Value = serde_json::from_str(&text(raw)).map_err(|error| error.to_string())?;
    if is_deeper(&value, MOST_DEEP.saturating_sub(depth)) {
        Err("exceeded max depth".into())
    } else {
        Ok(value)
    }
}

fn is_deeper(value: &Value, than: usize) -> bool {
    let Some(left) = than.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(elements) => elements.iter().any(|element| is_deeper(element, left)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, left)),
        _ => false,
    }
}
