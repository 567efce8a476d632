//! Matches as OXM fields.

use super::OpenFlowError;
use super::wire::{WireReader, pad, set_length};
use crate::plan::{EtherType, Match, Port};

/// Headers of the fields: class, field number, and length. A set mask bit is another header.
pub(super) mod field {
    pub(crate) const IN_PORT: u32 = 0x8000_0004;
    pub(crate) const ETH_DST: u32 = 0x8000_0606;
    pub(crate) const ETH_SRC: u32 = 0x8000_0806;
    pub(crate) const ETH_TYPE: u32 = 0x8000_0a02;
    pub(crate) const VLAN_VID: u32 = 0x8000_0c02;
    pub(crate) const IPV4_SRC: u32 = 0x8000_1604;
    pub(crate) const ARP_SPA: u32 = 0x8000_2c04;
    pub(crate) const ARP_TPA: u32 = 0x8000_2e04;
    pub(crate) const ARP_SHA: u32 = 0x8000_3006;
    pub(crate) const TUNNEL_ID: u32 = 0x8000_4c08;
    /// Nicira's: OpenFlow has no field for underlay addresses.
    pub(crate) const TUN_SRC: u32 = 0x0001_3e04;
    pub(crate) const TUN_DST: u32 = 0x0001_4004;
}

/// Greater numbers are reserved: they stand for the actions `NORMAL` or `FLOOD`, for example.
pub(super) const MAX_PORT: Port = Port(0xffff_ff00);
/// VLAN identifier of untagged frames: the presence bit is clear.
const OFPVID_NONE: u16 = 0;

/// Appends a match structure, with padding. Fields are in the order of OVS.
pub(super) fn put_match(out: &mut Vec<u8>, matches: &Match) {
    put_structure(out, |out| put_fields(out, matches));
}

/// Appends a match structure of encoded fields.
pub(super) fn put_opaque_match(out: &mut Vec<u8>, oxm: &[u8]) {
    put_structure(out, |out| out.extend(oxm));
}

fn put_structure(out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0, 1, 0, 0]);
    fields(out);
    set_length(out, start, 2);
    pad(out, start);
}

fn put_fields(out: &mut Vec<u8>, matches: &Match) {
    let mut field = |header: u32, value: &[u8]| {
        out.extend(header.to_be_bytes());
        out.extend(value);
    };
    let Match {
        in_port,
        untagged,
        tun_id,
        tun_src,
        dl_src,
        dl_dst,
        dl_type,
        nw_src,
        arp_sha,
        arp_spa,
        arp_tpa,
    } = matches;
    if let Some(port) = in_port {
        field(field::IN_PORT, &port.0.to_be_bytes());
    }
    if let Some(mac) = dl_dst {
        field(field::ETH_DST, &mac.0);
    }
    if let Some(mac) = dl_src {
        field(field::ETH_SRC, &mac.0);
    }
    if let Some(of) = dl_type {
        field(field::ETH_TYPE, &of.number().to_be_bytes());
    }
    if *untagged {
        field(field::VLAN_VID, &OFPVID_NONE.to_be_bytes());
    }
    for (header, address) in [(field::IPV4_SRC, nw_src), (field::ARP_SPA, arp_spa), (field::ARP_TPA, arp_tpa)]
    {
        if let Some(address) = address {
            field(header, &address.octets());
        }
    }
    if let Some(mac) = arp_sha {
        field(field::ARP_SHA, &mac.0);
    }
    if let Some(vni) = tun_id {
        field(field::TUNNEL_ID, &u64::from(*vni).to_be_bytes());
    }
    if let Some(node) = tun_src {
        field(field::TUN_SRC, &node.octets());
    }
}

/// Reads a match structure with its padding; returns the bytes of its fields.
pub(super) fn read_match<'a>(reader: &mut WireReader<'a>) -> Result<&'a [u8], OpenFlowError> {
    let (kind, length) = (reader.u16()?, reader.u16()?);
    if kind != 1 {
        return Err(reader.fault(format!("a match has the type {kind} instead of OXM")));
    }
    let fields = reader.nested(length, 4)?.rest();
    reader.skip_padding(length)?;
    Ok(fields)
}

/// Decodes fields; `None` if [`Match`] cannot express them.
///
/// # Errors
/// A field is cut off.
pub(super) fn decode_fields(oxm: &[u8]) -> Result<Option<Match>, OpenFlowError> {
    let mut reader = WireReader::new("a match", oxm);
    let mut matches = Match::default();
    let mut is_known = true;
    while !reader.is_empty() {
        let header = reader.u32()?;
        let [.., length] = header.to_be_bytes();
        let mut value = reader.nested(length.into(), 0)?;
        is_known &= decode_field(&mut matches, header, &mut value)?;
    }
    Ok(is_known.then_some(matches))
}

/// Sets one field; returns whether [`Match`] can express it. A repeated field replaces the first.
fn decode_field(matches: &mut Match, header: u32, value: &mut WireReader<'_>) -> Result<bool, OpenFlowError> {
    match header {
        field::IN_PORT => {
            matches.in_port = Some(Port(value.u32()?));
            return Ok(matches.in_port < Some(MAX_PORT));
        }
        field::ETH_DST => matches.dl_dst = Some(value.mac()?),
        field::ETH_SRC => matches.dl_src = Some(value.mac()?),
        field::ETH_TYPE => {
            matches.dl_type = EtherType::of_number(value.u16()?);
            return Ok(matches.dl_type.is_some());
        }
        field::VLAN_VID => {
            matches.untagged = true;
            return Ok(value.u16()? == OFPVID_NONE);
        }
        field::IPV4_SRC => matches.nw_src = Some(value.address()?),
        field::ARP_SPA => matches.arp_spa = Some(value.address()?),
        field::ARP_TPA => matches.arp_tpa = Some(value.address()?),
        field::ARP_SHA => matches.arp_sha = Some(value.mac()?),
        field::TUNNEL_ID => match u32::try_from(value.u64()?) {
            Ok(vni) => matches.tun_id = Some(vni),
            Err(_) => return Ok(false),
        },
        field::TUN_SRC => matches.tun_src = Some(value.address()?),
        _ => return Ok(false),
    }
    Ok(true)
}
