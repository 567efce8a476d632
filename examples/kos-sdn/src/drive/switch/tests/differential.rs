//! [`Switch`] and Open vSwitch decide alike.

use std::time::Duration;

use machinery::tokio::time::Instant;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::frames::{Arrival, arrival, node};
use super::*;
use crate::drive::ovs::openflow::tests::real_switch::{HOST, RealSwitch};
use crate::drive::ovs::openflow::{FlowChange, FlowSwitch, OpenFlowClient, OpenFlowSettings};
use crate::drive::packet::Ipv4;
use crate::drive::sim::vxlan::{unwrapped, wrapped};

const TRACED: usize = 5_000;
const SENT: usize = 400;
const DEADLINE: Duration = Duration::from_secs(20);
/// Length of the headers around a VXLAN payload.
const OUTER: usize = 14 + 20 + 8;

/// Starts Open vSwitch with the flows of the oracle.
async fn start(test: &str) -> Option<RealSwitch> {
    let switch = RealSwitch::start(test)?;
    let stopping = CancellationToken::new();
    let (socket, settings) = (switch.path("kos.mgmt"), OpenFlowSettings::default());
    let client = OpenFlowClient::start(socket, settings, &TaskTracker::new(), stopping.clone());
    client.status().wait_for(|status| status.is_connected).await.unwrap();
    client.apply(super::switch().flows().into_iter().map(FlowChange::Add).collect()).await.unwrap();
    stopping.cancel();
    // Otherwise a trace stops where it would resolve the MAC of the node.
    for low in 7..11 {
        let mac = format!("02:00:00:00:00:{low:02x}");
        switch.appctl("tnl/neigh/set", &["underlay", &node(low).to_string(), &mac]);
    }
    Some(switch)
}

