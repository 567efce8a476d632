//! Extraction of match fields from frames.

use std::net::Ipv4Addr;

use super::IncomingFrame;
use crate::drive::packet::{FrameHeaders, PayloadAddresses};
use crate::plan::Match;

/// Returns the match fields of a frame, or `None` for a malformed frame. A malformed payload has no
/// fields, so no flow that matches them applies.
pub(super) fn fields_of(incoming: &IncomingFrame<'_>) -> Option<Match> {
    let headers = FrameHeaders::read(incoming.frame).ok()?;
    let fields = Match {
        in_port: Some(incoming.port),
        untagged: !headers.is_tagged,
        // As in OVS: without a tunnel these fields are zero, not absent.
        tun_id: Some(incoming.tunnel.map_or(0, |tunnel| tunnel.vni.number())),
        tun_src: Some(incoming.tunnel.map_or(Ipv4Addr::UNSPECIFIED, |tunnel| tunnel.node)),
        dl_src: Some(headers.from),
        dl_dst: Some(headers.to),
        dl_type: headers.of,
        ..Match::default()
    };
    Some(match headers.addresses {
        Some(PayloadAddresses::Ipv4(source)) => Match { nw_src: Some(source), ..fields },
        Some(PayloadAddresses::Arp { sender_mac, sender, target }) => {
            Match { arp_sha: Some(sender_mac), arp_spa: Some(sender), arp_tpa: Some(target), ..fields }
        }
        None => fields,
    })
}
