//! Who has an address.

use std::net::Ipv4Addr;

use super::{Malformed, Reader};
use crate::plan::Mac;

/// A question for the MAC address of an address, or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// It is a question.
    pub asks: bool,
    /// The MAC address of who sends it.
    pub sender_mac: Mac,
    /// The address of who sends it.
    pub sender: Ipv4Addr,
    /// The MAC address of whom it is about; zeroes in a question.
    pub target_mac: Mac,
    /// The address of whom it is about.
    pub target: Ipv4Addr,
}

/// Ethernet and IPv4, with addresses of six and four bytes.
const KINDS: [u8; 6] = [0, 1, 8, 0, 6, 4];

impl Arp {
    /// Reads it. What follows is padding.
    ///
    /// # Errors
    /// It is too short, not about IPv4 over Ethernet, or neither a question nor an answer.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("a message of ARP", bytes);
        if reader.bytes::<6>()? != KINDS {
            return Err(Malformed::Field("a message of ARP is not about IPv4 over Ethernet"));
        }
        let asks = match reader.u16()? {
            1 => true,
            2 => false,
            _ => return Err(Malformed::Field("a message of ARP neither asks nor answers")),
        };
        Ok(Self {
            asks,
            sender_mac: reader.mac()?,
            sender: reader.address()?,
            target_mac: reader.mac()?,
            target: reader.address()?,
        })
    }

    /// Writes it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let operation = if self.asks { [0, 1] } else { [0, 2] };
        let (sender, target) = (self.sender.octets(), self.target.octets());
        [&KINDS[..], &operation, &self.sender_mac.0, &sender, &self.target_mac.0, &target].concat()
    }
}
