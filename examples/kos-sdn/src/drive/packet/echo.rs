//! Echoes by ICMP.

use super::{Malformed, Reader, checksum};

/// A request for an echo, or the echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// It is a request.
    pub asks: bool,
    /// Who asks.
    pub id: u16,
    /// Which of its requests.
    pub sequence: u16,
    /// What comes back.
    pub data: &'a [u8],
}

impl<'a> Echo<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is too short, has a wrong checksum, or is something else of ICMP.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("an echo", bytes);
        let asks = match (reader.u8()?, reader.u8()?) {
            (8, 0) => true,
            (0, 0) => false,
            _ => return Err(Malformed::Field("a message of ICMP is no echo")),
        };
        let (_checksum, id, sequence) = (reader.u16()?, reader.u16()?, reader.u16()?);
        if checksum(bytes) != 0 {
            return Err(Malformed::Field("the checksum of an echo is wrong"));
        }
        Ok(Self { asks, id, sequence, data: reader.rest })
    }

    /// Writes it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let head = [if self.asks { 8 } else { 0 }, 0, 0, 0];
        let mut bytes = [&head[..], &self.id.to_be_bytes(), &self.sequence.to_be_bytes(), self.data].concat();
        let sum = checksum(&bytes).to_be_bytes();
        bytes[2..4].copy_from_slice(&sum);
        bytes
    }
}
