//! AES-256-GCM, with one key per value.
//!
//! GCM breaks when two values share a key and a nonce; random 12-byte nonces are safe for 2^32
//! values, which no component counts. So the key differs instead: HKDF-SHA256 derives it from the
//! sealing key and a salt of 32 random bytes. Each derived key seals one value, with nonce zero.

use std::sync::Arc;

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _, Nonce};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::format::{AuthTag, Salt};
use crate::contract::Value;

/// HKDF context: separates these keys from other uses of a sealing key.
const PURPOSE: &[u8] = b"machinery: the AES-256-GCM key of one value";

/// Encrypts in place.
pub(super) fn encrypt(secret: &[u8], salt: &Salt, about: &[u8], value: &mut [u8]) -> AuthTag {
    let cipher = cipher(secret, salt);
    // The nonce may be constant: the key is derived for this value, and used once.
    let tag = cipher.encrypt_inout_detached(&Nonce::default(), about, value.into());
    tag.expect("a value is smaller than 64 GiB").into()
}

/// Decrypts; `None` if the value, its associated data or its tag was changed.
pub(super) fn decrypt(
    secret: &[u8],
    salt: &Salt,
    about: &[u8],
    encrypted: &[u8],
    tag: &AuthTag,
) -> Option<Value> {
    let mut value: Value = encrypted.into();
    let bytes = Arc::get_mut(&mut value).expect("nobody else has it yet");
    let cipher = cipher(secret, salt);
    let opened = cipher.decrypt_inout_detached(&Nonce::default(), about, bytes.into(), tag.into());
    opened.is_ok().then_some(value)
}

fn cipher(secret: &[u8], salt: &Salt) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    let made = Hkdf::<Sha256>::new(Some(salt), secret).expand(PURPOSE, &mut *key);
    made.expect("SHA-256 makes more than 32 bytes");
    Aes256Gcm::new((&*key).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are from Python's `cryptography` (OpenSSL): they pin AES-256-GCM with
    /// HKDF-SHA256.
    #[test]
    fn encryption_matches_openssl() {
        let (secret, salt): ([u8; 32], Salt) = (std::array::from_fn(|at| at as u8), [0xa5; 32]);
        let mut value = *b"a value of one entry";
        let tag = encrypt(&secret, &salt, b"about", &mut value);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            (hex(&value), hex(&tag)),
            ("e20c12057be21001bfbec0f6690e52befba40b40".into(), "490f8b020504397bdb072252ee8ae045".into())
        );
        let opened = decrypt(&secret, &salt, b"about", &value, &tag).expect("it is what was encrypted");
        assert_eq!(&*opened, b"a value of one entry");
    }
}
