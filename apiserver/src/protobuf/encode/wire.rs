//! Encodes the protobuf wire format: tags, varints and lengths.

use crate::protobuf::wire::{BYTES, FIXED64, VARINT};

/// Writes a varint field.
pub(crate) fn write_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    push_varint(out, u64::from(number) << 3 | u64::from(VARINT));
    push_varint(out, value);
}

/// Writes a length-delimited field.
pub(crate) fn write_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    push_varint(out, u64::from(number) << 3 | u64::from(BYTES));
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a message field with contents from `write`.
pub(crate) fn write_message<E>(
    out: &mut Vec<u8>,
    number: u32,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    push_varint(out, u64::from(number) << 3 | u64::from(BYTES));
    let start = out.len();
    write(out)?;
    let mut length = Vec::with_capacity(10);
    push_varint(&mut length, (out.len() - start) as u64);
    out.splice(start..start, length);
    Ok(())
}

/// Writes a `double` field.
pub(crate) fn write_double(out: &mut Vec<u8>, number: u32, value: f64) {
    push_varint(out, u64::from(number) << 3 | u64::from(FIXED64));
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes the tag and length of a field; its bytes must follow.
pub(in crate::protobuf) fn write_length(out: &mut Vec<u8>, number: u32, length: usize) {
    push_varint(out, u64::from(number) << 3 | u64::from(BYTES));
    push_varint(out, length as u64);
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
