//! Headers as a switch parses them: less strict than the hosts at its ports.
//!
//! Open vSwitch looks into SNAP and behind a VLAN tag, and checks neither the version nor the
//! checksum of IPv4 nor the operation of ARP. Fragments have addresses too.

use std::net::Ipv4Addr;

use super::arp::KINDS;
use super::{Malformed, Reader};
use crate::plan::{EtherType, Mac};

/// The headers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeaders {
    /// Destination MAC address.
    pub to: Mac,
    /// Source MAC address.
    pub from: Mac,
    /// Whether the frame has a VLAN tag.
    pub is_tagged: bool,
    /// The Ethernet type, if known, behind a tag and in SNAP.
    pub of: Option<EtherType>,
    /// Addresses of the payload; `None` for a malformed or unknown one.
    pub addresses: Option<PayloadAddresses>,
}

/// Addresses in the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadAddresses {
    /// Source of an IPv4 packet.
    Ipv4(Ipv4Addr),
    /// Addresses of an ARP message.
    Arp {
        /// Sender MAC address.
        sender_mac: Mac,
        /// Sender address.
        sender: Ipv4Addr,
        /// Target address.
        target: Ipv4Addr,
    },
}

/// Ethernet types of VLAN tags.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// Smaller numbers are lengths.
const MIN_TYPE: u16 = 0x600;
/// LLC for SNAP, and the organization of Ethernet types.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Length of a tag and the Ethernet type after it.
const TAG: usize = 6;

impl FrameHeaders {
    /// Parses the headers of a frame.
    ///
    /// # Errors
    /// The frame is shorter than an Ethernet header.
    pub fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("a frame", frame);
        let (to, from) = (reader.mac()?, reader.mac()?);
        let mut number = reader.u16()?;
        // A frame that ends within its tag counts as untagged, and has an unknown type.
        let is_tagged = TAGS.contains(&number) && reader.rest.len() + 2 >= TAG;
        if is_tagged {
            let _tag = reader.u16()?;
            number = reader.u16()?;
        }
        if number < MIN_TYPE {
            number = snap_type(&mut reader).unwrap_or(0);
        }
        let of = EtherType::of_number(number);
        let addresses = match of {
            Some(EtherType::Ipv4) => ipv4_source(reader.rest).ok().map(PayloadAddresses::Ipv4),
            Some(EtherType::Arp) => arp_addresses(reader.rest).ok(),
            None => None,
        };
        Ok(Self { to, from, is_tagged, of, addresses })
    }
}

/// Returns the Ethernet type of a SNAP header; `None` for another header.
fn snap_type(reader: &mut Reader<'_>) -> Option<u16> {
    let is_snap = reader.bytes::<6>().ok()? == SNAP;
    reader.u16().ok().filter(|_| is_snap)
}

/// Returns the source of an IPv4 packet if its lengths are consistent.
fn ipv4_source(bytes: &[u8]) -> Result<Ipv4Addr, Malformed> {
    let mut reader = Reader::new("a packet", bytes);
    let (head, _service, length) = (reader.u8()?, reader.u8()?, usize::from(reader.u16()?));
    let _id_to_checksum = reader.bytes::<8>()?;
    let (from, _to) = (reader.address()?, reader.address()?);
    let header = usize::from(head & 0xf) * 4;
    if header < 20 || header > length || length > bytes.len() {
        return Err(Malformed::Field("the lengths of a packet are inconsistent"));
    }
    Ok(from)
}

/// Returns the addresses of an ARP message for IPv4 over Ethernet.
fn arp_addresses(bytes: &[u8]) -> Result<PayloadAddresses, Malformed> {
    let mut reader = Reader::new("an ARP message", bytes);
    if reader.bytes::<6>()? != KINDS {
        return Err(Malformed::Field("an ARP message is not for IPv4 over Ethernet"));
    }
    let (_operation, sender_mac, sender) = (reader.u16()?, reader.mac()?, reader.address()?);
    let (_target_mac, target) = (reader.mac()?, reader.address()?);
    Ok(PayloadAddresses::Arp { sender_mac, sender, target })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(middle: &[u8], payload: &[u8]) -> Vec<u8> {
        [&[2; 6][..], &[4; 6], middle, payload].concat()
    }

    fn packet() -> Vec<u8> {
        let packet = super::super::Ipv4 {
            from: [10, 0, 0, 2].into(),
            to: [10, 0, 0, 3].into(),
            ttl: 1,
            protocol: 1,
            payload: b"",
        };
        packet.bytes().unwrap()
    }

    #[test]
    fn tags_and_snap_are_parsed_as_by_ovs() {
        let packet = packet();
        let read = |middle: &[u8]| FrameHeaders::read(&frame(middle, &packet)).unwrap();
        let plain = read(&[8, 0]);
        assert_eq!(plain.addresses, Some(PayloadAddresses::Ipv4([10, 0, 0, 2].into())));
        assert!(!plain.is_tagged);
        assert_eq!(read(&[0, 28, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), plain, "SNAP");
        assert_eq!(read(&[0, 28, 0xaa, 0xaa, 3, 0, 0, 1, 8, 0]).of, None, "another organization");
        let tagged = FrameHeaders { is_tagged: true, ..plain };
        assert_eq!(read(&[0x81, 0, 0, 1, 8, 0]), tagged);
        assert_eq!(read(&[0x88, 0xa8, 0, 0, 8, 0]), tagged, "also with the identifier zero");
        let cut = FrameHeaders::read(&frame(&[0x81, 0, 0], &[])).unwrap();
        assert_eq!((cut.is_tagged, cut.of), (false, None));
    }

    #[test]
    fn fragments_and_wrong_checksums_have_addresses() {
        let mut bytes = packet();
        bytes[0] = 0x65;
        bytes[6] = 0x20;
        bytes[10] ^= 1;
        assert_eq!(ipv4_source(&bytes), Ok([10, 0, 0, 2].into()));
        bytes[3] = 21;
        assert!(ipv4_source(&bytes).is_err(), "longer than the frame");
    }
}
