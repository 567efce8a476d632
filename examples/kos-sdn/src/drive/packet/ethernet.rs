//! Ethernet frames.

use super::{Malformed, Reader};
use crate::plan::{EtherType, Mac};

/// An Ethernet frame without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet<'a> {
    /// Destination MAC address.
    pub to: Mac,
    /// Source MAC address.
    pub from: Mac,
    /// The Ethernet type as a number.
    pub number: u16,
    /// Payload.
    pub payload: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Creates a frame of a known type.
    #[must_use]
    pub const fn new(to: Mac, from: Mac, of: EtherType, payload: &'a [u8]) -> Self {
        Self { to, from, number: of.number(), payload }
    }

    /// Returns the Ethernet type, if known.
    #[must_use]
    pub const fn of(&self) -> Option<EtherType> {
        EtherType::of_number(self.number)
    }

    /// Parses a frame.
    ///
    /// # Errors
    /// The frame is too short.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("a frame", bytes);
        let (to, from, number) = (reader.mac()?, reader.mac()?, reader.u16()?);
        Ok(Self { to, from, number, payload: reader.rest })
    }

    /// Serializes the frame.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        [&self.to.0[..], &self.from.0, &self.number.to_be_bytes(), self.payload].concat()
    }
}
