//! Names, keys, kinds and references.

use machinery_objects::{Kind, NameError, NameRule, ObjectKey, ObjectRef, OwnerRef, Scope, Uid};
use std::collections::BTreeMap;

use crate::report;

#[test]
fn p08_names_are_checked_by_the_rules_of_kubernetes() {
    let rules = [
        (NameRule::DnsLabel, "a 0 a-b a--b 9z", "A a_b a.b -a a- ö a/b"),
        (NameRule::DnsSubdomain, "a a.b a-b.c0 0.0", "A a..b .a a. a.-b a-.b a_b"),
        (NameRule::PathSegment, "a A system:node .a ... a_b ö", ". .. a/b / a%b"),
        (NameRule::LabelKey, "a A a_b a.b x.y/a_B.c 0/0", "-a a- a/ /a a/b/c X/a a_/b a..b/c ö"),
        (NameRule::LabelValue, "a A a_b a.b A-1", "-a a- .a a/b ö a,b"),
    ];
    for (rule, good, bad) in rules {
        for name in good.split(' ') {
            assert_eq!(rule.check(name), Ok(()), "{rule} {name:?}");
        }
        let spaces = ["a b", " a", "a\n"].into_iter().filter(|_| rule != NameRule::PathSegment); // ugly, and they fit
        for name in bad.split(' ').chain(["a\0"]).chain(spaces) {
            assert!(rule.check(name).is_err(), "{rule} {name:?}");
        }
        assert_eq!(rule.check("").is_ok(), rule == NameRule::LabelValue);
    }
}

#[test]
fn p08_names_have_limits() {
    let check = |rule: NameRule, limit: usize, prefix: &str| {
        assert_eq!(rule.check(&(prefix.to_owned() + &"x".repeat(limit))), Ok(()));
        let error = Err(NameError::TooLong { rule, length: limit + 1, limit });
        assert_eq!(rule.check(&(prefix.to_owned() + &"x".repeat(limit + 1))), error);
    };
    check(NameRule::DnsLabel, 63, "");
    check(NameRule::DnsSubdomain, 253, "");
    check(NameRule::LabelKey, 63, "");
    check(NameRule::LabelKey, 63, "example.com/");
    check(NameRule::LabelValue, 63, "");
    let long = vec!["x"; 127].join("."); // 253, of parts that are short
    assert_eq!(NameRule::DnsSubdomain.check(&long), Ok(()));
    let error = NameError::TooLong { rule: NameRule::DnsSubdomain, length: 255, limit: 253 };
    assert_eq!(NameRule::DnsSubdomain.check(&format!("{long}.x")), Err(error.clone()));
    assert_eq!(NameRule::LabelKey.check(&format!("{long}.x/a")), Err(error));
}

#[test]
fn p08_an_invalid_name_is_reported_with_its_position() {
    let check = |rule: NameRule, name: &str, message: &str| {
        assert_eq!(rule.check(name).unwrap_err().to_string(), message);
    };
    check(
        NameRule::DnsLabel,
        "ab_c",
        "'_' at byte 2 has no place in a DNS label, which is made of a-z, 0-9 and `-`",
    );
    check(NameRule::DnsSubdomain, "a.b-.c", "a DNS subdomain cannot begin or end with '-', as at byte 3");
    check(NameRule::LabelKey, "a.b/-c", "a label's key cannot begin or end with '-', as at byte 4");
    check(NameRule::PathSegment, "..", "a name in a path cannot begin or end with '.', as at byte 0");
}

