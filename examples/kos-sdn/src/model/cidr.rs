//! IPv4 address blocks.

use std::fmt;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// An IPv4 address block. Host bits are masked on parsing: `10.0.0.5/24` is `10.0.0.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    base: u32,
    length: u8,
}

/// The text is not an IPv4 block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CidrError {
    /// The text is not in CIDR notation.
    #[error("invalid CIDR address: {0}")]
    Text(String),
    /// An IPv6 block, or an IPv4-mapped one.
    #[error("must be an IPv4 CIDR block, such as 10.1.0.0/16, and {0} is one of IPv6")]
    Ipv6(String),
}

impl Cidr {
    /// Returns the block of the given prefix length that contains an address. Lengths above 32
    /// count as 32.
    #[must_use]
    pub fn new(address: Ipv4Addr, length: u8) -> Self {
        let length = length.min(32);
        Self { base: u32::from(address) & mask(length), length }
    }

    /// Returns the first address.
    #[must_use]
    pub fn base(&self) -> Ipv4Addr {
        self.base.into()
    }

    /// Returns the last address.
    #[must_use]
    pub fn last(&self) -> Ipv4Addr {
        self.last_number().into()
    }

    /// Returns the prefix length.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Returns true if the block contains the address.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (self.base..=self.last_number()).contains(&address.into())
    }

    /// Returns true if the blocks share an address.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.base <= other.last_number() && other.base <= self.last_number()
    }

    /// Returns true if the whole block is private (RFC 1918); MAC addresses are unique for those
    /// only.
    #[must_use]
    pub fn is_private(&self) -> bool {
        const PRIVATE: [Cidr; 3] = [
            Cidr { base: 0x0a00_0000, length: 8 },
            Cidr { base: 0xac10_0000, length: 12 },
            Cidr { base: 0xc0a8_0000, length: 16 },
        ];
        PRIVATE.iter().any(|block| block.contains(self.base()) && block.contains(self.last()))
    }

    /// Returns the addresses available to attachments: all but the network address, the first host
    /// (usually a gateway) and the broadcast address. A block of at most four addresses is usable
    /// as a whole.
    #[must_use]
    pub const fn usable(&self) -> RangeInclusive<u32> {
        let last = self.last_number();
        if last - self.base >= 4 { self.base + 2..=last - 1 } else { self.base..=last }
    }

    const fn last_number(&self) -> u32 {
        self.base | !mask(self.length)
    }
}

const fn mask(length: u8) -> u32 {
    match length {
        0 => 0,
        length => u32::MAX << (32 - length),
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let errors = || CidrError::Text(text.into());
        let (address, length) = text.split_once('/').ok_or_else(errors)?;
        if address.contains(':') {
            return Err(CidrError::Ipv6(text.into()));
        }
        // `parse` would accept a plus sign and leading zeroes.
        let plain =
            length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
        let length = length.parse().ok().filter(|length| plain && *length <= 32).ok_or_else(errors)?;
        Ok(Self::new(address.parse().map_err(|_| errors())?, length))
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base(), self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    #[test]
    fn cidr_parsing_is_strict() {
        let check = |text: &str, expected: &str| assert_eq!(cidr(text).to_string(), expected);
        check("10.0.0.0/24", "10.0.0.0/24");
        check("10.0.0.5/24", "10.0.0.0/24");
        check("192.168.1.1/32", "192.168.1.1/32");
        check("10.1.2.3/0", "0.0.0.0/0");
        for text in [
            "",
            "/",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/08",
            "10.0.0/8",
            "010.0.0.0/8",
            "10.0.0.0/8 ",
        ] {
            assert_eq!(text.parse::<Cidr>(), Err(CidrError::Text(text.into())));
        }
    }

    /// The original parsed only the low four bytes, and took all of these for 10.0.0.0/24.
    #[test]
    fn ipv6_blocks_are_rejected() {
        for text in ["fd00::a00:0/120", "::a00:0/120", "::ffff:10.0.0.0/120", "::/0"] {
            assert_eq!(text.parse::<Cidr>(), Err(CidrError::Ipv6(text.into())));
        }
    }

    #[test]
    fn a_block_is_private_if_all_of_it_is() {
        let check = |text: &str, expected: bool| assert_eq!(cidr(text).is_private(), expected, "{text}");
        check("10.0.0.0/8", true);
        check("10.255.255.255/32", true);
        check("10.0.0.0/7", false);
        check("172.16.0.0/12", true);
        check("172.31.255.0/24", true);
        check("172.32.0.0/24", false);
        check("172.0.0.0/8", false);
        check("192.168.0.0/16", true);
        check("192.168.0.0/15", false);
        check("11.0.0.0/24", false);
        check("0.0.0.0/0", false);
    }

    #[test]
    fn blocks_overlap_if_they_share_an_address() {
        let check = |a: &str, b: &str, expected: bool| {
            assert_eq!(cidr(a).overlaps(&cidr(b)), expected, "{a} {b}");
            assert_eq!(cidr(b).overlaps(&cidr(a)), expected, "{b} {a}");
        };
        check("10.0.0.0/24", "10.0.0.0/24", true);
        check("10.0.0.0/8", "10.1.2.0/24", true);
        check("10.0.0.0/24", "10.0.1.0/24", false);
        check("10.0.0.255/32", "10.0.1.0/32", false);
        check("0.0.0.0/0", "255.255.255.255/32", true);
    }

    #[test]
    fn usable_addresses_exclude_reserved_ones() {
        let check = |text: &str, first: [u8; 4], last: [u8; 4], count: usize| {
            let usable = cidr(text).usable();
            let ends = [*usable.start(), *usable.end()].map(Ipv4Addr::from);
            assert_eq!((ends, usable.count()), ([first.into(), last.into()], count), "{text}");
        };
        check("10.0.0.0/24", [10, 0, 0, 2], [10, 0, 0, 254], 253);
        check("10.0.0.0/29", [10, 0, 0, 2], [10, 0, 0, 6], 5);
        check("10.0.0.0/30", [10, 0, 0, 0], [10, 0, 0, 3], 4);
        check("10.0.0.2/31", [10, 0, 0, 2], [10, 0, 0, 3], 2);
        check("10.0.0.7/32", [10, 0, 0, 7], [10, 0, 0, 7], 1);
        assert_eq!(cidr("255.255.255.255/32").usable().count(), 1);
    }
}
