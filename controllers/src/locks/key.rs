//! Lock keys, and the object names that encode them.

use std::fmt;

use machinery_objects::{NameError, NameRule};
use machinery_sync::contained;

use super::key_part;

/// The key of a lock: a host name, an address in a network, a port.
///
/// A key is encoded as a sequence of parts. Implemented for texts, numbers, IP addresses and tuples
/// of keys; other types encode their fields:
///
/// ```
/// use machinery_controllers::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
/// use std::net::Ipv4Addr;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Address { vni: u32, ip: Ipv4Addr }
///
/// impl LockKey for Address {
///     fn write(&self, parts: &mut KeyWriter) {
///         parts.text("v1");
///         self.vni.write(parts);
///         self.ip.write(parts);
///     }
///     fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
///         parts.exactly("v1")?;
///         Ok(Self { vni: LockKey::read(parts)?, ip: LockKey::read(parts)? })
///     }
/// }
///
/// let address = Address { vni: 66051, ip: [10, 1, 2, 3].into() };
/// assert_eq!(name_of_key(&address)?, "v1-66051-10-1-2-3");
/// assert_eq!(key_of_name::<Address>("v1-66051-10-1-2-3")?, address);
/// # Ok::<(), KeyError>(())
/// ```
pub trait LockKey: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Encodes the key as any number of parts.
    fn write(&self, parts: &mut KeyWriter);

    /// Decodes as many parts as were encoded.
    ///
    /// # Errors
    /// The parts are not those of a key.
    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError>;
}

/// Maximum length of an object name.
const MAX_NAME_LENGTH: usize = 253;

/// Returns the name of the lock object of a key: readable where possible, and unique to the key.
///
/// # Errors
/// The name would be too long, or does not decode to this key, or the key type panicked.
pub fn name_of_key<K: LockKey>(key: &K) -> Result<String, KeyError> {
    catch_panics(|| checked(key))
}

/// Returns the key that is encoded in a name.
///
/// # Errors
/// The name encodes no key of this type, or the key type panicked.
pub fn key_of_name<K: LockKey>(name: &str) -> Result<K, KeyError> {
    catch_panics(|| {
        NameRule::DnsSubdomain.check(name)?;
        let key = read::<K>(name)?;
        // Encoded again: a key that could be read from two names would have two locks.
        let expected = written(&key);
        if expected == name { Ok(key) } else { Err(KeyError::Otherwise { expected }) }
    })
}

/// Any client can create objects with any name: a panic of the key type must fail only that name.
fn catch_panics<T>(call: impl FnOnce() -> Result<T, KeyError>) -> Result<T, KeyError> {
    contained(call).unwrap_or_else(|panic| Err(KeyError::Panicked { message: panic.text().into() }))
}

fn checked<K: LockKey>(key: &K) -> Result<String, KeyError> {
    let name = written(key);
    match name.len() {
        0 => return Err(KeyError::Empty),
        // An error, not a hash: a lock has to be recovered from its name alone.
        length if length > MAX_NAME_LENGTH => {
            return Err(KeyError::TooLong { length, limit: MAX_NAME_LENGTH });
        }
        _ => {}
    }
    // Guarantees unique names, whatever the key type encodes.
    if read::<K>(&name)? == *key { Ok(name) } else { Err(KeyError::Lossy { name }) }
}

fn written<K: LockKey>(key: &K) -> String {
    let mut parts = KeyWriter { name: String::new() };
    key.write(&mut parts);
    parts.name
}

fn read<K: LockKey>(name: &str) -> Result<K, KeyError> {
    let parts = key_part::split(name)?;
    let mut reader = KeyReader { rest: &parts };
    let key = K::read(&mut reader)?;
    match reader.rest.first() {
        None => Ok(key),
        Some(rest) => Err(KeyError::More { found: (*rest).into() }),
    }
}

/// Writer of the parts of a key.
#[derive(Debug)]
pub struct KeyWriter {
    name: String,
}

impl KeyWriter {
    /// Appends a part of any text.
    pub fn text(&mut self, part: &str) {
        key_part::write(&mut self.name, part);
    }
}

/// Reader of the parts of a key.
#[derive(Debug)]
pub struct KeyReader<'a> {
    rest: &'a [&'a str],
}

impl KeyReader<'_> {
    /// Reads the next part.
    ///
    /// # Errors
    /// There is none, or its encoding is invalid.
    pub fn text(&mut self, expected: &'static str) -> Result<String, KeyError> {
        let (first, rest) = self.rest.split_first().ok_or(KeyError::Less { expected })?;
        self.rest = rest;
        key_part::read(first)
    }

    /// Reads the next part, which must equal `expected`.
    ///
    /// # Errors
    /// There is another part, or none.
    pub fn exactly(&mut self, expected: &'static str) -> Result<(), KeyError> {
        self.parsed(expected, |text| (text == expected).then_some(()))
    }

    /// Reads and parses the next part.
    ///
    /// # Errors
    /// There is none, or `parse` returned `None`.
    pub fn parsed<T>(
        &mut self,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, KeyError> {
        let found = self.text(expected)?;
        parse(&found).ok_or(KeyError::Part { found, expected })
    }

    /// Returns the encoded length of the next part.
    pub(super) fn next_length(&self) -> usize {
        self.rest.first().map_or(0, |part| part.len())
    }
}

/// Error of encoding or decoding a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has no parts.
    #[error("a key without parts has no name")]
    Empty,
    /// The name would be too long: use a shorter key.
    #[error("the name of this key would have {length} characters, and names have at most {limit}")]
    TooLong {
        /// The length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The encoding decodes to another key: a bug of the key type.
    #[error("`{name}`, the encoding of this key, decodes to another key")]
    Lossy {
        /// The encoding.
        name: String,
    },
    /// The key type panicked: a bug of the key type, which has to decode any name.
    #[error("the key type panicked: {message}")]
    Panicked {
        /// The panic message.
        message: String,
    },
    /// Not a valid object name.
    #[error("not the name of a lock: {0}")]
    Name(#[from] NameError),
    /// The name has three or more consecutive hyphens.
    #[error("three hyphens in a row, as at byte {at}, are in no name of a lock")]
    Hyphens {
        /// Byte offset.
        at: usize,
    },
    /// A part has the prefix of the byte-wise encoding, and is invalid.
    #[error("`{part}` begins with 0x, and is no valid encoding")]
    Escape {
        /// The encoded part.
        part: String,
    },
    /// A part has another form than expected.
    #[error("`{found}` is not {expected}")]
    Part {
        /// The part.
        found: String,
        /// The expected form.
        expected: &'static str,
    },
    /// A part is missing.
    #[error("the name ends where {expected} should come")]
    Less {
        /// The expected form.
        expected: &'static str,
    },
    /// There are additional parts.
    #[error("the name goes on with `{found}` where the key ends")]
    More {
        /// The first additional part.
        found: String,
    },
    /// The name is not the canonical encoding of its key.
    #[error("this key's name is `{expected}`")]
    Otherwise {
        /// The canonical name.
        expected: String,
    },
}
