//! VXLAN encapsulation (RFC 7348): an eight-byte header with the VNI. Pure.

use crate::model::Vni;

const HEADER: usize = 8;
/// The I flag: the VNI is valid.
const HAS_VNI: u8 = 0x08;

/// Encapsulates a frame.
pub(in crate::drive) fn wrapped(vni: Vni, frame: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = vni.number().to_be_bytes();
    let mut bytes = Vec::with_capacity(HEADER + frame.len());
    bytes.extend([HAS_VNI, 0, 0, 0, high, middle, low, 0]);
    bytes.extend(frame);
    bytes
}

/// Decapsulates a datagram; `None` if it is malformed.
pub(in crate::drive) fn unwrapped(bytes: &[u8]) -> Option<(Vni, &[u8])> {
    let (header, frame) = bytes.split_at_checked(HEADER)?;
    if header[0] & HAS_VNI == 0 {
        return None;
    }
    let number = u32::from_be_bytes([0, header[4], header[5], header[6]]);
    Some((Vni::new(number).ok()?, frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The header of the RFC: flags, reserved, 24-bit VNI, reserved.
    #[test]
    fn vxlan_header_matches_the_rfc() {
        let vni = Vni::new(0x0a_0b0c).unwrap();
        assert_eq!(wrapped(vni, b"xy"), [8, 0, 0, 0, 0x0a, 0x0b, 0x0c, 0, b'x', b'y']);
    }

    #[test]
    fn malformed_vxlan_is_ignored() {
        let reserved_is_ignored = [0xff, 1, 2, 3, 0, 0, 17, 9];
        assert_eq!(unwrapped(&reserved_is_ignored), Some((Vni::new(17).unwrap(), &[][..])));
        for bytes in [&[8, 0, 0, 0, 0, 0, 17][..], &[0, 0, 0, 0, 0, 0, 17, 0], &[8, 0, 0, 0, 0, 0, 0, 0], &[]]
        {
            assert_eq!(unwrapped(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn vxlan_round_trips(number in 1..=Vni::MAX, frame in proptest::collection::vec(any::<u8>(), 0..64)) {
            let vni = Vni::new(number).unwrap();
            let bytes = wrapped(vni, &frame);
            prop_assert_eq!(unwrapped(&bytes), Some((vni, &frame[..])));
        }
    }
}
