//! The identity of a row.

use std::fmt;
use std::str::FromStr;

/// The UUID of a row, given by the database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowUuid(u128);

/// A text is no UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a UUID has 36 characters: 32 hexadecimal digits, and hyphens after 8, 12, 16 and 20 of them")]
pub struct RowUuidError;

/// Positions of the hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl RowUuid {
    /// Makes a UUID from its bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl FromStr for RowUuid {
    type Err = RowUuidError;

    fn from_str(text: &str) -> Result<Self, RowUuidError> {
        if text.len() != 36 {
            return Err(RowUuidError);
        }
        let mut bits = 0;
        for (position, byte) in text.bytes().enumerate() {
            if HYPHENS.contains(&position) {
                if byte != b'-' {
                    return Err(RowUuidError);
                }
                continue;
            }
            let digit = char::from(byte).to_digit(16).ok_or(RowUuidError)?;
            bits = bits << 4 | u128::from(digit);
        }
        Ok(Self(bits))
    }
}

impl fmt::Display for RowUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| self.0 >> shift & ((1_u128 << (4 * digits)) - 1);
        let [a, b, c, d, e] = [part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12)];
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for RowUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_printed_as_it_was_parsed() {
        let text = "0f3a9c01-8d2e-4b7a-9c11-00aabbccddee";
        assert_eq!(text.parse::<RowUuid>().unwrap().to_string(), text);
    }

    #[test]
    fn malformed_uuids_are_rejected() {
        for text in [
            "",
            "0f3a9c01",
            "0f3a9c01x8d2e-4b7a-9c11-00aabbccddee",
            "0f3a9c01-8d2e-4b7a-9c11-00aabbccddeg",
            "0f3a9c01-8d2e-4b7a-9c11-00aabbccddé",
            "0f3a9c0-18d2e-4b7a-9c11-00aabbccddee",
        ] {
            assert_eq!(text.parse::<RowUuid>(), Err(RowUuidError), "{text:?}");
        }
    }
}
