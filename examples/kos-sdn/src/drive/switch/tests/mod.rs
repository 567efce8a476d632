mod differential;
mod frames;

use proptest::prelude::*;

use frames::{KNOWN, arrival, node};

use super::*;
use crate::drive::packet::{Ethernet, Ipv4};
use crate::plan::{
    EtherType, LocalInterface, Mac, RemoteInterface, default_drop_flows, flow_difference, local_cookie,
    local_flows, remote_cookie, remote_flows,
};

const TUNNELS: Port = Port(1);

fn vni(number: u32) -> Vni {
    Vni::new(number).unwrap()
}

fn local(low: u8) -> LocalInterface {
    LocalInterface::new(vni(1), [10, 0, 0, low].into())
}

fn remote(low: u8) -> RemoteInterface {
    RemoteInterface::new(vni(1), [10, 0, 0, low].into(), node(low))
}

fn switch() -> Switch {
    let mut switch = Switch::new(TUNNELS);
    let [first, second, third, fourth] = KNOWN;
    let here = [first, second].map(|low| local_flows(&local(low), Port(u32::from(low))));
    let there = [third, fourth].map(|low| remote_flows(&remote(low), TUNNELS));
    default_drop_flows()
        .into_iter()
        .chain(here.into_iter().flatten())
        .chain(there.into_iter().flatten())
        .for_each(|flow| switch.add(flow));
    switch
}

#[test]
fn flows_are_removed_by_cookie() {
    let mut switch = switch();
    let mut expected = switch.flows();
    assert_eq!(expected.len(), 18);
    switch.remove_all(local_cookie(local(2).mac));
    switch.remove_all(remote_cookie(remote(9).mac));
    switch.remove_all(local_cookie(local(2).mac));
    for flow in local_flows(&local(2), Port(2)).iter().chain(&remote_flows(&remote(9), TUNNELS)) {
        assert!(expected.remove(flow));
    }
    assert_eq!(flow_difference(&expected, &switch.flows()), Default::default());
    for flow in expected {
        let again = Flow { cookie: 17, ..flow.clone() };
        switch.add(again.clone());
        switch.remove_all(flow.cookie);
        assert!(switch.flows().contains(&again), "it is in place of the other");
        switch.remove(&again);
    }
    assert!(switch.flows().is_empty() && switch.by_cookie.is_empty() && switch.tables.is_empty());
}

#[test]
fn tagged_frames_are_dropped_and_fragments_forwarded() {
    let packet = Ipv4 { from: local(2).address, to: local(3).address, ttl: 9, protocol: 17, payload: b"" };
    let mut packet = packet.bytes().unwrap();
    let ports = |packet: &[u8], tag: &[u8]| {
        let mut frame = Ethernet::new(local(3).mac, local(2).mac, EtherType::Ipv4, packet).bytes();
        frame.splice(12..12, tag.iter().copied());
        let outputs = switch().forward(&IncomingFrame { port: Port(2), tunnel: None, frame: &frame });
        outputs.into_iter().map(|output| output.port).collect::<Vec<_>>()
    };
    assert_eq!(ports(&packet, &[]), [Port(3)]);
    for tag in [[0x81, 0, 0, 1], [0x81, 0, 0, 0], [0x88, 0xa8, 0xe0, 5]] {
        assert_eq!(ports(&packet, &tag), []);
    }
    // A later fragment: its checksum is wrong now, which a switch does not check.
    packet[6..8].copy_from_slice(&[0x20, 7]);
    assert_eq!(ports(&packet, &[]), [Port(3)]);
}

#[test]
fn table_loops_are_bounded() {
    let mut switch = Switch::new(TUNNELS);
    let actions = vec![Action::Output(Port(9)), Action::GotoTable(0)];
    switch.add(Flow { table: 0, priority: 1, cookie: 0, matches: Match::default(), actions });
    let frame = Ethernet::new(Mac::BROADCAST, Mac::BROADCAST, EtherType::Arp, &[]).bytes();
    assert_eq!(
        switch.forward(&IncomingFrame { port: Port(2), tunnel: None, frame: &frame }).len(),
        MAX_LOOKUPS
    );
    assert_eq!(switch.forward(&IncomingFrame { port: Port(9), tunnel: None, frame: &frame }), []);
}

/// A linear search of all flows.
fn naive<'a>(flows: &'a BTreeSet<Flow>, table: u8, fields: &Match) -> Option<&'a Flow> {
    let matches = |expected: &Match| {
        let is = |same: bool, required: bool| same || !required;
        is(expected.in_port == fields.in_port, expected.in_port.is_some())
            && is(fields.untagged, expected.untagged)
            && is(expected.tun_id == fields.tun_id, expected.tun_id.is_some())
            && is(expected.tun_src == fields.tun_src, expected.tun_src.is_some())
            && is(expected.dl_src == fields.dl_src, expected.dl_src.is_some())
            && is(expected.dl_dst == fields.dl_dst, expected.dl_dst.is_some())
            && is(expected.dl_type == fields.dl_type, expected.dl_type.is_some())
            && is(expected.nw_src == fields.nw_src, expected.nw_src.is_some())
            && is(expected.arp_sha == fields.arp_sha, expected.arp_sha.is_some())
            && is(expected.arp_spa == fields.arp_spa, expected.arp_spa.is_some())
            && is(expected.arp_tpa == fields.arp_tpa, expected.arp_tpa.is_some())
    };
    let found: Vec<&Flow> =
        flows.iter().filter(|flow| flow.table == table && matches(&flow.matches)).collect();
    let highest = found.iter().map(|flow| flow.priority).max()?;
    let mut of_it = found.into_iter().filter(|flow| flow.priority == highest);
    let one = of_it.next();
    assert_eq!(of_it.next(), None, "two of one priority match one frame");
    one
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]
    #[test]
    fn arbitrary_frames_follow_the_flows((port, tunnel, whole) in arrival(), wild in proptest::collection::vec(any::<u8>(), 0..60)) {
        let switch = switch();
        for frame in [&whole, &wild] {
            let incoming = IncomingFrame { port, tunnel, frame };
            let outputs = switch.forward(&incoming);
            prop_assert!(outputs.len() <= 1, "at most one output");
            prop_assert!(outputs.iter().all(|outputs| outputs.port != port), "never back");
            let Some(fields) = fields_of(&incoming) else { continue };
            let flows = switch.flows();
            for table in [0, 1] {
                let found = switch.tables[&table].find(&fields);
                prop_assert_eq!(found, naive(&flows, table, &fields));
            }
            if !outputs.is_empty() {
                prop_assert!(fields.nw_src.or(fields.arp_spa).is_some(), "malformed frames are dropped");
            }
        }
    }
}
