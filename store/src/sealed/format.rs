//! The stored form of a value.
//!
//! ```text
//! 0   8  ff "sealed" ff                 no text has these bytes
//! 8   1  1: sealed · 0: the plain value follows
//! 9   1  k: bytes of the sealing key's name, at least 1
//! 10  k  that name
//! …  32  salt: the value's key is derived from it and the sealing key
//! …   n  the value, encrypted
//! …  16  tag: over the value, all bytes before it, and the name of the entry
//! ```
//! A plain value is stored as it is; one that begins with the eight bytes is escaped by these and a
//! zero.

use crate::contract::Value;

const MARK: &[u8; 8] = b"\xffsealed\xff";
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
/// Offset of the name.
const NAME: usize = MARK.len() + 2;

/// Maximum bytes of a key's name.
pub(super) const NAME_BYTES: usize = u8::MAX as usize;

/// Input of the key derivation, besides the sealing key.
pub(super) type Salt = [u8; 32];

/// The GCM authentication tag.
pub(super) type AuthTag = [u8; 16];

/// The stored form of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoredValue<'a> {
    /// Plain; the value begins at this offset.
    Plain(usize),
    Sealed(SealedParts<'a>),
    /// Sealed in this later format.
    Later(u8),
    /// Truncated: it has the prefix of a sealed value.
    Cut,
}

/// The parts of a sealed value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SealedParts<'a> {
    /// The name of the sealing key.
    pub(super) name: &'a str,
    pub(super) salt: &'a Salt,
    /// The bytes before the encrypted value.
    pub(super) header: &'a [u8],
    pub(super) encrypted: &'a [u8],
    pub(super) tag: &'a AuthTag,
}

/// Parses a stored value.
pub(super) fn read(value: &[u8]) -> StoredValue<'_> {
    let Some(rest) = value.strip_prefix(MARK) else { return StoredValue::Plain(0) };
    match rest.first() {
        Some(&PLAIN) => StoredValue::Plain(MARK.len() + 1),
        Some(&SEALED) => parts(value).map_or(StoredValue::Cut, StoredValue::Sealed),
        Some(&later) => StoredValue::Later(later),
        None => StoredValue::Cut,
    }
}

fn parts(value: &[u8]) -> Option<SealedParts<'_>> {
    let name = usize::from(*value.get(NAME - 1)?);
    let (header, rest) = value.split_at_checked(NAME + name + size_of::<Salt>())?;
    let (encrypted, tag) = rest.split_last_chunk()?;
    let (before, salt) = header.split_last_chunk()?;
    let name = std::str::from_utf8(&before[NAME..]).ok().filter(|name| !name.is_empty())?;
    Some(SealedParts { name, salt, header, encrypted, tag })
}

/// Returns the header of a value sealed by the key `name`, of at most [`NAME_BYTES`].
pub(super) fn header(name: &str, salt: &Salt) -> Vec<u8> {
    let length = u8::try_from(name.len()).expect("a longer name is refused where keys are made");
    [MARK, &[SEALED, length][..], name.as_bytes(), salt].concat()
}

/// Returns the stored form of a plain value.
pub(super) fn plain(value: Value) -> Value {
    match value.starts_with(MARK) {
        true => [MARK, &[PLAIN][..], &value].concat().into(),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_header_is_parsed() {
        let salt = [9; 32];
        for name in ["k", "kä", &"x".repeat(NAME_BYTES)] {
            let header = header(name, &salt);
            let value = [&header[..], b"value", &[7; 16]].concat();
            let seal = SealedParts { name, salt: &salt, header: &header, encrypted: b"value", tag: &[7; 16] };
            assert_eq!(read(&value), StoredValue::Sealed(seal));
            for cut in MARK.len() + 1..header.len() + 16 {
                assert_eq!(read(&value[..cut]), StoredValue::Cut, "{cut}");
            }
        }
    }

    #[test]
    fn plain_values_round_trip() {
        for value in [&b""[..], b"{}", b"\xffsealed", b"\xffsealed\xfe", MARK, b"\xffsealed\xff\x01\x01k"] {
            let kept = plain(value.into());
            let StoredValue::Plain(begin) = read(&kept) else { panic!("{value:?}") };
            assert_eq!(&kept[begin..], value);
            assert_eq!(begin > 0, value.starts_with(MARK));
        }
    }

    #[test]
    fn malformed_and_later_formats_are_reported() {
        assert_eq!(read(b"\xffsealed\xff"), StoredValue::Cut);
        assert_eq!(read(b"\xffsealed\xff\x02anything"), StoredValue::Later(2));
        let nameless = [MARK, &[SEALED, 0][..], &[0; 48]].concat();
        assert_eq!(read(&nameless), StoredValue::Cut);
        let no_text = [MARK, &[SEALED, 1, 0xff][..], &[0; 48]].concat();
        assert_eq!(read(&no_text), StoredValue::Cut);
    }
}
