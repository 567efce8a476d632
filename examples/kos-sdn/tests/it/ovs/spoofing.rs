//! Forged senders, from workloads and from the underlay.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use kos::drive::packet::{Arp, Echo, Ethernet, Ipv4};
use kos::plan::{EtherType, Mac};

use super::capture::vxlan_frame;
use super::cloud::Cloud;
use super::probe::{FrameKind, Mark, PacketSocket, Station};
use super::requirements::can_run;

/// A frame with a description.
/// Makes the frame with a number.
type FrameOf<'a> = Box<dyn Fn(u32) -> Vec<u8> + 'a>;

struct Attempt {
    what: &'static str,
    frame: Vec<u8>,
    is_permitted: bool,
}

/// The attachments of an attempt: sender, receiver, and a third of the same network.
struct Parties {
    own: Station,
    to: Station,
    third: Station,
    foreign: Station,
}

fn parties(cloud: &Cloud, [own, to, third, foreign]: [&str; 4]) -> Parties {
    let [own, to, third, foreign] = [own, to, third, foreign].map(|name| cloud.station(name));
    Parties { own, to, third, foreign }
}

impl Parties {
    fn mark(&self, number: u32) -> Vec<u8> {
        let (vni, to_vni, to) = (self.own.vni, self.to.vni, self.to.address);
        Mark { kind: FrameKind::Unicast, sender: 0, vni, to_vni, to, number }.bytes()
    }

    fn packet(&self, number: u32, mac: Mac, address: Ipv4Addr) -> Vec<u8> {
        let data = self.mark(number);
        let echo = Echo { is_request: false, id: 0, sequence: 0, data: &data }.bytes();
        let packet =
            Ipv4 { from: address, to: self.to.address, ttl: 64, protocol: Ipv4::ICMP, payload: &echo };
        Ethernet::new(self.to.mac(), mac, EtherType::Ipv4, &packet.bytes().unwrap()).bytes()
    }

    fn arp(&self, number: u32, mac: Mac, sender_mac: Mac, sender: Ipv4Addr, is_request: bool) -> Vec<u8> {
        let target_mac = if is_request { Mac([0; 6]) } else { self.to.mac() };
        let arp = Arp { is_request, sender_mac, sender, target_mac, target: self.to.address };
        let to = if is_request { Mac([0xff; 6]) } else { self.to.mac() };
        let payload = [&arp.bytes()[..], &self.mark(number)].concat();
        Ethernet::new(to, mac, EtherType::Arp, &payload).bytes()
    }

    /// Returns forged frames, each with the honest frame that has the same payload.
    fn attempts(&self) -> Vec<Attempt> {
        let (mac, address) = (self.own.mac(), self.own.address);
        let (other, other_address) = (self.third.mac(), self.third.address);
        let frames: Vec<(&str, FrameOf<'_>, bool)> = vec![
            ("a forged MAC", Box::new(|n| self.packet(n, other, address)), false),
            ("a forged address", Box::new(|n| self.packet(n, mac, other_address)), false),
            ("a forged MAC and address", Box::new(|n| self.packet(n, other, other_address)), false),
            ("the MAC of another network", Box::new(|n| self.packet(n, self.foreign.mac(), address)), false),
            ("a forged MAC in ARP", Box::new(|n| self.arp(n, mac, other, address, true)), false),
            ("a forged sender in ARP", Box::new(|n| self.arp(n, mac, mac, other_address, true)), false),
            ("a forged source of ARP", Box::new(|n| self.arp(n, other, mac, address, true)), false),
            ("a forged ARP reply", Box::new(|n| self.arp(n, mac, mac, other_address, false)), false),
            (
                "a gratuitous forged reply",
                Box::new(|n| self.arp(n, other, other, other_address, false)),
                false,
            ),
            ("a VLAN tag", Box::new(|n| tagged(&self.packet(n, mac, address))), false),
            ("an honest ARP request", Box::new(|n| self.arp(n, mac, mac, address, true)), true),
            ("an honest ARP reply", Box::new(|n| self.arp(n, mac, mac, address, false)), true),
            // The last: those before it have arrived when it has.
            ("an honest packet", Box::new(|n| self.packet(n, mac, address)), true),
        ];
        let numbered = (0..).zip(frames);
        numbered
            .map(|(n, (what, frame, is_permitted))| Attempt { what, frame: frame(n), is_permitted })
            .collect()
    }
}

