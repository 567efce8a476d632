//! Extraction of match fields from frames.

use std::net::Ipv4Addr;

use super::IncomingFrame;
use crate::drive::packet::{Arp, Ethernet, Ipv4};
use crate::plan::{EtherType, Match};

/// Returns the match fields of a frame, or `None` for a malformed frame. A malformed payload has no
/// fields, so no flow that matches them applies.
pub(super) fn fields_of(incoming: &IncomingFrame<'_>) -> Option<Match> {
    let frame = Ethernet::read(incoming.frame).ok()?;
    let mut fields = Match {
        in_port: Some(incoming.port),
        // As in OVS: without a tunnel these fields are zero, not absent.
        tun_id: Some(incoming.tunnel.map_or(0, |tunnel| tunnel.vni.number())),
        tun_src: Some(incoming.tunnel.map_or(Ipv4Addr::UNSPECIFIED, |tunnel| tunnel.node)),
        dl_src: Some(frame.from),
        dl_dst: Some(frame.to),
        dl_type: frame.of(),
        untagged: true,
        ..Match::default()
    };
    match fields.dl_type {
        Some(EtherType::Ipv4) => fields.nw_src = Ipv4::read(frame.payload).ok().map(|packet| packet.from),
        Some(EtherType::Arp) => {
            let arp = Arp::read(frame.payload).ok();
            fields.arp_sha = arp.map(|arp| arp.sender_mac);
            fields.arp_spa = arp.map(|arp| arp.sender);
            fields.arp_tpa = arp.map(|arp| arp.target);
        }
        None => {}
    }
    Some(fields)
}
