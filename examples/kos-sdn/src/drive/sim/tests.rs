use std::net::Ipv4Addr;

use machinery::controllers::Progress;
use machinery::tokio;

use super::*;
use crate::drive::packet::{Arp, Echo, Ethernet, Ipv4};
use crate::drive::{Fabric as _, FabricError, FabricRepairs, Tunnel};
use crate::model::Vni;
use crate::plan::{AddressKey, EtherType, LocalInterface, Mac, RemoteInterface};

fn host(low: u8) -> Ipv4Addr {
    [192, 0, 2, low].into()
}

fn key(vni: u32, low: u8) -> AddressKey {
    AddressKey { vni: Vni::new(vni).unwrap(), address: [10, 0, 0, low].into() }
}

fn repairs(missing_flows: usize, foreign_flows: usize) -> FabricRepairs {
    FabricRepairs { missing_flows, foreign_flows, ..FabricRepairs::default() }
}

fn local(key: AddressKey) -> LocalInterface {
    LocalInterface::new(key.vni, key.address)
}

/// Two nodes with an interface each in networks 1 and 2, with equal addresses, and one more on the
/// first; all know all peers.
async fn two_nodes() -> (Underlay, [SimFabric; 2]) {
    let underlay = Underlay::new(SimLimits::default());
    let fabrics = [1, 2].map(|low| underlay.join(host(low)).unwrap());
    let there = [(1, key(1, 2)), (1, key(1, 3)), (1, key(2, 2)), (2, key(1, 9)), (2, key(2, 9))];
    for (node, fabric) in (1..).zip(&fabrics) {
        for (at, key) in there {
            if at == node {
                fabric.create_local(&local(key)).await.unwrap();
            } else {
                fabric.create_remote(&RemoteInterface::new(key.vni, key.address, host(at))).await.unwrap();
            }
        }
    }
    (underlay, fabrics)
}

fn address(low: u8) -> Ipv4Addr {
    [10, 0, 0, low].into()
}

#[tokio::test]
async fn a_ping_crosses_the_underlay() {
    let (underlay, _fabrics) = two_nodes().await;
    assert_eq!(underlay.ping(host(1), key(1, 2), address(3), 1), Ok(()), "on one node");
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 2), Ok(()), "on two");
    assert_eq!(underlay.ping(host(2), key(1, 9), address(3), 3), Ok(()));
    let nobody = Err(PingError::NoArpReply(address(7)));
    assert_eq!(underlay.ping(host(1), key(1, 2), address(7), 4), nobody);
    let missing = underlay.ping(host(2), key(1, 2), address(9), 5);
    assert_eq!(missing.unwrap_err().to_string(), "there is no interface 10.0.0.2 of network 1 on 192.0.2.2");
}

#[tokio::test]
async fn networks_are_isolated() {
    let (underlay, _fabrics) = two_nodes().await;
    assert_eq!(underlay.ping(host(1), key(2, 2), address(9), 1), Ok(()));
    assert_eq!(underlay.ping(host(1), key(2, 2), address(3), 2), Err(PingError::NoArpReply(address(3))));
    let is_request = Guest::of(&local(key(2, 2))).arp_request(address(9));
    let response = underlay.send(host(1), key(2, 2), is_request).unwrap();
    assert!(response.iter().all(|one| one.to.vni.number() == 2) && response.len() == 2, "{response:?}");
    // Even with the MAC address of the other.
    let other = local(key(1, 3)).mac;
    let frame = echo(local(key(2, 2)).mac, address(2), other, address(3));
    assert_eq!(underlay.send(host(1), key(2, 2), frame), Ok(vec![]));
}

/// An ICMP echo request with arbitrary source addresses.
fn echo(from_mac: Mac, from: Ipv4Addr, to_mac: Mac, to: Ipv4Addr) -> Vec<u8> {
    let echo = Echo { is_request: true, id: 1, sequence: 1, data: &[] }.bytes();
    let packet = Ipv4 { from, to, ttl: 64, protocol: Ipv4::ICMP, payload: &echo }.bytes().unwrap();
    Ethernet::new(to_mac, from_mac, EtherType::Ipv4, &packet).bytes()
}

