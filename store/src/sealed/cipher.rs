//! AES-256-GCM, with a key for each value.
//!
//! GCM is broken by two values under one key and one nonce. Random nonces of 12 bytes are good for 2^32 values, and nobody counts. So the key is
//! what differs: HKDF-SHA256 makes it of the sealing key and a salt of 32 random bytes. Each seals one value, and its nonce is zero.

use std::sync::Arc;

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _, Nonce};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::format::{AuthTag, Salt};
use crate::contract::Value;

/// What the keys are for: they are of no use for anything else that is made of a sealing key.
const PURPOSE: &[u8] = b"machinery: the AES-256-GCM key of one value";

/// Encrypts in place.
pub(super) fn encrypt(secret: &[u8], salt: &Salt, about: &[u8], value: &mut [u8]) -> AuthTag {
    let cipher = cipher(secret, salt);
    let tag = cipher.encrypt_inout_detached(&Nonce::default(), about, value.into());
    tag.expect("a value is smaller than 64 GiB").into()
}

/// The value; none, unless all is as it was when it was encrypted.
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

    /// Made by Python's `cryptography` (OpenSSL) from the same numbers: what is written is AES-256-GCM under HKDF-SHA256, and stays so.
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
