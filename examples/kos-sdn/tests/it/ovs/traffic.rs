//! Traffic of two networks with equal addresses on three hosts.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use kos::drive::packet::Ethernet;
use kos::model::Vni;
use kos::plan::Mac;
use tokio_util::task::TaskTracker;

use super::capture::{Capture, UnderlayFrame};
use super::cloud::{Cloud, DEADLINE, NETWORKS};
use super::command::try_run;
use super::equality::ping;
use super::namespace::inside;
use super::probe::Station;
use super::requirements::can_run;

const PORT: u16 = 7;
const BYTES: usize = 300_000;

/// Returns the stations of all attachments.
async fn stations(cloud: &Cloud) -> Vec<Station> {
    let names: Vec<_> = cloud.all().await.iter().map(|it| it.metadata.name.clone().unwrap()).collect();
    names.iter().map(|name| cloud.station(name)).collect()
}

/// Serves connections: each gets the name of the server after its bytes.
fn serve(station: &Station, connections: usize) -> impl FnOnce() + use<> {
    let listener =
        inside(&station.namespace, || TcpListener::bind((station.address, PORT)).unwrap()).unwrap();
    let name = station.namespace.clone();
    move || {
        for connection in listener.incoming().take(connections) {
            let mut connection = connection.unwrap();
            let mut received = Vec::new();
            connection.read_to_end(&mut received).unwrap();
            assert_eq!(received.len(), BYTES);
            connection.write_all(name.as_bytes()).unwrap();
        }
    }
}

/// Sends bytes to an address, and returns the name of the server.
fn connect(from: &Station, to: Ipv4Addr, limit: Duration) -> std::io::Result<String> {
    let connected =
        inside(&from.namespace, || TcpStream::connect_timeout(&(to, PORT).into(), limit)).unwrap();
    let mut connection = connected?;
    connection.set_read_timeout(Some(DEADLINE))?;
    connection.write_all(&vec![7; BYTES])?;
    connection.shutdown(Shutdown::Write)?;
    let mut name = String::new();
    connection.read_to_string(&mut name)?;
    Ok(name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_with_equal_addresses_are_separate() {
    let Some(_turn) = can_run("networks_with_equal_addresses_are_separate") else { return };
    let mut cloud = Cloud::start(3).await;
    let (underlay, folder) = (cloud.hosts.underlay.name(), cloud.hosts.folder.path());
    let capture = Capture::start(underlay, "fabric", folder);
    // Pings of all pairs are part of this.
    cloud.create_attachments().await;
    let all = stations(&cloud).await;
    tcp_reaches_the_own_network(&all).await;
    addresses_of_others_are_unreachable(&all);
    cloud.probe.wait_for_all_broadcasts(DEADLINE);
    largest_packets_pass(&cloud);
    cloud.probe.assert_isolated("during traffic");
    cloud.probe.assert_steady(Duration::from_secs(2));
    let frames = capture.stop();
    let (arps, packets) = check_underlay(&frames, &all);
    let (sent, arrived) = cloud.probe.counts();
    println!(
        "the underlay had {arps} ARP frames and {packets} VXLAN packets; {sent} frames sent, {arrived} arrived"
    );
    assert!(arps > 0 && packets > 100, "{arps} {packets}");
    cloud.stop().await;
}

async fn tcp_reaches_the_own_network(all: &[Station]) {
    let tasks = TaskTracker::new();
    for server in all {
        let clients = all.iter().filter(|it| it.vni == server.vni && *it != server).count();
        tasks.spawn_blocking(serve(server, clients));
    }
    for server in all {
        for client in all.iter().filter(|it| it.vni == server.vni && *it != server) {
            let name = connect(client, server.address, Duration::from_secs(20)).unwrap();
            assert_eq!(name, server.namespace, "{client:?} reached another network");
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// One network has an address more than the other.
fn addresses_of_others_are_unreachable(all: &[Station]) {
    let mut pairs = 0;
    for server in all {
        for client in all.iter().filter(|it| it.vni != server.vni) {
            if all.iter().any(|it| it.vni == client.vni && it.address == server.address) {
                continue;
            }
            pairs += 1;
            let listener =
                inside(&server.namespace, || TcpListener::bind((server.address, PORT)).unwrap()).unwrap();
            assert!(connect(client, server.address, Duration::from_millis(500)).is_err());
            let is_answered = ping(&client.namespace, server.address).status().unwrap().success();
            assert!(!is_answered, "{client:?} gets a reply from {server:?}");
            drop(listener);
        }
    }
    assert!(pairs > 0);
}

/// A packet of the interface's MTU passes, and the sender refuses a larger one.
fn largest_packets_pass(cloud: &Cloud) {
    let (from, to) = (cloud.workload("r1"), cloud.station("r2").address.to_string());
    let ping = |size: &str| {
        try_run(&["ip", "netns", "exec", &from, "ping", "-n", "-M", "do", "-c1", "-W5", "-s", size, &to])
    };
    ping("1422").unwrap();
    let refused = ping("1423").unwrap_err();
    assert!(refused.contains("essage too long, mtu=1450"), "{refused}");
}

/// Checks that each frame is ARP of hosts, or VXLAN whose VNI is that of its frame.
fn check_underlay(frames: &[UnderlayFrame], all: &[Station]) -> (usize, usize) {
    let is_host = |address: &Ipv4Addr| address.octets()[..3] == [192, 0, 2];
    let (mut arps, mut packets) = (0, 0);
    for frame in frames {
        match frame {
            UnderlayFrame::Arp { sender, target } => {
                assert!(is_host(sender) && is_host(target), "ARP of a tenant: {frame:?}");
                arps += 1;
            }
            UnderlayFrame::Vxlan { vni, from, to, inner } => {
                assert!(is_host(from) && is_host(to), "{frame:?}");
                assert!(NETWORKS.iter().any(|(_, network)| network == vni), "{frame:?}");
                let inner = Ethernet::read(inner).unwrap();
                let of: Vec<_> = all.iter().filter(|it| it.vni == *vni).map(Station::mac).collect();
                assert!(of.contains(&inner.from), "the sender is not of network {vni}: {frame:?}");
                assert!(of.contains(&inner.to) || inner.to == Mac([0xff; 6]), "{frame:?}");
                packets += 1;
            }
            UnderlayFrame::Other(_) => panic!("neither ARP nor VXLAN: {frame:?}"),
        }
    }
    // Both networks were on the wire.
    for (_, network) in NETWORKS {
        let of = Vni::new(network).unwrap().number();
        assert!(frames.iter().any(|frame| matches!(frame, UnderlayFrame::Vxlan { vni, .. } if *vni == of)));
    }
    (arps, packets)
}
