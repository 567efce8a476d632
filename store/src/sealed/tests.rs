//! Tests of sealing and unsealing one value.

use std::sync::Arc;

use proptest::prelude::*;

use super::format::Salt;
use super::key_ring::open;
use super::{KeyRing, KeyRingError, Provider, SealingKey, UnsealError};
use crate::contract::{Key, Value};

fn key(name: &str, fill: u8) -> Provider {
    Provider::Key(SealingKey::new(name, &[fill; 32]).expect("32 bytes"))
}

fn ring(providers: impl IntoIterator<Item = Provider>) -> KeyRing {
    KeyRing::new(providers).expect("there are some, of different names")
}

fn sealed(by: &KeyRing, path: &str, value: &[u8], salt: Salt) -> Value {
    by.seal(path, value.into(), || salt)
}

fn opened(by: &KeyRing, path: &str, kept: &[u8]) -> Result<Value, UnsealError> {
    open(Some(by), &path.into(), &kept.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_sealed_value_is_opened(
        value in prop::collection::vec(any::<u8>(), 0..300),
        path in "\\PC{1,20}",
        name in "\\PC{1,20}",
        secret in prop_oneof![Just(16_usize), Just(24), Just(32)]
            .prop_flat_map(|length| prop::collection::vec(any::<u8>(), length)),
        salt in any::<Salt>(),
    ) {
        let ring = ring([Provider::Key(SealingKey::new(&name, &secret).expect("a length that is taken"))]);
        let kept = sealed(&ring, &path, &value, salt);
        prop_assert!(ring.is_first(&kept));
        prop_assert_eq!(kept.len(), value.len() + name.len() + 58);
        prop_assert_eq!(&*opened(&ring, &path, &kept).expect("it is whole"), &value[..]);
    }

    /// Flips every bit, truncates to every length, appends a byte, and moves the value to another
    /// key.
    #[test]
    fn a_changed_cut_or_moved_value_is_refused(
        value in prop::collection::vec(any::<u8>(), 0..40),
        path in "[a-c/]{1,6}",
        other in "[a-c/]{1,6}",
        salt in any::<Salt>(),
    ) {
        let ring = ring([key("k1", 1), key("k2", 2)]);
        let kept = sealed(&ring, &path, &value, salt);
        for bit in 0..kept.len() * 8 {
            let mut flipped = kept.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(opened(&ring, &path, &flipped).is_err(), "bit {}", bit);
        }
        for length in 0..kept.len() {
            prop_assert!(opened(&ring, &path, &kept[..length]).is_err(), "{} bytes", length);
        }
        prop_assert!(opened(&ring, &path, &[&kept[..], b"x"].concat()).is_err());
        prop_assert_eq!(opened(&ring, &other, &kept).is_ok(), other == path);
        // A byte moved between the entry's key and the value is detected.
        prop_assert!(opened(&ring, &path[1..], &[&kept[..], &path.as_bytes()[..1]].concat()).is_err());
    }

    #[test]
    fn any_bytes_are_opened_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100), mark in any::<bool>()) {
        let kept = if mark { [&b"\xffsealed\xff\x01"[..], &bytes].concat() } else { bytes };
        let _ = opened(&ring([key("k1", 1), Provider::Identity]), "a", &kept);
        let _ = open(None, &"a".into(), &kept.into());
    }
}

#[test]
fn two_seals_of_one_value_have_nothing_in_common() {
    let ring = ring([key("k", 1)]);
    let (one, other) = (sealed(&ring, "a", &[0; 4096], [1; 32]), sealed(&ring, "a", &[0; 4096], [2; 32]));
    let behind = |kept: &Value| kept[11 + 32..].to_vec();
    let same = behind(&one).iter().zip(behind(&other)).filter(|(a, b)| **a == *b).count();
    // Of random bytes one in 256 is equal: 16 of 4096.
    assert!(same < 64, "{same}");
    assert_ne!(sealed(&ring, "a", &[0; 4096], [1; 32])[43..], sealed(&ring, "b", &[0; 4096], [1; 32])[43..]);
}