fn arp(frame_mac: Mac, sender_mac: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let arp = Arp { is_request: true, sender_mac, sender, target_mac: Mac([0; 6]), target };
    Ethernet::new(Mac::BROADCAST, frame_mac, EtherType::Arp, &arp.bytes()).bytes()
}

#[tokio::test]
async fn spoofed_frames_are_dropped() {
    let (underlay, _fabrics) = two_nodes().await;
    let [mine, victim, other] = [2, 3, 9].map(|low| local(key(1, low)).mac);
    let deliveries = |frame: Vec<u8>| underlay.send(host(1), key(1, 2), frame).unwrap().len();
    assert_eq!(deliveries(echo(mine, address(2), other, address(9))), 2, "the request and the echo");
    assert_eq!(deliveries(echo(victim, address(2), other, address(9))), 0, "another's MAC address");
    assert_eq!(deliveries(echo(mine, address(3), other, address(9))), 0, "another's address");
    assert_eq!(deliveries(arp(mine, mine, address(2), address(9))), 2);
    assert_eq!(deliveries(arp(victim, mine, address(2), address(9))), 0);
    assert_eq!(
        deliveries(arp(mine, victim, address(2), address(9))),
        0,
        "own address with another's MAC address"
    );
    assert_eq!(
        deliveries(arp(mine, mine, address(3), address(9))),
        0,
        "own MAC address with another's address"
    );

    let arrives = |node: Ipv4Addr, vni: u32, frame: Vec<u8>| {
        let tunnel = Tunnel { vni: Vni::new(vni).unwrap(), node };
        underlay.deliver(host(2), tunnel, frame).unwrap().len()
    };
    let honest = || echo(mine, address(2), other, address(9));
    assert_eq!(arrives(host(1), 1, honest()), 2);
    assert_eq!(arrives(host(3), 1, honest()), 0, "from a node without the interface");
    assert_eq!(arrives(host(1), 2, honest()), 0, "in another network");
    assert_eq!(
        arrives(host(1), 1, echo(other, address(9), other, address(9))),
        0,
        "with the addresses of the receiver"
    );
}

#[tokio::test]
async fn broadcast_is_limited_to_arp_for_the_target() {
    let (underlay, _fabrics) = two_nodes().await;
    let mine = local(key(1, 2)).mac;
    let all = echo(mine, address(2), Mac::BROADCAST, Ipv4Addr::BROADCAST);
    assert_eq!(underlay.send(host(1), key(1, 2), all), Ok(vec![]));
    let ipv6 =
        Ethernet { to: Mac([0x33, 0x33, 0, 0, 0, 1]), from: mine, number: 0x86dd, payload: &[0; 40] }.bytes();
    assert_eq!(underlay.send(host(1), key(1, 2), ipv6), Ok(vec![]));
    let response =
        underlay.send(host(1), key(1, 2), Guest::of(&local(key(1, 2))).arp_request(address(9))).unwrap();
    let guest_key: Vec<_> = response.iter().map(|one| (one.node, one.to)).collect();
    assert_eq!(
        guest_key,
        [(host(2), key(1, 9)), (host(1), key(1, 2))],
        "the holder of the address, and the sender"
    );
}

/// In the original, all tenants of a node shared one network after such a restart.
#[tokio::test]
async fn a_switch_without_flows_forwards_nothing() {
    let (underlay, fabrics) = two_nodes().await;
    underlay.restart_switch(host(1)).unwrap();
    for low in [3, 9] {
        assert_eq!(
            underlay.ping(host(1), key(1, 2), address(low), 1),
            Err(PingError::NoArpReply(address(low)))
        );
    }
    let listed = fabrics[0].list().await.unwrap();
    assert_eq!((listed.locals.len(), listed.remotes.len()), (3, 2), "interfaces are still there");
    assert_eq!(fabrics[0].repair(&Progress::default()).await, Ok(repairs(5 * 4 + 2, 0)));
    assert_eq!(fabrics[0].repair(&Progress::default()).await, Ok(FabricRepairs::default()));
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 2), Ok(()));
}

