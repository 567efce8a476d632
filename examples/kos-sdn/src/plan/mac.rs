//! MAC addresses and names of interfaces.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::model::Vni;

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

/// The text is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no MAC address: six bytes as two digits each, with colons between them")]
pub struct MacError(String);

impl Mac {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns the MAC address for an address of a network: locally administered, unicast. It
    /// encodes the VNI, the low 24 bits of the address and whether that is in 10/8, so private
    /// addresses of any networks never share one; the second octet distinguishes 172.16/12 from
    /// 192.168/16.
    #[must_use]
    pub const fn of(vni: Vni, address: Ipv4Addr) -> Self {
        let [_, high, middle, low] = vni.number().to_be_bytes();
        let [first, second, third, fourth] = address.octets();
        // Five bits of the VNI, one of the address, then locally-administered and unicast.
        Self([(high << 3) | ((first & 2) << 1) | 2, second, third, fourth, middle, low])
    }

    /// Creates an address from the low 48 bits of a number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// Returns the address as a 48-bit number.
    #[must_use]
    pub const fn number(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

/// Returns the name of the interface with a MAC address; it has the maximum length that Linux
/// allows.
#[must_use]
pub fn interface_name(mac: Mac) -> String {
    format!("kos{:012x}", mac.number())
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let wrong = || MacError(text.into());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && !part.starts_with('+')).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mac_of_an_address_is_the_one_it_always_was() {
        let check = |vni: u32, address: [u8; 4], expected: &str| {
            let mac = Mac::of(Vni::new(vni).unwrap(), address.into());
            assert_eq!(mac.to_string(), expected);
            assert_eq!(expected.parse(), Ok(mac));
        };
        check(1, [192, 168, 10, 2], "02:a8:0a:02:00:01");
        check(66051, [10, 1, 2, 3], "0e:01:02:03:02:03");
        check(2_097_151, [172, 16, 0, 1], "fa:10:00:01:ff:ff");
        check(1, [172, 24, 0, 2], "02:18:00:02:00:01");
        check(1, [10, 24, 0, 2], "06:18:00:02:00:01");
    }

    #[test]
    fn an_interface_has_the_longest_name_that_linux_allows() {
        let name = interface_name(Mac::of(Vni::new(66051).unwrap(), [10, 1, 2, 3].into()));
        assert_eq!((name.as_str(), name.len()), ("kos0e0102030203", 15));
    }

    #[test]
    fn malformed_macs_are_rejected() {
        for text in [
            "",
            "02:a8:0a:02:00",
            "02:a8:0a:02:00:01:02",
            "02:a8:0a:02:00:g1",
            "+2:a8:0a:02:00:01",
            "2:a8:0a:02:00:01",
        ] {
            assert_eq!(text.parse::<Mac>(), Err(MacError(text.into())));
        }
    }

    /// Decodes VNI and address.
    fn read(mac: Mac) -> (u32, Ipv4Addr) {
        let [head, second, third, fourth, middle, low] = mac.0;
        let first = match (head & 4 != 0, second) {
            (true, _) => 10,
            (false, 168) => 192,
            (false, _) => 172,
        };
        (u32::from_be_bytes([0, head >> 3, middle, low]), [first, second, third, fourth].into())
    }

    fn private() -> impl Strategy<Value = Ipv4Addr> {
        let address =
            |base: u32, bits: u32| (0..1_u32 << bits).prop_map(move |low| Ipv4Addr::from(base | low));
        prop_oneof![address(0x0a00_0000, 24), address(0xac10_0000, 20), address(0xc0a8_0000, 16)]
    }

    proptest! {
        #[test]
        fn no_two_addresses_share_a_mac(vni in 1..=Vni::MAX, address in private()) {
            let mac = Mac::of(Vni::new(vni).unwrap(), address);
            prop_assert_eq!(read(mac), (vni, address), "it is decodable, so unique");
            prop_assert_eq!(mac.0[0] & 3, 2, "locally administered, of one station");
        }
    }
}
