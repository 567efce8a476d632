use proptest::prelude::*;

use super::*;
use crate::plan::EtherType;

#[test]
fn packet_header_matches_known_bytes() {
    // The checksum example of RFC 1071, and a well-known header.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    let head = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];
    let payload = [0; 0x73 - 20];
    let packet = Ipv4 {
        from: [192, 168, 0, 1].into(),
        to: [192, 168, 0, 199].into(),
        ttl: 64,
        protocol: 17,
        payload: &payload,
    };
    let bytes = packet.bytes().unwrap();
    assert_eq!(bytes[..20], head);
    assert_eq!(Ipv4::read(&bytes), Ok(packet));
}

#[test]
fn malformed_packets_are_rejected_with_the_reason() {
    let packet =
        Ipv4 { from: [10, 0, 0, 2].into(), to: [10, 0, 0, 3].into(), ttl: 1, protocol: 1, payload: b"abcd" };
    let good = packet.bytes().unwrap();
    let check = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let error = Ipv4::read(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&|bytes| bytes.truncate(19), "a packet has 19 bytes and needs 20");
    check(&|bytes| bytes[0] = 0x65, "version");
    check(&|bytes| bytes[0] = 0x44, "head is too short");
    check(&|bytes| bytes.truncate(22), "length");
    check(&|bytes| bytes[3] = 19, "length");
    check(&|bytes| bytes[15] ^= 1, "checksum");
    let fragment = |bytes: &mut Vec<u8>| {
        bytes[6] = 0x20;
        bytes[10..12].fill(0);
        let sum = checksum(&bytes[..20]).to_be_bytes();
        bytes[10..12].copy_from_slice(&sum);
    };
    check(&fragment, "fragment");
    let long = vec![0; 65_516];
    assert!(Ipv4 { payload: &long, ..packet }.bytes().is_err());
}

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

proptest! {
    #[test]
    fn packets_round_trip(
        macs in (mac(), mac()), addresses in (address(), address()), is_request: bool, ids: (u16, u16), ttl: u8,
        data in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let arp = Arp { is_request, sender_mac: macs.0, sender: addresses.0, target_mac: macs.1, target: addresses.1 };
        prop_assert_eq!(Arp::read(&arp.bytes()), Ok(arp));
        let echo = Echo { is_request, id: ids.0, sequence: ids.1, data: &data };
        let bytes = echo.bytes();
        prop_assert_eq!(Echo::read(&bytes), Ok(echo));
        let packet = Ipv4 { from: addresses.0, to: addresses.1, ttl, protocol: Ipv4::ICMP, payload: &bytes };
        let bytes = packet.bytes().unwrap();
        prop_assert_eq!(Ipv4::read(&bytes), Ok(packet));
        let padded = [&bytes[..], &[0; 7]].concat();
        prop_assert_eq!(Ipv4::read(&padded), Ok(packet), "trailing bytes are padding");
        let frame = Ethernet::new(macs.0, macs.1, EtherType::Ipv4, &bytes);
        let bytes = frame.bytes();
        prop_assert_eq!(Ethernet::read(&bytes), Ok(frame));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = (Ethernet::read(&bytes), Arp::read(&bytes), Ipv4::read(&bytes), Echo::read(&bytes));
    }
}
