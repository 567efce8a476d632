//! ICMP echo messages.

use super::{Malformed, Reader, checksum};

/// An ICMP echo request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Whether it is a request.
    pub is_request: bool,
    /// Identifier of the sender.
    pub id: u16,
    /// Sequence number.
    pub sequence: u16,
    /// Payload, returned by the reply.
    pub data: &'a [u8],
}

impl<'a> Echo<'a> {
    /// Parses a message.
    ///
    /// # Errors
    /// The message is too short, has a wrong checksum, or another ICMP type.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("an echo", bytes);
        let is_request = match (reader.u8()?, reader.u8()?) {
            (8, 0) => true,
            (0, 0) => false,
            _ => return Err(Malformed::Field("an ICMP message is no echo")),
        };
        let (_checksum, id, sequence) = (reader.u16()?, reader.u16()?, reader.u16()?);
        if checksum(bytes) != 0 {
            return Err(Malformed::Field("the checksum of an echo is wrong"));
        }
        Ok(Self { is_request, id, sequence, data: reader.rest })
    }

    /// Serializes the message.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let head = [if self.is_request { 8 } else { 0 }, 0, 0, 0];
        let mut bytes = [&head[..], &self.id.to_be_bytes(), &self.sequence.to_be_bytes(), self.data].concat();
        let sum = checksum(&bytes).to_be_bytes();
        bytes[2..4].copy_from_slice(&sum);
        bytes
    }
}