/// Each provider, under each ring.
#[test]
fn a_value_is_opened_only_by_rings_that_have_its_key() {
    let path: Key = "core/secrets/a".into();
    let (old, new) = (ring([key("old", 1)]), ring([key("new", 2)]));
    let kept = sealed(&old, &path, b"value", [3; 32]);
    let both = ring([key("new", 2), key("old", 1)]);
    assert_eq!(opened(&both, &path, &kept).as_deref(), Ok(&b"value"[..]));
    assert!(old.is_first(&kept) && !both.is_first(&kept));
    let missing = UnsealError::MissingKey { key: path.clone(), name: "old".into() };
    assert_eq!(opened(&new, &path, &kept), Err(missing.clone()));
    assert_eq!(open(None, &path, &kept), Err(missing.clone()));
    let said = missing.to_string();
    assert!(
        said.contains("`core/secrets/a`") && said.contains("\"old\"") && said.contains("give that key again"),
        "{said}"
    );
    // The same name with another secret.
    let forged = ring([key("old", 9)]);
    assert_eq!(
        opened(&forged, &path, &kept),
        Err(UnsealError::Changed { key: path.clone(), name: "old".into() })
    );

    let begin = ring([key("new", 2), Provider::Identity]);
    assert_eq!(opened(&begin, &path, b"plain").as_deref(), Ok(&b"plain"[..]));
    assert!(!begin.is_first(b"plain"));
    assert_eq!(opened(&new, &path, b"plain"), Err(UnsealError::NotSealed { key: path.clone() }));
    assert_eq!(open(None, &path, &Arc::from(*b"plain")).as_deref(), Ok(&b"plain"[..]));

    let back = ring([Provider::Identity, key("old", 1)]);
    assert_eq!(&*sealed(&back, &path, b"value", [3; 32]), b"value");
    assert_eq!(opened(&back, &path, &kept).as_deref(), Ok(&b"value"[..]));
    assert!(back.is_first(b"value") && !back.is_first(&kept));
    // A plain value that looks sealed is escaped.
    let looks = sealed(&back, &path, &kept, [3; 32]);
    assert_eq!(opened(&back, &path, &looks).as_deref(), Ok(&*kept));
    assert!(back.is_first(&looks));
    let later = UnsealError::LaterFormat { key: path.clone(), found: 7 };
    assert_eq!(opened(&back, &path, b"\xffsealed\xff\x07"), Err(later));
}

#[test]
fn invalid_keys_are_refused() {
    let made = |name: &str, bytes: usize| SealingKey::new(name, &vec![0; bytes]).map(|_| ());
    assert_eq!(made("k", 31), Err(KeyRingError::Length { name: "k".into(), bytes: 31 }));
    assert_eq!(made("", 32), Err(KeyRingError::Name { bytes: 0, limit: 255 }));
    assert_eq!(made(&"k".repeat(256), 32), Err(KeyRingError::Name { bytes: 256, limit: 255 }));
    assert_eq!(made(&"k".repeat(255), 16), Ok(()));
    assert_eq!(KeyRing::new([]).unwrap_err(), KeyRingError::Empty);
    let twice = KeyRing::new([key("k", 1), Provider::Identity, key("k", 2)]).unwrap_err();
    assert_eq!(twice, KeyRingError::Repeated { name: "k".into() });
}

/// Expected bytes are from Python's `cryptography`: the first format must stay readable.
#[test]
fn the_first_format_is_written_and_opened() {
    let kept = "ff7365616c6564ff010432303236a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\
                11457a491685ba1cbd270969ec9e3db75332d7dd7c";
    let path = "core/secrets/default/a";
    let ring = ring([key("2026", 7)]);
    let made = sealed(&ring, path, b"value", [0xa5; 32]);
    assert_eq!(made.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), kept);
    assert_eq!(opened(&ring, path, &made).as_deref(), Ok(&b"value"[..]));
}

#[test]
fn no_key_is_printed() {
    let ring = ring([key("mine", 0xab), Provider::Identity]);
    assert_eq!(format!("{ring:?}"), "KeyRing([Key(SealingKey(\"mine\")), Identity])");
}
