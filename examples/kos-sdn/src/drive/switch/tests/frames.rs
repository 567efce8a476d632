//! Generated frames: well-formed ones, and ones with tags, SNAP, fragments and wrong fields.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{TUNNELS, local, vni};
use crate::drive::Tunnel;
use crate::drive::packet::{Arp, Ethernet, Ipv4};
use crate::plan::{EtherType, Mac, Port};
use std::net::Ipv4Addr;

/// The interfaces: two local ones, and two behind the tunnel.
pub(super) const KNOWN: [u8; 4] = [2, 3, 8, 9];
const TYPE: usize = 12;
const PAYLOAD: usize = 14;

/// Ingress port, tunnel, and frame.
pub(super) type Arrival = (Port, Option<Tunnel>, Vec<u8>);

/// Underlay address of the node of a remote interface.
pub(super) fn node(low: u8) -> Ipv4Addr {
    [198, 51, 100, low].into()
}

/// Generates frames, of which most are honest in most fields.
pub(super) fn arrival() -> impl Strategy<Value = Arrival> {
    let ingress = |sender: u8| prop_oneof![4 => Just(ingress_of(sender)), 1 => any_ingress()];
    select(KNOWN.to_vec()).prop_flat_map(move |sender| {
        (ingress(sender), frame(sender)).prop_map(|((port, tunnel), frame)| (port, tunnel, frame))
    })
}

fn ingress_of(sender: u8) -> (Port, Option<Tunnel>) {
    match sender {
        8 | 9 => (TUNNELS, Some(Tunnel { vni: vni(1), node: node(sender) })),
        _ => (Port(sender.into()), None),
    }
}

fn any_ingress() -> impl Strategy<Value = (Port, Option<Tunnel>)> {
    prop_oneof![
        (2..4_u32).prop_map(|port| (Port(port), None)),
        (1..3_u32, 7..11_u8)
            .prop_map(|(number, low)| (TUNNELS, Some(Tunnel { vni: vni(number), node: node(low) }))),
    ]
}

/// Mostly the given interface's, else any other's, or nobody's.
fn mostly<T: Clone + std::fmt::Debug + 'static>(sender: u8, of: fn(u8) -> T) -> impl Strategy<Value = T> {
    prop_oneof![7 => Just(of(sender)), 1 => (2..10_u8).prop_map(of)]
}

fn mac_of(low: u8) -> Mac {
    local(low).mac
}

fn address_of(low: u8) -> Ipv4Addr {
    local(low).address
}

fn destination() -> impl Strategy<Value = Mac> {
    prop_oneof![
        6 => select(KNOWN.map(mac_of).to_vec()),
        1 => Just(Mac::BROADCAST),
        1 => any::<[u8; 6]>().prop_map(Mac),
    ]
}

fn frame(sender: u8) -> impl Strategy<Value = Vec<u8>> {
    let target = || select(KNOWN.map(address_of).to_vec());
    let arp = (any::<bool>(), mostly(sender, mac_of), mostly(sender, address_of), target()).prop_map(
        |(is_request, sender_mac, sender, target)| {
            let arp = Arp { is_request, sender_mac, sender, target_mac: Mac([0; 6]), target };
            (EtherType::Arp, arp.bytes())
        },
    );
    let data = proptest::collection::vec(any::<u8>(), 0..60);
    let packet = (mostly(sender, address_of), target(), select(vec![1_u8, 6, 17, 47]), data).prop_map(
        |(from, to, protocol, payload)| {
            let packet = Ipv4 { from, to, ttl: 9, protocol, payload: &payload };
            (EtherType::Ipv4, packet.bytes().unwrap())
        },
    );
    let known = (destination(), mostly(sender, mac_of), prop_oneof![1 => arp, 2 => packet])
        .prop_map(|(to, from, (of, payload))| Ethernet::new(to, from, of, &payload).bytes());
    (known, proptest::collection::vec(change(), 0..3)).prop_map(|(mut frame, changes)| {
        changes.into_iter().for_each(|change| change.apply(&mut frame));
        frame
    })
}

/// A change of a frame.
#[derive(Clone, Debug)]
enum FrameChange {
    Tag(u16, u16),
    Snap([u8; 8]),
    Fragment(u16),
    Head(u8),
    TotalLength(i16),
    Operation(u16),
    Byte(Index, u8),
    Truncate(Index),
    Padding(usize),
}

fn change() -> impl Strategy<Value = FrameChange> {
    let snap = prop_oneof![
        3 => Just([0xaa, 0xaa, 3, 0, 0, 0, 0, 0]),
        1 => (0..6_usize, any::<u8>()).prop_map(|(at, byte)| {
            let mut header = [0xaa, 0xaa, 3, 0, 0, 0, 0, 0];
            header[at] = byte;
            header
        }),
    ];
    prop_oneof![
        2 => (select(vec![0x8100_u16, 0x88a8]), any::<u16>()).prop_map(|(of, tci)| FrameChange::Tag(of, tci)),
        2 => snap.prop_map(FrameChange::Snap),
        2 => any::<u16>().prop_map(FrameChange::Fragment),
        2 => any::<u8>().prop_map(FrameChange::Head),
        2 => (-30..30_i16).prop_map(FrameChange::TotalLength),
        1 => any::<u16>().prop_map(FrameChange::Operation),
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| FrameChange::Byte(at, byte)),
        1 => any::<Index>().prop_map(FrameChange::Truncate),
        1 => (0..400_usize).prop_map(FrameChange::Padding),
    ]
}

impl FrameChange {
    fn apply(&self, frame: &mut Vec<u8>) {
        let mut put = |at: usize, value: &[u8]| {
            if let Some(field) = frame.get_mut(at..at + value.len()) {
                field.copy_from_slice(value);
            }
        };
        match self {
            Self::Fragment(fragment) => put(PAYLOAD + 6, &fragment.to_be_bytes()),
            Self::Head(head) => put(PAYLOAD, &[*head]),
            Self::Operation(operation) => put(PAYLOAD + 6, &operation.to_be_bytes()),
            Self::TotalLength(difference) => {
                if let Some(field) = frame.get_mut(PAYLOAD + 2..PAYLOAD + 4) {
                    let length = u16::from_be_bytes([field[0], field[1]]).wrapping_add_signed(*difference);
                    field.copy_from_slice(&length.to_be_bytes());
                }
            }
            Self::Byte(at, byte) => {
                let at = at.index(frame.len());
                frame[at] = *byte;
            }
            // Shorter ones are no frames: no interface carries them.
            Self::Truncate(at) => frame.truncate(at.index(frame.len()).max(PAYLOAD)),
            Self::Padding(length) => frame.extend(vec![0; *length]),
            Self::Tag(of, tci) => {
                let tag = [of.to_be_bytes(), tci.to_be_bytes()].concat();
                frame.splice(TYPE..TYPE, tag);
            }
            Self::Snap(header) => {
                let of = [frame[TYPE], frame[TYPE + 1]];
                let length = u16::try_from(frame.len() - PAYLOAD + 8).unwrap();
                let header = [&length.to_be_bytes()[..], &header[..6], &of].concat();
                frame.splice(TYPE..PAYLOAD, header);
            }
        }
    }
}
