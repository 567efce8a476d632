//! Keys of locks, and the names of the objects that are these locks.

use std::fmt;

use machinery_objects::{NameError, NameRule};
use machinery_sync::contained;

use super::key_part;

/// What there is to have once: a host name, an address in a network, a port.
///
/// It is written as parts, and read from them. Texts, numbers, addresses and tuples of keys are keys; a type of your own writes and reads
/// its fields:
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
    /// Writes it down, as any number of parts.
    fn write(&self, parts: &mut KeyWriter);

    /// Reads as many parts as were written.
    ///
    /// # Errors
    /// They are not those of a key.
    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError>;
}

/// The longest name that an object may have.
const MAX_NAME_LENGTH: usize = 253;

/// The name of the object that is the lock of a key: readable where the key is, and no other key's.
///
/// # Errors
/// It would be too long, or the key is not read as what it was written as. Its type panics.
pub fn name_of_key<K: LockKey>(key: &K) -> Result<String, KeyError> {
    catch_panics(|| checked(key))
}

/// The key whose lock has this name.
///
/// # Errors
/// No key's has. The key's type panics.
pub fn key_of_name<K: LockKey>(name: &str) -> Result<K, KeyError> {
    catch_panics(|| {
        NameRule::DnsSubdomain.check(name)?;
        let key = read::<K>(name)?;
        let expected = written(&key);
        if expected == name { Ok(key) } else { Err(KeyError::Otherwise { expected }) }
    })
}

/// Names come from whoever makes objects: a type that does not expect one is to cost that object, and not who looks at all.
fn catch_panics<T>(call: impl FnOnce() -> Result<T, KeyError>) -> Result<T, KeyError> {
    contained(call).unwrap_or_else(|panic| Err(KeyError::Panicked { message: panic.text().into() }))
}

fn checked<K: LockKey>(key: &K) -> Result<String, KeyError> {
    let name = written(key);
    match name.len() {
        0 => return Err(KeyError::Empty),
        length if length > MAX_NAME_LENGTH => {
            return Err(KeyError::TooLong { length, limit: MAX_NAME_LENGTH });
        }
        _ => {}
    }
    // So no two keys share a name, however their type writes them.
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

/// Where the parts of a key are written.
#[derive(Debug)]
pub struct KeyWriter {
    name: String,
}

impl KeyWriter {
    /// One part, of any text.
    pub fn text(&mut self, part: &str) {
        key_part::write(&mut self.name, part);
    }
}

/// Where the parts of a key are read from.
#[derive(Debug)]
pub struct KeyReader<'a> {
    rest: &'a [&'a str],
}

impl KeyReader<'_> {
    /// The next part.
    ///
    /// # Errors
    /// There is none; or it is not written as one is.
    pub fn text(&mut self, expected: &'static str) -> Result<String, KeyError> {
        let (first, rest) = self.rest.split_first().ok_or(KeyError::Less { expected })?;
        self.rest = rest;
        key_part::read(first)
    }

    /// The next part, which is this.
    ///
    /// # Errors
    /// It is another.
    pub fn exactly(&mut self, expected: &'static str) -> Result<(), KeyError> {
        self.parsed(expected, |text| (text == expected).then_some(()))
    }

    /// The next part, as what a function makes of it.
    ///
    /// # Errors
    /// It makes nothing of it.
    pub fn parsed<T>(
        &mut self,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, KeyError> {
        let found = self.text(expected)?;
        parse(&found).ok_or(KeyError::Part { found, expected })
    }

    /// How long the next part is, as it is written.
    pub(super) fn next_length(&self) -> usize {
        self.rest.first().map_or(0, |part| part.len())
    }
}

/// Why a key has no name, or a name no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has no parts.
    #[error("a key without parts has no name")]
    Empty,
    /// The name would be too long: make the key shorter.
    #[error("the name of this key would have {length} characters, and names have at most {limit}")]
    TooLong {
        /// How long.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// What the key's type writes is read as another key: that is a mistake in the type.
    #[error("`{name}`, which was written for this key, is read as another one")]
    Lossy {
        /// What was written.
        name: String,
    },
    /// The key's type panicked: that is a mistake in the type, which reads whatever names there are.
    #[error("the type of the keys panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// It is not even a name.
    #[error("not the name of a lock: {0}")]
    Name(#[from] NameError),
    /// There are three hyphens or more in a row.
    #[error("three hyphens in a row, as at byte {at}, are in no name of a lock")]
    Hyphens {
        /// Where.
        at: usize,
    },
    /// A part says that it is written byte by byte, and is not.
    #[error("`{part}` begins with 0x, and is no text that is written so")]
    Escape {
        /// As it is written.
        part: String,
    },
    /// A part is not what it should be.
    #[error("`{found}` is not {expected}")]
    Part {
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// There is no such part.
    #[error("the name ends where {expected} should come")]
    Less {
        /// What it should be.
        expected: &'static str,
    },
    /// There are more parts than the key has.
    #[error("the name goes on with `{found}` where the key ends")]
    More {
        /// With what.
        found: String,
    },
    /// The key is written otherwise.
    #[error("this key's name is `{expected}`")]
    Otherwise {
        /// How.
        expected: String,
    },
}
