//! Key rings: the first provider seals, all unseal.

use std::fmt::{Debug, Formatter, Result as Written};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::cipher;
use super::error::{KeyRingError, UnsealError};
use super::format::{self, NAME_BYTES, Salt, SealedParts, StoredValue};
use crate::contract::{Key, Value};

/// A named secret that seals values. Each sealed value is stored with the key's name. The secret is
/// zeroed on drop.
pub struct SealingKey {
    name: Arc<str>,
    secret: Zeroizing<Vec<u8>>,
}

/// A way to store a value.
#[derive(Debug)]
pub enum Provider {
    /// Sealed with this key.
    Key(SealingKey),
    /// Stored in plain.
    Identity,
}

/// An ordered list of providers: the first stores new values, all are tried for existing ones.
///
/// `[new, old]` is a key rotation. With [`Provider::Identity`] last, existing plain values are
/// readable; with it first, new values are stored in plain. Clones share the ring.
#[derive(Clone, Debug)]
pub struct KeyRing(Arc<[Provider]>);

impl SealingKey {
    /// Copies `secret`: 32 random bytes, or 16 or 24.
    ///
    /// A name must always mean the same secret: a value's key is found by name.
    pub fn new(name: &str, secret: &[u8]) -> Result<Self, KeyRingError> {
        if name.is_empty() || name.len() > NAME_BYTES {
            return Err(KeyRingError::Name { bytes: name.len(), limit: NAME_BYTES });
        }
        if ![16, 24, 32].contains(&secret.len()) {
            return Err(KeyRingError::Length { name: name.into(), bytes: secret.len() });
        }
        Ok(Self { name: name.into(), secret: Zeroizing::new(secret.to_vec()) })
    }

    /// Returns the key's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Prints the name only, since it may be logged.
impl Debug for SealingKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        write!(f, "SealingKey({:?})", self.name)
    }
}

impl KeyRing {
    /// Creates a ring of `providers`. It needs at least one, and distinct names.
    pub fn new(providers: impl IntoIterator<Item = Provider>) -> Result<Self, KeyRingError> {
        let ring = Self(providers.into_iter().collect());
        let mut names: Vec<&Arc<str>> = ring.keys().map(|key| &key.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(KeyRingError::Repeated { name: pair[0].clone() }),
            None if ring.0.is_empty() => Err(KeyRingError::Empty),
            None => Ok(ring),
        }
    }

    /// Returns `value` as stored under `key`. Calls `salt` only if it is sealed.
    pub(super) fn seal(&self, key: &str, value: Value, salt: impl FnOnce() -> Salt) -> Value {
        match self.0.first() {
            Some(Provider::Key(first)) => {
                let salt = salt();
                let mut kept = format::header(&first.name, &salt);
                let (about, begin) = (about(&kept, key), kept.len());
                kept.extend_from_slice(&value);
                let tag = cipher::encrypt(&first.secret, &salt, &about, &mut kept[begin..]);
                kept.extend_from_slice(&tag);
                kept.into()
            }
            _ => format::plain(value),
        }
    }

    /// Returns whether the first provider made `kept`.
    pub(super) fn is_first(&self, kept: &[u8]) -> bool {
        match (self.0.first(), format::read(kept)) {
            (Some(Provider::Key(first)), StoredValue::Sealed(seal)) => *first.name == *seal.name,
            (Some(Provider::Identity), StoredValue::Plain(_)) => true,
            _ => false,
        }
    }

    fn keys(&self) -> impl Iterator<Item = &SealingKey> {
        self.0.iter().filter_map(|provider| match provider {
            Provider::Key(key) => Some(key),
            Provider::Identity => None,
        })
    }

    fn takes_plain(&self) -> bool {
        self.0.iter().any(|provider| matches!(provider, Provider::Identity))
    }
}

/// Returns the value of the stored form `kept`. Without a ring only plain values are accepted.
pub(super) fn open(ring: Option<&KeyRing>, key: &Key, kept: &Value) -> Result<Value, UnsealError> {
    match format::read(kept) {
        // Unless plain values are expected, one may have been put in place of a sealed value.
        StoredValue::Plain(_) if ring.is_some_and(|ring| !ring.takes_plain()) => {
            Err(UnsealError::NotSealed { key: key.clone() })
        }
        StoredValue::Plain(0) => Ok(kept.clone()),
        StoredValue::Plain(begin) => Ok(kept[begin..].into()),
        StoredValue::Sealed(seal) => unseal(ring, key, &seal),
        StoredValue::Later(found) => Err(UnsealError::LaterFormat { key: key.clone(), found }),
        StoredValue::Cut => Err(UnsealError::Cut { key: key.clone() }),
    }
}

fn unseal(ring: Option<&KeyRing>, key: &Key, seal: &SealedParts<'_>) -> Result<Value, UnsealError> {
    let named = ring.and_then(|ring| ring.keys().find(|one| *one.name == *seal.name));
    let Some(named) = named else {
        return Err(UnsealError::MissingKey { key: key.clone(), name: seal.name.into() });
    };
    cipher::decrypt(&named.secret, seal.salt, &about(seal.header, key), seal.encrypted, seal.tag)
        .ok_or_else(|| UnsealError::Changed { key: key.clone(), name: named.name.clone() })
}

/// Returns the associated data: the header, which states its own length, and the entry's key.
fn about(header: &[u8], key: &str) -> Vec<u8> {
    // With the key of the entry, a ciphertext moved to another entry is refused.
    [header, key.as_bytes()].concat()
}
