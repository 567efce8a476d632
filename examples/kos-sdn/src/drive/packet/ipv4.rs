//! IPv4 packets.

use std::net::Ipv4Addr;

use super::{Malformed, Reader, checksum};

/// An unfragmented IPv4 packet without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// Source address.
    pub from: Ipv4Addr,
    /// Destination address.
    pub to: Ipv4Addr,
    /// Time to live.
    pub ttl: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Payload.
    pub payload: &'a [u8],
}

/// Version 4 and a header of five words.
const HEAD: u8 = 0x45;
const LENGTH: u16 = 20;

impl<'a> Ipv4<'a> {
    /// Protocol number of ICMP.
    pub const ICMP: u8 = 1;

    /// Parses a packet. Bytes beyond its length are padding; options are skipped.
    ///
    /// # Errors
    /// The packet is too short, of another version, has a wrong length or checksum, or is a
    /// fragment.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("a packet", bytes);
        let (head, _service, length) = (reader.u8()?, reader.u8()?, usize::from(reader.u16()?));
        let (_id, fragment, ttl, protocol) = (reader.u16()?, reader.u16()?, reader.u8()?, reader.u8()?);
        let (_checksum, from, to) = (reader.u16()?, reader.address()?, reader.address()?);
        let words = usize::from(head & 0xf);
        if head >> 4 != 4 || words < 5 {
            return Err(Malformed::Field("a packet is not of version 4, or its head is too short"));
        }
        if length < words * 4 || length > bytes.len() {
            return Err(Malformed::Field("the length of a packet is not that of its bytes"));
        }
        if checksum(&bytes[..words * 4]) != 0 {
            return Err(Malformed::Field("the checksum of a packet is wrong"));
        }
        if fragment & 0x3fff != 0 {
            return Err(Malformed::Field("a packet is a fragment; reassembly is not supported"));
        }
        Ok(Self { from, to, ttl, protocol, payload: &bytes[words * 4..length] })
    }

    /// Serializes the packet.
    ///
    /// # Errors
    /// The payload is too long.
    pub fn bytes(&self) -> Result<Vec<u8>, Malformed> {
        let length = u16::try_from(self.payload.len()).ok().and_then(|length| length.checked_add(LENGTH));
        let length = length
            .ok_or(Malformed::Field("the payload exceeds the maximum length of a packet"))?
            .to_be_bytes();
        let mut bytes = vec![HEAD, 0, length[0], length[1], 0, 0, 0x40, 0, self.ttl, self.protocol, 0, 0];
        bytes.extend(self.from.octets());
        bytes.extend(self.to.octets());
        let sum = checksum(&bytes).to_be_bytes();
        bytes[10..12].copy_from_slice(&sum);
        bytes.extend(self.payload);
        Ok(bytes)
    }
}
