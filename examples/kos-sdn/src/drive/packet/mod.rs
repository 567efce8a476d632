//! The frames of simulated networks as bytes: Ethernet with ARP, or with IPv4 and ICMP echo.
//!
//! Parsing borrows payloads; malformed bytes are an error, never a panic.

mod arp;
mod echo;
mod ethernet;
mod headers;
mod ipv4;

pub use arp::Arp;
pub use echo::Echo;
pub use ethernet::Ethernet;
pub use headers::{FrameHeaders, PayloadAddresses};
pub use ipv4::Ipv4;

use crate::plan::Mac;
use std::net::Ipv4Addr;

/// The bytes are malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes are too short.
    #[error("{what} has {length} bytes and needs {needs}")]
    Short {
        /// The message type.
        what: &'static str,
        /// Actual length.
        length: usize,
        /// Minimum length.
        needs: usize,
    },
    /// A field has an invalid value.
    #[error("{0}")]
    Field(&'static str),
}

/// Reads consecutive fields.
struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
    read: usize,
}

impl<'a> Reader<'a> {
    const fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes, read: 0 }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Malformed::Short {
                what: self.what,
                length: self.read + self.rest.len(),
                needs: self.read + N,
            });
        };
        self.rest = rest;
        self.read += N;
        Ok(*bytes)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn mac(&mut self) -> Result<Mac, Malformed> {
        self.bytes().map(Mac)
    }

    fn address(&mut self) -> Result<Ipv4Addr, Malformed> {
        self.bytes::<4>().map(Ipv4Addr::from)
    }
}

/// Returns the Internet checksum; zero for data that includes its valid checksum.
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(u16::try_from(sum).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests;
