//! Decodes the protobuf wire format: tags, varints and lengths.

use std::borrow::Cow;
use std::fmt;

/// The error of malformed bytes, with Go's text where clients can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) Cow<'static, str>);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&'static str> for Malformed {
    fn from(why: &'static str) -> Self {
        Self(Cow::Borrowed(why))
    }
}

impl From<String> for Malformed {
    fn from(why: String) -> Self {
        Self(Cow::Owned(why))
    }
}

/// The payload of a tag.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// Another wire type, which is skipped.
    Other(u8),
}

impl<'a> Payload<'a> {
    pub(super) fn bytes(self, field: &str) -> Result<&'a [u8], Malformed> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(self.wrong(field)) }
    }

    pub(super) fn varint(self, field: &str) -> Result<u64, Malformed> {
        if let Self::Varint(varint) = self { Ok(varint) } else { Err(self.wrong(field)) }
    }

    pub(super) fn double(self, field: &str) -> Result<f64, Malformed> {
        if let Self::Fixed64(bits) = self { Ok(f64::from_bits(bits)) } else { Err(self.wrong(field)) }
    }

    fn wrong(self, field: &str) -> Malformed {
        let wire = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Other(wire) => wire,
        };
        format!("proto: wrong wireType = {wire} for field {field}").into()
    }
}

/// Reads a message field by field.
pub(super) struct WireReader<'a> {
    rest: &'a [u8],
    /// The message's type, for errors.
    name: &'a str,
}

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;

impl<'a> WireReader<'a> {
    pub(super) const fn new(name: &'a str, message: &'a [u8]) -> Self {
        Self { rest: message, name }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field's number and value; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = wire_type(tag);
        if wire == END_OF_GROUP {
            return Err(format!("proto: {}: wiretype end group for non-group", self.name).into());
        }
        // As in Go: the number is truncated.
        let number = (tag >> 3) as i32;
        let Ok(known @ 1..) = u32::try_from(number) else {
            return Err(format!("proto: {}: illegal tag {number} (wire type {tag})", self.name).into());
        };
        let payload = match wire {
            VARINT => Payload::Varint(self.varint()?),
            BYTES => Payload::Bytes(self.bytes()?),
            FIXED64 => Payload::Fixed64(self.fixed64()?),
            GROUP => {
                self.skip_group()?;
                Payload::Other(wire)
            }
            _ => {
                self.skip_fixed(wire)?;
                Payload::Other(wire)
            }
        };
        Ok(Some((known, payload)))
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("proto: integer overflow".into())
    }

    fn fixed64(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.first_chunk().ok_or("unexpected EOF")?;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        if i64::try_from(length).is_err() {
            return Err("proto: negative length found during unmarshaling".into());
        }
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Skips a group, which no Kubernetes message has. Iterative, so that nesting cannot exhaust
    /// the stack.
    fn skip_group(&mut self) -> Result<(), Malformed> {
        let mut open = 1_usize;
        while open > 0 {
            match wire_type(self.varint()?) {
                VARINT => {
                    self.varint()?;
                }
                BYTES => {
                    self.bytes()?;
                }
                GROUP => open += 1,
                END_OF_GROUP => open -= 1,
                wire => self.skip_fixed(wire)?,
            }
        }
        Ok(())
    }

    fn skip_fixed(&mut self, wire: u8) -> Result<(), Malformed> {
        match wire {
            1 => self.take(8)?,
            5 => self.take(4)?,
            _ => return Err(format!("proto: illegal wireType {wire}").into()),
        };
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("unexpected EOF")?;
        self.rest = rest;
        Ok(taken)
    }
}

const fn wire_type(tag: u64) -> u8 {
    (tag & 7) as u8
}
