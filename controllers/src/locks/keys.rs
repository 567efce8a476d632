//! Implementations of [`LockKey`] for common types.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{KeyError, KeyReader, KeyWriter, LockKey};

macro_rules! texts {
    ($($text:ty),*) => {$(
        /// Encoded as one part.
        impl LockKey for $text {
            fn write(&self, parts: &mut KeyWriter) {
                parts.text(self);
            }

            fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
                parts.text("a text").map(Into::into)
            }
        }
    )*};
}

texts!(String, Box<str>, Arc<str>);

macro_rules! numbers {
    ($($number:ty: $expected:literal),*) => {$(
        /// Encoded as one decimal part; `m` replaces the minus sign.
        impl LockKey for $number {
            fn write(&self, parts: &mut KeyWriter) {
                // A leading hyphen is not plain: the part would be encoded byte by byte.
                parts.text(&self.to_string().replace('-', "m"));
            }

            fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
                parts.parsed($expected, |text| text.replace('m', "-").parse().ok())
            }
        }
    )*};
}

numbers!(
    u8: "a number of 8 bits", u16: "a number of 16 bits", u32: "a number of 32 bits", u64: "a number of 64 bits",
    u128: "a number of 128 bits", i8: "a signed number of 8 bits", i16: "a signed number of 16 bits",
    i32: "a signed number of 32 bits", i64: "a signed number of 64 bits", i128: "a signed number of 128 bits"
);

/// Encoded as four decimal parts: `10-1-2-3`.
impl LockKey for Ipv4Addr {
    fn write(&self, parts: &mut KeyWriter) {
        for octet in self.octets() {
            octet.write(parts);
        }
    }

    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        let mut octets = [0; 4];
        for octet in &mut octets {
            *octet = parts.parsed("a quarter of an IPv4 address", |text| text.parse().ok())?;
        }
        Ok(octets.into())
    }
}

/// Length of each part of an IPv6 address, which no part of an IPv4 address has.
const DIGITS: usize = 4;

/// Encoded as eight parts of four hexadecimal digits:
/// `fe80-0000-0000-0000-0000-0000-0000-0001`.
impl LockKey for Ipv6Addr {
    fn write(&self, parts: &mut KeyWriter) {
        for segment in self.segments() {
            parts.text(&format!("{segment:04x}"));
        }
    }

    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        let mut segments = [0; 8];
        for segment in &mut segments {
            let parse =
                |text: &str| (text.len() == DIGITS).then(|| u16::from_str_radix(text, 16).ok()).flatten();
            *segment = parts.parsed("an eighth of an IPv6 address, in four digits", parse)?;
        }
        Ok(segments.into())
    }
}

/// Encoded as the IPv4 or IPv6 address that it is.
impl LockKey for IpAddr {
    fn write(&self, parts: &mut KeyWriter) {
        match self {
            Self::V4(address) => address.write(parts),
            Self::V6(address) => address.write(parts),
        }
    }

    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        if parts.next_length() == DIGITS {
            Ipv6Addr::read(parts).map(Self::V6)
        } else {
            Ipv4Addr::read(parts).map(Self::V4)
        }
    }
}

macro_rules! tuples {
    ($($($key:ident)+;)*) => {$(
        /// Encoded as the parts of each element, in order.
        impl<$($key: LockKey),+> LockKey for ($($key,)+) {
            fn write(&self, parts: &mut KeyWriter) {
                #[expect(non_snake_case, reason = "a variable for each type")]
                let ($($key,)+) = self;
                $($key.write(parts);)+
            }

            fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
                Ok(($($key::read(parts)?,)+))
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}
