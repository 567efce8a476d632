//! The frames that an attachment sends in one round.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use kos::drive::packet::{Arp, Echo, Ethernet, Ipv4};
use kos::plan::{EtherType, Mac};

use super::Station;
use super::mark::{FrameKind, Mark};

const BROADCAST: Mac = Mac([0xff; 6]);

/// Returns the frames of a round with their marks, from one attachment to all.
pub(super) fn round(sender: u32, own: &Station, all: &[Station], number: u32) -> Vec<(Mark, Vec<u8>)> {
    let mark = |kind, to_vni, to| Mark { kind, sender, vni: own.vni, to_vni, to, number };
    let others = all.iter().filter(|other| *other != own);
    let unicast = others.clone().map(|other| {
        let mark = mark(FrameKind::Unicast, other.vni, other.address);
        (mark, packet(mark, (own.mac(), own.address), (other.mac(), other.address)))
    });
    // An ARP request has no network: it is for the holder of the address in the sender's.
    let addresses: BTreeSet<_> = others.clone().map(|other| other.address).collect();
    let requests = addresses.into_iter().filter(|address| *address != own.address).map(|address| {
        let mark = mark(FrameKind::ArpRequest, own.vni, address);
        (mark, request(mark, own))
    });
    let broadcast = mark(FrameKind::Broadcast, own.vni, Ipv4Addr::BROADCAST);
    let broadcast =
        (broadcast, packet(broadcast, (own.mac(), own.address), (BROADCAST, Ipv4Addr::BROADCAST)));
    let forged = others.clone().flat_map(|victim| {
        let mark = mark(FrameKind::Forged, victim.vni, victim.address);
        // To a neighbour of the forged sender, which would be permitted to send this frame.
        let to = others.clone().find(|other| other.vni == victim.vni && *other != victim);
        let forged =
            |to: &Station| (mark, packet(mark, (victim.mac(), victim.address), (to.mac(), to.address)));
        let address = (mark, packet(mark, (own.mac(), victim.address), (victim.mac(), victim.address)));
        to.map(forged).into_iter().chain((victim.address != own.address).then_some(address))
    });
    unicast.chain(requests).chain([broadcast]).chain(forged).collect()
}

/// An ICMP echo reply, which no stack answers.
fn packet(mark: Mark, from: (Mac, Ipv4Addr), to: (Mac, Ipv4Addr)) -> Vec<u8> {
    let data = mark.bytes();
    let echo = Echo { is_request: false, id: 0, sequence: 0, data: &data }.bytes();
    let packet = Ipv4 { from: from.1, to: to.1, ttl: 64, protocol: Ipv4::ICMP, payload: &echo };
    Ethernet::new(to.0, from.0, EtherType::Ipv4, &packet.bytes().unwrap()).bytes()
}

fn request(mark: Mark, own: &Station) -> Vec<u8> {
    let arp = Arp {
        is_request: true,
        sender_mac: own.mac(),
        sender: own.address,
        target_mac: Mac([0; 6]),
        target: mark.to,
    };
    let payload = [&arp.bytes()[..], &mark.bytes()].concat();
    Ethernet::new(BROADCAST, own.mac(), EtherType::Arp, &payload).bytes()
}