fn tagged(frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat()
}

/// Sends frames, and checks that exactly the permitted ones arrive.
fn check(sends: &PacketSocket, at: &Station, attempts: &[Attempt]) {
    let receiver = PacketSocket::open(&at.namespace, at.mac()).unwrap();
    for attempt in attempts {
        assert!(sends.send(&attempt.frame), "{}", attempt.what);
    }
    let mut arrived = vec![false; attempts.len()];
    let (started, mut all_since) = (Instant::now(), None);
    let mut buffer = [0; 2048];
    while all_since.is_none_or(|since: Instant| since.elapsed() < Duration::from_millis(300)) {
        receiver.wait(20);
        while let Some(frame) = receiver.receive(&mut buffer).unwrap() {
            if let Some(mark) = Mark::find(frame).filter(|mark| mark.sender == 0) {
                arrived[usize::try_from(mark.number).unwrap()] = true;
            }
        }
        if attempts.iter().zip(&arrived).all(|(attempt, arrived)| *arrived || !attempt.is_permitted) {
            all_since.get_or_insert_with(Instant::now);
        }
        if started.elapsed() > Duration::from_secs(20) {
            break;
        }
    }
    for (attempt, arrived) in attempts.iter().zip(arrived) {
        assert_eq!(arrived, attempt.is_permitted, "{} to {at:?}", attempt.what);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_senders_are_dropped() {
    let Some(_turn) = can_run("forged_senders_are_dropped") else { return };
    let cloud = Cloud::with_attachments().await;
    for names in [["r4", "r1", "r2", "b1"], ["r2", "r1", "r3", "b2"], ["b3", "b1", "b2", "r3"]] {
        let parties = parties(&cloud, names);
        let socket = PacketSocket::open(&parties.own.namespace, parties.own.mac()).unwrap();
        check(&socket, &parties.to, &parties.attempts());
    }
    forged_tunnels(&cloud);
    cloud.probe.assert_isolated("during attempts with forged senders");
    cloud.stop().await;
}

/// VXLAN packets from the underlay itself to host 1.
fn forged_tunnels(cloud: &Cloud) {
    let socket = PacketSocket::open_named(cloud.hosts.underlay.name(), "fabric").unwrap();
    let remote = parties(cloud, ["r2", "r1", "r3", "b2"]);
    let local = parties(cloud, ["r4", "r1", "r3", "b2"]);
    let address = |host: u8| Ipv4Addr::new(192, 0, 2, host);
    let underlay = Ethernet::new(cloud.host(1).mac(), Mac([2, 0, 0, 0, 0, 9]), EtherType::Ipv4, &[]);
    let frames = [
        ("a host that does not hold the address", 3, 71, &remote, false),
        ("an unknown host", 77, 71, &remote, false),
        ("another network", 2, 72, &remote, false),
        ("an unknown network", 2, 74, &remote, false),
        ("no network", 2, 0, &remote, false),
        ("the sender of this host", 2, 71, &local, false),
        ("this host itself", 1, 71, &remote, false),
        ("an honest host", 2, 71, &remote, true),
    ];
    let attempts: Vec<_> = (0..)
        .zip(frames)
        .map(|(number, (what, host, vni, parties, is_permitted))| {
            let inner = parties.packet(number, parties.own.mac(), parties.own.address);
            let frame = vxlan_frame(&underlay, (address(host), address(1)), vni, &inner);
            Attempt { what, frame, is_permitted }
        })
        .collect();
    check(&socket, &remote.to, &attempts);
}