/// Generates arrivals, the same in each run.
fn arrivals(number: usize) -> Vec<Arrival> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[32; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..number).map(|_| arrival().new_tree(&mut runner).unwrap().current()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the outputs in the text of `ofproto/trace`.
fn traced_outputs(trace: &str, tunnel: Option<Tunnel>) -> Vec<OutgoingFrame> {
    let (mut vni, mut node) = (tunnel.map(|tunnel| tunnel.vni), None);
    let mut outputs = Vec::new();
    for line in trace.lines().map(str::trim) {
        if let Some(number) = line.strip_prefix("set_field:0x").and_then(|line| line.strip_suffix("->tun_id"))
        {
            vni = Some(Vni::new(u32::from_str_radix(number, 16).unwrap()).unwrap());
        } else if let Some(address) =
            line.strip_prefix("set_field:").and_then(|line| line.strip_suffix("->tun_dst"))
        {
            node = Some(address.parse().unwrap());
        } else if let Some(port) = line.strip_prefix("output:") {
            let port = Port(port.parse().unwrap());
            let tunnel = (port == TUNNELS).then(|| Tunnel { vni: vni.unwrap(), node: node.unwrap() });
            outputs.push(OutgoingFrame { port, tunnel });
        } else if line.starts_with(">> skipping output to input port") {
            outputs.pop();
        } else {
            assert!(!line.contains("tunnel routing failed"), "{trace}");
        }
    }
    let is_dropped = trace.contains("Datapath actions: drop");
    assert_eq!(is_dropped, outputs.is_empty(), "{trace}");
    outputs
}

#[tokio::test]
async fn switch_and_open_vswitch_decide_alike() {
    let Some(ovs) = start("switch_and_open_vswitch_decide_alike").await else { return };
    let switch = super::switch();
    let (mut forwarded, mut from_tunnel, mut snap, mut fragments) = (0, 0, 0, 0);
    for (port, tunnel, frame) in arrivals(TRACED) {
        let flow = match tunnel {
            None => format!("in_port={port}"),
            Some(Tunnel { vni, node }) => {
                let host = Ipv4Addr::from(HOST);
                format!("in_port={port},tun_id={vni},tun_src={node},tun_dst={host}")
            }
        };
        let trace = ovs.appctl("ofproto/trace", &["kos", &flow, &hex(&frame)]);
        let outputs = switch.forward(&IncomingFrame { port, tunnel, frame: &frame });
        assert_eq!(outputs, traced_outputs(&trace, tunnel), "{flow} {}: {trace}", hex(&frame));
        if !outputs.is_empty() {
            forwarded += 1;
            from_tunnel += usize::from(tunnel.is_some());
            snap += usize::from(frame[12] < 6);
            fragments += usize::from(frame[12..14] == [8, 0] && frame[20..22] != [0x40, 0]);
            assert!(frame[12..14] != [0x81, 0] && frame[12..14] != [0x88, 0xa8], "no tagged frame passes");
        }
    }
    assert!(forwarded > TRACED / 10 && forwarded < TRACED * 9 / 10, "{forwarded} are forwarded");
    for (kind, number) in [("from the tunnel", from_tunnel), ("with SNAP", snap), ("fragments", fragments)] {
        assert!(number > TRACED / 100, "{number} frames {kind} are forwarded");
    }
}

/// Wraps a frame as the underlay carries it. Without UDP checksum, as a wrong one would be dropped.
fn underlay_frame(tunnel: Tunnel, to: Mac, frame: &[u8]) -> Vec<u8> {
    let payload = wrapped(tunnel.vni, frame);
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    let datagram = [&[0xc0, 0, 0x12, 0xb5][..], &length, &[0, 0], &payload].concat();
    let packet = Ipv4 { from: tunnel.node, to: HOST.into(), ttl: 64, protocol: 17, payload: &datagram };
    Ethernet::new(to, Mac([2, 0, 0, 0, 0, 1]), EtherType::Ipv4, &packet.bytes().unwrap()).bytes()
}

/// Returns the frames that the switch has sent, with their ports and tunnels.
fn sent_frames(ovs: &RealSwitch) -> Vec<(OutgoingFrame, Vec<u8>)> {
    let local = |(port, name): (u32, &str)| {
        let outgoing = OutgoingFrame { port: Port(port), tunnel: None };
        ovs.sent_frames(name).into_iter().map(move |frame| (outgoing, frame)).collect::<Vec<_>>()
    };
    let tunnelled = ovs.sent_frames("u0").into_iter().filter_map(|frame| {
        let node = Ipv4Addr::from(<[u8; 4]>::try_from(frame.get(30..34)?).ok()?);
        let (vni, inner) = unwrapped(frame.get(OUTER..)?)?;
        Some((OutgoingFrame { port: TUNNELS, tunnel: Some(Tunnel { vni, node }) }, inner.to_vec()))
    });
    [(2, "p2"), (3, "p3")].into_iter().flat_map(local).chain(tunnelled).collect()
}

#[tokio::test]
async fn packets_are_forwarded_as_the_switch_decides() {
    let Some(ovs) = start("packets_are_forwarded_as_the_switch_decides").await else { return };
    let switch = super::switch();
    let mac = ovs.vsctl(&["get", "interface", "underlay", "mac_in_use"]);
    let mac: Mac = mac.trim().trim_matches('"').parse().unwrap();
    let send = |(port, tunnel, frame): &Arrival| {
        let (name, bytes) = match tunnel {
            None => (format!("p{port}"), frame.clone()),
            Some(tunnel) => ("u0".into(), underlay_frame(*tunnel, mac, frame)),
        };
        ovs.appctl("netdev-dummy/receive", &[&name, &hex(&bytes)]);
    };
    let mut expected = Vec::new();
    let sort = |mut frames: Vec<(OutgoingFrame, Vec<u8>)>| {
        frames.sort_by_key(|(outgoing, frame)| (outgoing.port, frame.clone()));
        frames
    };
    for (number, arrival) in arrivals(SENT).into_iter().enumerate() {
        let (port, tunnel, frame) = &arrival;
        let outputs = switch.forward(&IncomingFrame { port: *port, tunnel: *tunnel, frame });
        expected.extend(outputs.into_iter().map(|outgoing| (outgoing, frame.clone())));
        send(&arrival);
        // The queue of a port is short.
        if number % 32 == 31 || number + 1 == SENT {
            let started = Instant::now();
            while sent_frames(&ovs).len() < expected.len() && started.elapsed() < DEADLINE {
                machinery::tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    // Frames that should be dropped have had the time of the last honest ones.
    assert!(expected.len() > SENT / 10, "{} are forwarded", expected.len());
    assert_eq!(sort(sent_frames(&ovs)), sort(expected));
}
