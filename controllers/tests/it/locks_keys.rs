//! Promise 21: names encode keys uniquely.

use machinery_controllers::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
use machinery_objects::NameRule;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn check<K: LockKey>(key: K, name: &str) {
    assert_eq!(name_of_key(&key).as_deref(), Ok(name));
    assert_eq!(key_of_name::<K>(name), Ok(key));
}

#[test]
fn p21_names_are_readable_where_keys_are() {
    check(("v1".to_owned(), 66051_u32, IpAddr::from([10, 1, 2, 3])), "v1-66051-10-1-2-3");
    check("db-0.example.com".to_owned(), "db--0.example.com");
    check(("db".to_owned(), "0".to_owned()), "db-0");
    check(("eth0".to_owned(), i64::MIN, -1_i8, 0_i8), "eth0-m9223372036854775808-m1-0");
    check(IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 1]), "fe80-0000-0000-0000-0000-0000-0000-0001");
    check(String::new(), "0x");
    check("0xa".to_owned(), "0x0xa");
    check("Zürich".to_owned(), "0x--5a--c3--bcrich");
    check(("-".to_owned(), ".a.".to_owned()), "0x--2d-0x--2ea--2e");
    check("a.-b".to_owned(), "0xa--2e--2db");
}

#[test]
fn p21_long_names_are_rejected_and_never_truncated() {
    check("a".repeat(253), &"a".repeat(253));
    let refused = |length| Err(KeyError::TooLong { length, limit: 253 });
    assert_eq!(name_of_key(&"a".repeat(254)), refused(254));
    assert_eq!(name_of_key(&"Ä".repeat(32)), refused(258));
}

#[test]
fn p21_a_name_without_key_reports_the_reason() {
    fn wrong<K: LockKey>(name: &str, expected: &str) {
        assert_eq!(key_of_name::<K>(name).unwrap_err().to_string(), expected);
    }
    wrong::<String>("a---b", "three hyphens in a row, as at byte 1, are in no name of a lock");
    wrong::<String>("a-b", "the name goes on with `b` where the key ends");
    wrong::<(String, u8)>("a", "the name ends where a number of 8 bits should come");
    wrong::<(String, u8)>("a-b", "`b` is not a number of 8 bits");
    wrong::<(String, u8)>("a-256", "`256` is not a number of 8 bits");
    wrong::<(String, u8)>("a-07", "this key's name is `a-7`");
    wrong::<String>("0xab", "this key's name is `ab`");
    wrong::<String>("0x--2", "`0x--2` begins with 0x, and is no valid encoding");
    wrong::<String>("0x--ff", "`0x--ff` begins with 0x, and is no valid encoding");
    wrong::<IpAddr>("10-1-2", "the name ends where a quarter of an IPv4 address should come");
    wrong::<IpAddr>("fe80-1-2", "`1` is not an eighth of an IPv6 address, in four digits");
    let wrong = key_of_name::<String>("A").unwrap_err();
    assert!(matches!(wrong, KeyError::Name(_)), "{wrong}");
}

/// A key type that drops half of its value.
#[derive(Clone, Debug, PartialEq)]
struct Half(u8, u8);

impl LockKey for Half {
    fn write(&self, parts: &mut KeyWriter) {
        self.0.write(parts);
    }
    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        Ok(Self(LockKey::read(parts)?, 0))
    }
}

/// A key without parts.
#[derive(Clone, Debug, PartialEq)]
struct Nothing;

impl LockKey for Nothing {
    fn write(&self, _: &mut KeyWriter) {}
    fn read(_: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        Ok(Self)
    }
}

#[test]
fn p21_a_lossy_key_type_is_detected() {
    check(Half(1, 0), "1");
    assert_eq!(name_of_key(&Half(1, 2)), Err(KeyError::Lossy { name: "1".into() }));
    assert_eq!(name_of_key(&Nothing), Err(KeyError::Empty));
}

/// A key type that panics on unexpected names.
#[derive(Clone, Debug, PartialEq)]
struct Strict(String);

impl LockKey for Strict {
    fn write(&self, parts: &mut KeyWriter) {
        assert!(!self.0.is_empty(), "on purpose");
        parts.text(&self.0);
    }
    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        let text = parts.text("a word")?;
        assert_eq!(text.len(), 1, "on purpose, of {text}");
        Ok(Self(text))
    }
}

#[test]
fn p21_a_panicking_key_type_is_an_error_of_that_name() {
    check(Strict("a".into()), "a");
    let Err(KeyError::Panicked { message }) = key_of_name::<Strict>("ab") else { panic!("it panics") };
    assert!(message.contains("on purpose, of ab"), "{message}");
    assert!(matches!(name_of_key(&Strict(String::new())), Err(KeyError::Panicked { .. })));
}

/// Texts rich in characters with a meaning in the encoding.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![r"[-.0xa]{0,6}", r"[a-z0-9]([-.]?[a-z0-9]){0,8}", r"\PC{0,6}", any::<String>()]
}

type Key = (String, u64, i32, IpAddr, String);

fn key() -> impl Strategy<Value = Key> {
    let ip = prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::from(Ipv4Addr::from(bits))),
        any::<u128>().prop_map(|bits| IpAddr::from(Ipv6Addr::from(bits))),
    ];
    (text(), any::<u64>(), any::<i32>(), ip, text())
}

/// A key of any number of text parts.
#[derive(Clone, Debug, PartialEq)]
struct Texts(Vec<String>);

impl LockKey for Texts {
    fn write(&self, parts: &mut KeyWriter) {
        self.0.iter().for_each(|text| parts.text(text));
    }
    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        let mut texts = Vec::new();
        loop {
            match parts.text("a text") {
                Ok(text) => texts.push(text),
                Err(KeyError::Less { .. }) => return Ok(Self(texts)),
                Err(error) => return Err(error),
            }
        }
    }
}

fn comes_back<K: LockKey>(key: &K) -> Result<(), TestCaseError> {
    match name_of_key(key) {
        Ok(name) => {
            prop_assert_eq!(NameRule::DnsSubdomain.check(&name), Ok(()), "{}", name);
            prop_assert!(key_of_name::<K>(&name).as_ref() == Ok(key), "{}", name);
        }
        Err(error) => prop_assert!(matches!(error, KeyError::TooLong { .. }), "{}", error),
    }
    Ok(())
}

proptest! {
    #[test]
    fn p21_keys_round_trip(key in key(), texts in prop::collection::vec(text(), 1..5)) {
        comes_back(&key)?;
        comes_back(&key.0)?;
        comes_back(&Texts(texts))?;
    }

    #[test]
    fn p21_two_keys_never_share_a_name(
        one in prop::collection::vec(r"[-.0xa]{0,3}", 1..4),
        other in prop::collection::vec(r"[-.0xa]{0,3}", 1..4),
    ) {
        let (one, other) = (Texts(one), Texts(other));
        prop_assert_eq!(name_of_key(&one) == name_of_key(&other), one == other);
    }

    #[test]
    fn p21_reading_any_name_yields_its_key_or_an_error(
        name in prop_oneof![r"[-.0xa2]{0,8}", r"0x([a-f0-9]|--[0-9a-f]{2}){0,6}", any::<String>()],
    ) {
        if let Ok(key) = key_of_name::<Texts>(&name) {
            prop_assert_eq!(name_of_key(&key), Ok(name.clone()));
        }
        let _ = key_of_name::<Key>(&name);
        let _ = key_of_name::<IpAddr>(&name);
    }
}
