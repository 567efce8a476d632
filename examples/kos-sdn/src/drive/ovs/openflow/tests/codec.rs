use proptest::prelude::*;

use crate::drive::ovs::openflow::flow_desc::{FlowUpdate, decode_flows, decode_ports, decode_updates};
use crate::drive::ovs::openflow::flow_mod::put_flow_mod;
use crate::drive::ovs::openflow::fuzz::description;
use crate::drive::ovs::openflow::message::{Body, Message, put_bundle_add};
use crate::drive::ovs::openflow::{FlowChange, FoundFlow, OpaqueFlow, SwitchPort, fuzz_messages};
use crate::model::Vni;
use crate::plan::{
    Action, EtherType, Flow, LocalInterface, Mac, Match, Port, RemoteInterface, local_flows, remote_flows,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn encoded(change: &FlowChange) -> String {
    let mut out = Vec::new();
    put_flow_mod(&mut out, 6, change);
    hex(&out)
}

fn vni() -> Vni {
    Vni::new(1).unwrap()
}

/// The bytes are those of `ovs-ofctl -O OpenFlow15` for the flow's text.
#[test]
fn flow_mods_have_the_bytes_of_ovs_ofctl() {
    let mac = Mac([6, 0x18, 0, 2, 0, 1]);
    let matches = Match {
        tun_src: Some([192, 0, 2, 9].into()),
        dl_dst: Some(mac),
        dl_type: Some(EtherType::Arp),
        arp_sha: Some(mac),
        arp_tpa: Some([10, 2, 2, 2].into()),
        ..Match::default()
    };
    let flow = Flow { table: 0, priority: 101, cookie: 0x1_0618_0002_0001, matches, actions: Vec::new() };
    let expected = "060e0060000000060001061800020001000000000000000000000000000000\
        65ffffffffffffffffffffffff000000000001002e8000060606180002000180000a02080680002e040a020202\
        8000300606180002000100013e04c00002090000";
    assert_eq!(encoded(&FlowChange::Add(flow)), expected.replace(' ', ""));
    let by_cookie = FlowChange::DeleteByCookie { cookie: 0x4b4e << 48, mask: 0xfffe << 48 };
    let expected = "060e0038000000064b4e000000000000fffe000000000000ff03000000000000\
        ffffffffffffffffffffffff000000000001000400000000";
    assert_eq!(encoded(&by_cookie), expected);
}

/// The bytes are those of a dump by Open vSwitch 3.1, with statistics.
#[test]
fn flow_descriptions_of_ovs_are_decoded() {
    let dumped = bytes(
        "00a0000000000064000000000000000000010618000200010001002a80000004000000028000080606180002000180000a02
         080080000c020000800016040a180002000000000000000000348002000800000356243d5800800202080000035600000000
         80020808000000000000000080020a0800000000000000000000000000040018000000000019001080004c08000000000000
         00010001000801000000",
    );
    let mac = Mac([6, 0x18, 0, 2, 0, 1]);
    let matches = Match {
        in_port: Some(Port(2)),
        untagged: true,
        dl_src: Some(mac),
        dl_type: Some(EtherType::Ipv4),
        nw_src: Some([10, 24, 0, 2].into()),
        ..Match::default()
    };
    let actions = vec![Action::SetTunnel(vni()), Action::GotoTable(1)];
    let flow = Flow { table: 0, priority: 100, cookie: 0x1_0618_0002_0001, matches, actions };
    assert_eq!(decode_flows(&dumped).unwrap(), [FoundFlow::Known(flow.clone())]);
    // An idle time limit of one second: the flow would vanish.
    let mut limited = dumped.clone();
    limited[9] = 1;
    let found = decode_flows(&limited).unwrap();
    let oxm = dumped[28..66].to_vec();
    assert_eq!(found, [FoundFlow::Opaque(OpaqueFlow { table: 0, priority: 100, cookie: flow.cookie, oxm })]);
    let error = decode_flows(&dumped[..159]).unwrap_err().to_string();
    assert!(error.contains("a flow description that is malformed: it ends 1 bytes early"), "{error}");
}

#[test]
fn ports_and_updates_of_ovs_are_decoded() {
    let ports = bytes(
        "0000000100480000ea93e3f04786000076746570000000000000000000000000000000000000000400000020
         00000000000000000000000000000000000000000000000000000000",
    );
    assert_eq!(decode_ports(&ports).unwrap(), [SwitchPort { number: Port(1), name: "vtep".into() }]);
    let updates = "00480003000000000000006500000000000000000000000500 01002a8000000400000002800008060618000200
        0180000a02080680000c02000080002c040a18000200000000000000080004000000070008000500000000000800060000 0000";
    let expected = [FlowUpdate::Foreign, FlowUpdate::Own, FlowUpdate::Paused, FlowUpdate::Resumed];
    assert_eq!(decode_updates(&bytes(updates)).unwrap(), expected);
}

#[test]
fn the_largest_flow_fits_a_message() {
    let change = FlowChange::Add(
        remote_flows(&RemoteInterface::new(vni(), [10, 0, 0, 2].into(), [192, 0, 2, 9].into()), Port(1))[1]
            .clone(),
    );
    let mut out = Vec::new();
    put_bundle_add(&mut out, 9, |out| put_flow_mod(out, 9, &change));
    assert_eq!(Message::length(&out).unwrap(), Some(out.len()));
    assert!(matches!(Message::decode(&out).unwrap().body, Body::Other(34)));
}

fn optional<T: std::fmt::Debug + Clone + 'static>(
    strategy: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::of(strategy).boxed()
}

