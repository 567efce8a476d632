//! What a frame has, in the terms of flows.

use std::net::Ipv4Addr;

use super::Arrival;
use crate::drive::packet::{Arp, Ethernet, Ipv4};
use crate::plan::{EtherType, Match};

/// All that can be matched of a frame; nothing, if it is none. What is in it and cannot be read has no fields, so no flow that asks for them
/// is for it.
pub(super) fn fields_of(arrival: &Arrival<'_>) -> Option<Match> {
    let frame = Ethernet::read(arrival.frame).ok()?;
    let mut fields = Match {
        in_port: Some(arrival.port),
        tun_id: Some(arrival.tunnel.map_or(0, |tunnel| tunnel.vni.number())),
        tun_src: Some(arrival.tunnel.map_or(Ipv4Addr::UNSPECIFIED, |tunnel| tunnel.node)),
        dl_src: Some(frame.from),
        dl_dst: Some(frame.to),
        dl_type: frame.of(),
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
