//! Encoders of types with a JSON form of their own: times, quantities, int-or-strings and others.

use serde_json::Value;

use super::wire::{write_bytes, write_message, write_varint};
use crate::builtin::{Base, KubeTime, Precision, decode_base64, quantity};

/// Writes a special value, or its zero. None: it is not of this type.
pub(super) fn write(out: &mut Vec<u8>, number: u32, base: Base, value: Option<&Value>) -> Option<()> {
    match base {
        Base::Bytes => {
            if let Some(value) = value {
                write_bytes(out, number, &decode_base64(value.as_str()?).ok()?);
            }
            Some(())
        }
        Base::Strings => inside(out, number, |out| {
            for text in value.map_or(Some(&[][..]), |value| value.as_array().map(Vec::as_slice))? {
                write_bytes(out, 1, if text.is_null() { b"" } else { text.as_str()?.as_bytes() });
            }
            Some(())
        }),
        Base::Time => write_time(out, number, value, Precision::Seconds),
        Base::MicroTime => write_time(out, number, value, Precision::Micros),
        Base::Quantity => {
            let text = value.map_or(Ok("0".to_owned()), |value| quantity::canonical(&quantity::text(value)));
            let text = text.ok()?;
            inside(out, number, |out| {
                write_bytes(out, 1, text.as_bytes());
                Some(())
            })
        }
        Base::IntOrString => write_int_or_string(out, number, value),
        Base::RawExtension | Base::FieldsV1 | Base::Json => inside(out, number, |out| {
            if let Some(value) = value {
                write_bytes(out, 1, value.to_string().as_bytes());
            }
            Some(())
        }),
        _ => None,
    }
}

fn write_time(out: &mut Vec<u8>, number: u32, value: Option<&Value>, precision: Precision) -> Option<()> {
    let mut moment = match value {
        Some(value) => KubeTime::parse(value.as_str()?, precision).ok()?,
        None => KubeTime::NONE,
    };
    if precision == Precision::Seconds {
        moment.nanos = 0;
    }
    inside(out, number, |out| {
        if moment != KubeTime::NONE {
            write_varint(out, 1, moment.seconds.cast_unsigned());
            write_varint(out, 2, u64::from(moment.nanos));
        }
        Some(())
    })
}

fn write_int_or_string(out: &mut Vec<u8>, number: u32, value: Option<&Value>) -> Option<()> {
    let (form, int, string) = match value {
        Some(Value::String(string)) => (1, 0, string.as_str()),
        Some(value) => (0, i32::try_from(value.as_i64()?).ok()?, ""),
        None => (0, 0, ""),
    };
    inside(out, number, |out| {
        write_varint(out, 1, form);
        write_varint(out, 2, i64::from(int).cast_unsigned());
        write_bytes(out, 3, string.as_bytes());
        Some(())
    })
}

fn inside(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
    write_message(out, number, |out| write(out).ok_or(())).ok()
}