#[test]
fn p09_a_key_is_its_text() {
    let check = |text: &str, namespace: Option<&str>, name: &str| {
        let key: ObjectKey = text.parse().unwrap();
        assert_eq!((key.namespace(), key.name(), key.to_string()), (namespace, name, text.to_owned()));
        assert_eq!(ObjectKey::new(namespace, name), Ok(key));
    };
    check("a", None, "a");
    check("ns/a", Some("ns"), "a");
    check("system:node:x", None, "system:node:x");
    for text in ["", "/", "/a", "a/", "a/b/c", ".", "..", "a/..", "../a", "a%2fb", "ns/a%b", "a\0"] {
        assert!(text.parse::<ObjectKey>().is_err(), "{text:?}");
    }
    assert!(ObjectKey::new(Some(""), "a").is_err());
    assert!(ObjectKey::new(Some("a/b"), "c").is_err());
    assert!(ObjectKey::new(None, "b/c").is_err(), "it would be taken for a namespace");

    let unnamed = ObjectKey::unnamed();
    assert!(unnamed.is_unnamed() && unnamed == ObjectKey::default());
    assert_eq!((unnamed.to_string().as_str(), unnamed.namespace(), unnamed.name()), ("(unnamed)", None, ""));
    assert_eq!(size_of::<ObjectKey>(), 16);
}

#[test]
fn p09_keys_are_in_the_order_of_kubernetes_and_found_by_text() {
    let order = ["x-more/a", "x/a", "x/a-1", "x/a.1", "x/a0", "y/0"];
    let keys: BTreeMap<ObjectKey, usize> =
        order.iter().rev().map(|text| (text.parse().unwrap(), text.len())).collect();
    assert_eq!(keys.keys().map(ObjectKey::as_str).collect::<Vec<_>>(), order);
    assert_eq!(keys.get("x/a-1"), Some(&5));
}

#[test]
fn kinds_and_references_read_as_kubectl_has_them() {
    let host = Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced).unwrap();
    assert_eq!(host.to_string(), "hosts.net.example.com");
    assert_eq!(
        (host.group(), host.version(), host.api_version()),
        ("net.example.com", "v1", "net.example.com/v1")
    );
    assert_eq!((host.name(), host.plural(), host.scope()), ("Host", "hosts", Scope::Namespaced));
    let node = Kind::new("v1", "Node", "nodes", Scope::Cluster).unwrap();
    assert_eq!((node.to_string().as_str(), node.group(), node.version()), ("nodes", "", "v1"));

    let key: ObjectKey = "lab/db-0".parse().unwrap();
    let uid = Uid::new("1-2").unwrap();
    let reference = ObjectRef { kind: host.clone(), key: key.clone(), uid: Some(uid.clone()) };
    assert_eq!(reference.to_string(), "lab hosts.net.example.com/db-0");
    let reference = ObjectRef { kind: node.clone(), key: "n1".parse().unwrap(), uid: None };
    assert_eq!(reference.to_string(), "nodes/n1");
    assert_eq!(Uid::new(""), None);

    let owner = OwnerRef::controller(&host, &key, uid);
    assert!(owner.controller && *owner.name == *"db-0");
    let newer = Kind::new("net.example.com/v2", "Host", "hosts", Scope::Namespaced).unwrap();
    let other = Kind::new("v1", "Host", "hosts", Scope::Namespaced).unwrap();
    assert!(owner.is_a(&host) && owner.is_a(&newer) && !owner.is_a(&other) && !owner.is_a(&node));
}

#[test]
fn an_invalid_kind_names_its_invalid_part() {
    let check = |api_version: &str, name: &str, plural: &str, message: &str| {
        let error = Kind::new(api_version, name, plural, Scope::Cluster).unwrap_err();
        assert_eq!(report(&error), message);
    };
    let empty = "a DNS label must not be empty";
    check("", "A", "as", &format!("`` cannot be the version of a kind: {empty}"));
    check("g/", "A", "as", &format!("`` cannot be the version of a kind: {empty}"));
    check("/v1", "A", "as", "`` cannot be the group of a kind: a DNS subdomain must not be empty");
    check("v1", "", "as", &format!("`` cannot be the name of a kind: {empty}"));
    check("v1", "A", "", &format!("`` cannot be the plural of a kind: {empty}"));
    assert!(Kind::new("a/b/v1", "A", "as", Scope::Cluster).is_err());
    assert!(Kind::new("v1", "A", "As", Scope::Cluster).is_err());
    assert!(Kind::new("v1", "A/B", "as", Scope::Cluster).is_err());
}
