//! Tests of conversions.

use super::*;
use serde_json::json;

fn convert_kind(kind: &str, spec: Value) -> Result<RestObject, String> {
    let annotation = r#"{"interface":[{"name":"one","interface":"net1"},{"name":"two","interface":"net2"}]}"#;
    let networks = Networks::read(Some(annotation));
    let secret = |name: &str, key: &str| match (name, key) {
        ("psk", "key") => Ok("k".to_owned()),
        _ => Err(format!("Secret {name} has no key {key:?}")),
    };
    let context = ConvertContext { networks: Some(&networks), secret: &secret, addresses: None };
    let kind = SdewanKind::named(kind).unwrap();
    convert(kind, "x", spec.as_object().unwrap(), &context)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

#[test]
fn networks_become_nics_and_numbers_texts() {
    let members =
        json!([{"network": "one", "metric": 1, "weight": 2}, {"network": "two", "metric": 1, "weight": 3}]);
    let policy = convert_kind("Mwan3Policy", json!({"members": members})).unwrap();
    let expected = json!({"name": "x", "members": [
        {"interface": "net1", "metric": "1", "weight": "2"}, {"interface": "net2", "metric": "1", "weight": "3"},
    ]});
    assert_eq!(policy.body(), expected);
}

#[test]
fn targets_are_forced_and_flags_renamed() {
    let dnat =
        convert_kind("FirewallDNAT", json!({"src": "wan1", "target": "SNAT", "src_dport": 19900})).unwrap();
    assert_eq!((dnat.text("target"), dnat.text("src_dport")), ("DNAT", "19900"));
    let rule = convert_kind("CNFRouteRule", json!({"src": "10.0.0.0/8", "not": true})).unwrap();
    assert_eq!(rule.fields().get("flag"), Some(&json!(true)));
}

#[test]
fn secrets_come_from_their_reference() {
    let site = |psk: Value| {
        let mut spec = json!({
            "remote": "%any", "authentication_method": "psk", "crypto_proposal": ["p"],
            "connections": [{"name": "a", "conn_type": "tunnel", "mode": "add", "local_subnet": "10.0.0.0/8"}],
        });
        spec.as_object_mut().unwrap().extend(psk.as_object().unwrap().clone());
        convert_kind("IpsecSite", spec)
    };
    let by_reference = site(json!({"pre_shared_key_ref": {"name": "psk", "key": "key"}})).unwrap();
    assert_eq!(by_reference, site(json!({"pre_shared_key": "k"})).unwrap());
    let missing = site(json!({"pre_shared_key_ref": {"name": "psk", "key": "other"}})).unwrap_err();
    assert!(missing.contains("Secret psk has no key"), "{missing}");
    assert!(site(json!({})).unwrap_err().contains("Secret does not exists"));
    let twice = json!({"pre_shared_key": "k", "pre_shared_key_ref": {"name": "psk", "key": "key"}});
    assert!(site(twice).unwrap_err().contains("given twice"));
}

#[test]
fn every_wrong_field_is_named_with_its_form() {
    let cases = [
        ("Mwan3Rule", json!({}), "spec.policy: is required"),
        ("Mwan3Rule", json!({"policy": "p", "dest_port": 0}), "spec.dest_port: \"0\" must be a port"),
        ("Mwan3Rule", json!({"policy": "p", "dest_port": 70000}), "must be a port"),
        ("Mwan3Rule", json!({"policy": 7}), "spec.policy: must be a text"),
        (
            "Mwan3Policy",
            json!({"members": [{"network": "none", "metric": 1, "weight": 1}]}),
            "spec.members[0].network: network \"none\" is not in the annotation",
        ),
        (
            "Mwan3Policy",
            json!({"members": [{"network": "one", "metric": 0, "weight": 1}]}),
            "spec.members[0].metric",
        ),
        (
            "Mwan3Policy",
            json!({"members": [{"network": "one", "metric": 1, "weight": 1}, {"network": "one", "metric": 1, "weight": 1}]}),
            "spec.members[1]: \"net1\" is there twice",
        ),
        ("FirewallSNAT", json!({"src": "a"}), "src_dip is required for SNAT"),
        ("FirewallRule", json!({"src": "a", "target": "MARK"}), "set_mark or set_xmark is required for MARK"),
        ("CNFNAT", json!({"target": "DNAT"}), "dest_ip or dest_port are required for DNAT"),
        ("CNFRouteRule", json!({"not": "x", "src": "10.0.0.1"}), "spec.not: must be true or false"),
        (
            "IpsecProposal",
            json!({"encryption_algorithm": "rot13", "hash_algorithm": "md5", "dh_group": "modp768"}),
            "spec.encryption_algorithm: \"rot13\"",
        ),
    ];
    for (kind, spec, expected) in cases {
        let error = convert_kind(kind, spec.clone()).unwrap_err();
        assert!(error.contains(expected), "{kind} {spec}: {error}");
    }
}