/// Reserved numbers above are names of actions, such as `NORMAL`.
fn port() -> impl Strategy<Value = Port> {
    (0..0xffff_ff00_u32).prop_map(Port)
}

fn flow() -> impl Strategy<Value = Flow> {
    let mac = || any::<[u8; 6]>().prop_map(Mac);
    let address = || any::<u32>().prop_map(std::net::Ipv4Addr::from);
    let kind = proptest::sample::select(vec![EtherType::Ipv4, EtherType::Arp]);
    let link = (optional(port()), any::<bool>(), optional(any::<u32>()), optional(address()));
    let ethernet = (optional(mac()), optional(mac()), optional(kind));
    let payload = (optional(address()), optional(mac()), optional(address()), optional(address()));
    let matches = (link, ethernet, payload).prop_map(
        |(
            (in_port, untagged, tun_id, tun_src),
            (dl_src, dl_dst, dl_type),
            (nw_src, arp_sha, arp_spa, arp_tpa),
        )| Match {
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
        },
    );
    let action = prop_oneof![
        (1..=Vni::MAX).prop_map(|number| Action::SetTunnel(Vni::new(number).unwrap())),
        address().prop_map(Action::SetTunnelTo),
        port().prop_map(Action::Output),
    ];
    let next = optional(any::<u8>());
    let actions = (proptest::collection::vec(action, 0..5), next)
        .prop_map(|(actions, next)| actions.into_iter().chain(next.map(Action::GotoTable)).collect());
    (any::<u8>(), any::<u16>(), any::<u64>(), matches, actions).prop_map(
        |(table, priority, cookie, matches, actions)| Flow { table, priority, cookie, matches, actions },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn flows_round_trip(flows in proptest::collection::vec(flow(), 0..4)) {
        let bytes: Vec<u8> = flows.iter().flat_map(description).collect();
        let expected: Vec<FoundFlow> = flows.into_iter().map(FoundFlow::Known).collect();
        prop_assert_eq!(decode_flows(&bytes).unwrap(), expected);
    }
}

#[test]
fn mutated_messages_never_panic() {
    let decoded = fuzz_messages(32, 1_000_000);
    assert!(decoded > 1_000, "{decoded} are well-formed nevertheless");
    assert_eq!(fuzz_messages(5, 1_000), fuzz_messages(5, 1_000), "the seed decides");
}

#[test]
fn flows_of_interfaces_round_trip() {
    let local = local_flows(&LocalInterface::new(vni(), [10, 0, 0, 2].into()), Port(7));
    for flow in local {
        assert_eq!(decode_flows(&description(&flow)).unwrap(), [FoundFlow::Known(flow)]);
    }
}
