//! ARP messages.

use std::net::Ipv4Addr;

use super::{Malformed, Reader};
use crate::plan::Mac;

/// An ARP request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// Whether it is a request.
    pub is_request: bool,
    /// Sender MAC address.
    pub sender_mac: Mac,
    /// Sender IPv4 address.
    pub sender: Ipv4Addr,
    /// Target MAC address; zeroes in a request.
    pub target_mac: Mac,
    /// Target IPv4 address.
    pub target: Ipv4Addr,
}

/// Ethernet and IPv4, with addresses of six and four bytes.
pub(super) const KINDS: [u8; 6] = [0, 1, 8, 0, 6, 4];

impl Arp {
    /// Parses a message. Trailing bytes are padding.
    ///
    /// # Errors
    /// The message is too short, not for IPv4 over Ethernet, or neither request nor reply.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("an ARP message", bytes);
        if reader.bytes::<6>()? != KINDS {
            return Err(Malformed::Field("an ARP message is not for IPv4 over Ethernet"));
        }
        let is_request = match reader.u16()? {
            1 => true,
            2 => false,
            _ => return Err(Malformed::Field("an ARP message is neither request nor reply")),
        };
        Ok(Self {
            is_request,
            sender_mac: reader.mac()?,
            sender: reader.address()?,
            target_mac: reader.mac()?,
            target: reader.address()?,
        })
    }

    /// Serializes the message.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let operation = if self.is_request { [0, 1] } else { [0, 2] };
        let (sender, target) = (self.sender.octets(), self.target.octets());
        [&KINDS[..], &operation, &self.sender_mac.0, &sender, &self.target_mac.0, &target].concat()
    }
}