/// Flows are the only way for frames: without any one flow of two interfaces, a ping in one
/// direction fails.
#[tokio::test]
async fn a_ping_stops_with_any_flow_that_is_deleted() {
    let (underlay, fabrics) = two_nodes().await;
    let (here, there) = (key(1, 2), key(1, 9));
    let pings = || {
        let ping = |at: u8, from: AddressKey, to: AddressKey| {
            for (low, key) in [(1, here), (2, there)] {
                let clear_arp_cache = |node: &mut super::node::SimNode| {
                    let port = node.port(&key).unwrap();
                    node.guest(port).unwrap().1.clear_arp_cache();
                };
                underlay.with(host(low), clear_arp_cache).unwrap();
            }
            underlay.ping(host(at), from, to.address, 1)
        };
        ping(1, here, there).and(ping(2, there, here))
    };
    assert_eq!(pings(), Ok(()));
    let of_these = |flow: &crate::plan::Flow| {
        [here, there].iter().any(|key| flow.cookie & ((1 << 48) - 1) == local(*key).mac.number())
    };
    let mut deleted = 0;
    for (at, fabric) in (1..).zip(&fabrics) {
        let flows = underlay.with(host(at), |node| node.switch.flows()).unwrap();
        for flow in flows.iter().filter(|flow| of_these(flow)) {
            underlay.with(host(at), |node| node.switch.remove(flow)).unwrap();
            assert!(pings().is_err(), "without {flow} on {at}");
            assert_eq!(fabric.repair(&Progress::default()).await, Ok(repairs(1, 0)));
            assert_eq!(pings(), Ok(()), "with {flow} again");
            deleted += 1;
        }
    }
    assert_eq!(deleted, 16);
}

#[tokio::test]
async fn undesired_flows_are_removed() {
    let (underlay, fabrics) = two_nodes().await;
    let stray = crate::plan::local_flows(&local(key(1, 77)), crate::plan::Port(2));
    underlay.with(host(1), |node| stray.into_iter().for_each(|flow| node.switch.add(flow))).unwrap();
    assert_eq!(fabrics[0].repair(&Progress::default()).await, Ok(repairs(0, 4)));
    assert_eq!(fabrics[0].repair(&Progress::default()).await, Ok(FabricRepairs::default()));
}

#[tokio::test]
async fn deleted_interfaces_are_unreachable_until_recreated() {
    let (underlay, fabrics) = two_nodes().await;
    let nine = RemoteInterface::new(key(1, 9).vni, address(9), host(2));
    fabrics[0].delete_remote(&nine).await.unwrap();
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 1), Err(PingError::NoArpReply(address(9))));
    fabrics[0].create_remote(&nine).await.unwrap();
    fabrics[1].delete_local(&local(key(1, 9))).await.unwrap();
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 2), Err(PingError::NoArpReply(address(9))));
    fabrics[1].create_local(&local(key(1, 9))).await.unwrap();
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 3), Ok(()));
}

#[tokio::test]
async fn restarted_fabric_lists_its_interfaces() {
    let (underlay, fabrics) = two_nodes().await;
    let before = fabrics[0].list().await.unwrap();
    drop(fabrics);
    let again = underlay.join(host(1)).unwrap();
    assert_eq!(again.list().await, Ok(before));
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 1), Ok(()), "without interruption");
}

#[tokio::test]
async fn disconnected_node_exchanges_no_frames() {
    let (underlay, _fabrics) = two_nodes().await;
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 1), Ok(()));
    underlay.disconnect(host(2), true).unwrap();
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 2), Err(PingError::NoEchoReply(address(9))));
    underlay.disconnect(host(2), false).unwrap();
    underlay.disconnect(host(1), true).unwrap();
    assert_eq!(underlay.ping(host(1), key(1, 2), address(9), 3), Err(PingError::NoEchoReply(address(9))));
    assert_eq!(
        underlay.ping(host(1), key(1, 2), address(3), 4),
        Ok(()),
        "local frames do not use the underlay"
    );
}

#[tokio::test]
async fn simulation_limits_are_enforced() {
    let underlay = Underlay::new(SimLimits { nodes: 1, interfaces: 2, steps: 1 });
    let fabric = underlay.join(host(1)).unwrap();
    underlay.join(host(1)).unwrap();
    assert!(matches!(underlay.join(host(2)), Err(FabricError::Failed { .. })));
    for low in [2, 3] {
        fabric.create_local(&local(key(1, low))).await.unwrap();
    }
    assert_eq!(fabric.create_local(&local(key(1, 4))).await, Err(FabricError::Full { limit: 2 }));
    let storm = underlay.ping(host(1), key(1, 2), address(3), 1);
    assert_eq!(
        storm,
        Err(PingError::SendError(SendError::Storm { limit: 1 })),
        "request and reply are a step each"
    );
}

#[test]
fn arp_cache_is_bounded() {
    let mut guest = Guest::of(&local(key(1, 2)));
    for number in 0..5000_u32 {
        let sender = Ipv4Addr::from(0x0a01_0000 + number);
        let answers = guest.receive(&arp(Mac([2; 6]), Mac([2; 6]), sender, address(2))).answer.is_some();
        assert!(answers, "{sender}");
    }
    let knows = (0..5000_u32).filter(|number| {
        guest.echo_request(Ipv4Addr::from(0x0a01_0000 + number), 1, 1, &[]).unwrap().is_some()
    });
    assert_eq!(knows.count(), 1024);
    guest.clear_arp_cache();
    assert_eq!(guest.echo_request(Ipv4Addr::from(0x0a01_0000 + 4999), 1, 1, &[]), Ok(None));
}

/// Two parts of a network behave as in two processes.
#[machinery::tokio::test(flavor = "multi_thread", worker_threads = 2, crate = "machinery::tokio")]
async fn frames_go_between_processes_over_udp() {
    let hosts = [2, 3].map(|low| Ipv4Addr::new(127, 0, 99, low));
    let first = Wire::bind(hosts[0], 0).await.unwrap();
    let port = first.port().unwrap();
    let wires = [first, Wire::bind(hosts[1], port).await.unwrap()];
    let stopping = machinery::tokio_util::sync::CancellationToken::new();
    let tasks = machinery::tokio_util::task::TaskTracker::new();
    let vni = Vni::new(17).unwrap();
    let guests = [2, 3].map(|low| Ipv4Addr::new(10, 1, 0, low));
    let mut fabrics = Vec::new();
    for (here, there) in [(0, 1), (1, 0)] {
        tasks.spawn(wires[here].clone().run(stopping.clone()));
        let fabric = wires[here].fabric().unwrap();
        fabric.create_local(&LocalInterface::new(vni, guests[here])).await.unwrap();
        fabric.create_remote(&RemoteInterface::new(vni, guests[there], hosts[there])).await.unwrap();
        fabrics.push(fabric);
    }
    let from = AddressKey { vni, address: guests[0] };
    for sequence in 1..=3 {
        fabrics[0].ping(from, guests[1], sequence).await.unwrap();
    }
    // Frames from an unknown remote are dropped: the other end has deleted the way back.
    fabrics[1].delete_remote(&RemoteInterface::new(vni, guests[0], hosts[0])).await.unwrap();
    let error = fabrics[0].ping(from, guests[1], 4).await.unwrap_err().to_string();
    assert!(error.contains("does not answer") || error.contains("no ARP reply"), "{error}");
    // Malformed datagrams are ignored.
    let stranger = std::net::UdpSocket::bind("127.0.99.4:0").unwrap();
    for bytes in [&[][..], &[8, 0, 0], &[8, 0, 0, 0, 0, 0, 17, 0, 1, 2, 3], &[0xff; 1400]] {
        stranger.send_to(bytes, (hosts[1], port)).unwrap();
    }
    fabrics[1].create_remote(&RemoteInterface::new(vni, guests[0], hosts[0])).await.unwrap();
    fabrics[0].ping(from, guests[1], 5).await.unwrap();
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
}
