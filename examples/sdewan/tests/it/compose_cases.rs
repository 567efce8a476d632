//! Compositions of CRs into a desired state.

use std::sync::Arc;

use sdewan::model::{CnfKey, CollectionId, Networks, SdewanKind, SdewanObject};
use sdewan::plan::{Composition, CrInput, Problem, ProblemKind, Verdict, compose};
use serde_json::{Value, from_value, json};

fn cr(kind: &str, name: &str, age: u32, more: Value) -> CrInput {
    let mut object = json!({
        "metadata": {
            "name": name, "namespace": "default", "labels": {"sdewanPurpose": "cnf-1"},
            "creationTimestamp": format!("2026-01-01T00:{:02}:00Z", 59 - age),
        },
        "spec": {},
    });
    for (part, fields) in more.as_object().unwrap() {
        match object[part].as_object_mut() {
            Some(known) => known.extend(fields.as_object().unwrap().clone()),
            None => object[part] = fields.clone(),
        }
    }
    let resource = SdewanKind::named(kind).unwrap().served().next().unwrap();
    CrInput { resource, object: Arc::new(from_value::<SdewanObject>(object).unwrap()) }
}

fn policy(name: &str, age: u32, more: Value) -> CrInput {
    let mut more = more;
    more["spec"] = json!({"members": [{"network": "net-a", "metric": 1, "weight": 1}]});
    cr("Mwan3Policy", name, age, more)
}

fn rule(name: &str, age: u32, policy: &str, more: Value) -> CrInput {
    let mut more = more;
    more["spec"] = json!({"policy": policy});
    cr("Mwan3Rule", name, age, more)
}

fn composed(inputs: &[CrInput]) -> Composition {
    let cnf = CnfKey { namespace: "default".into(), purpose: "cnf-1".into() };
    let networks = Networks::read(Some(r#"{"interface":[{"name":"net-a","interface":"net1"}]}"#));
    compose(&cnf, inputs, &networks, &|_, _| Err("none".into()), &|_| None, &|collection, name| {
        (collection, name) == (CollectionId::Policies, "foreign")
    })
}

fn names(composition: &Composition, collection: CollectionId) -> Vec<&str> {
    composition.desired.of(collection).iter().map(|object| object.name()).collect()
}

fn problem(verdict: &Verdict) -> (ProblemKind, &str) {
    match verdict {
        Verdict::Excluded(Problem { kind, message }) => (*kind, message),
        other => panic!("{other:?}"),
    }
}

fn deleting(finalizer: bool) -> Value {
    let finalizers = if finalizer { json!(["rule.finalizers.sdewan.akraino.org"]) } else { json!([]) };
    json!({"metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": finalizers}})
}

fn applied() -> Value {
    json!({"metadata": {"finalizers": ["rule.finalizers.sdewan.akraino.org"]}})
}

#[test]
fn objects_are_in_the_order_of_label_age_and_name() {
    let ordered =
        |order: &str| json!({"metadata": {"labels": {"sdewanPurpose": "cnf-1", "sdewan/order": order}}});
    let all = [
        policy("p", 9, json!({})),
        rule("b", 1, "p", json!({})),
        rule("a", 1, "p", json!({})),
        rule("old", 5, "p", json!({})),
        rule("first", 0, "p", ordered("999")),
        rule("last", 8, "p", ordered("1001")),
        rule("wrong", 8, "p", ordered("x")),
    ];
    let composition = composed(&all);
    assert_eq!(names(&composition, CollectionId::Mwan3Rules), ["first", "old", "a", "b", "last"]);
    assert_eq!(problem(&composition.verdicts[6]).0, ProblemKind::Invalid);
}

#[test]
fn the_younger_of_two_holders_of_a_name_names_the_older() {
    let snat = cr("FirewallSNAT", "x", 2, json!({"spec": {"src_dip": "10.0.0.1", "dest": "*"}}));
    let dnat = cr("FirewallDNAT", "x", 1, json!({"spec": {"src": "*"}}));
    let composition = composed(&[dnat, snat]);
    let (kind, message) = problem(&composition.verdicts[0]);
    assert_eq!((kind, composition.verdicts[1].clone()), (ProblemKind::NameTaken, Verdict::Included));
    assert!(message.contains("firewallsnat \"x\""), "{message}");

    let remote = |kind: &str, name: &str, age, connection: &str| {
        let connection =
            json!({"name": connection, "conn_type": "tunnel", "mode": "add", "local_subnet": "10.0.0.0/8"});
        let spec = json!({"remote": "%any", "authentication_method": "psk", "pre_shared_key": "k", "crypto_proposal": ["p"], "connections": [connection]});
        cr(kind, name, age, json!({"spec": spec}))
    };
    let proposal = cr(
        "IpsecProposal",
        "p",
        9,
        json!({"spec": {"encryption_algorithm": "aes", "hash_algorithm": "sha1", "dh_group": "modp2048"}}),
    );
    let all = [
        proposal,
        remote("IpsecSite", "a", 5, "c"),
        remote("IpsecHost", "a", 4, "d"),
        remote("IpsecHost", "b", 3, "c"),
    ];
    let composition = composed(&all);
    assert!(problem(&composition.verdicts[2]).1.contains("ipsecsite \"a\""));
    assert!(problem(&composition.verdicts[3]).1.contains("ipsecsite \"a\""));

    let composition =
        composed(&[policy("x", 2, json!({})), rule("x", 1, "x", json!({})), policy("net1", 5, json!({}))]);
    assert!(problem(&composition.verdicts[1]).1.contains("mwan3policy \"x\""));
    assert!(problem(&composition.verdicts[2]).1.contains("NIC"));
}

#[test]
fn a_rule_awaits_its_policy_unless_a_foreign_one_is_there() {
    let composition = composed(&[
        rule("r", 1, "p", json!({})),
        rule("s", 1, "foreign", json!({})),
        rule("t", 1, "default", json!({})),
    ]);
    let (kind, message) = problem(&composition.verdicts[0]);
    assert_eq!((kind, message), (ProblemKind::MissingDependency, "awaits mwan3policy \"p\""));
    assert_eq!(names(&composition, CollectionId::Mwan3Rules), ["s", "t"]);
}

#[test]
fn a_deleted_policy_stays_while_an_applied_rule_uses_it() {
    let composition = composed(&[policy("p", 5, deleting(true)), rule("r", 1, "p", applied())]);
    assert_eq!(composition.verdicts[0], Verdict::InUse { by: "mwan3rule \"r\"".into() });
    assert_eq!(names(&composition, CollectionId::Policies), ["p"]);
    // A new rule does not prolong its stay.
    let composition = composed(&[policy("p", 5, deleting(true)), rule("r", 1, "p", json!({}))]);
    assert_eq!(composition.verdicts[0], Verdict::Leaving);
    assert!(problem(&composition.verdicts[1]).1.contains("being deleted"));
    let composition = composed(&[policy("p", 5, deleting(true)), rule("r", 1, "p", deleting(true))]);
    assert!(composition.desired.is_empty());
    // A successor of the same name takes over.
    let dnat = cr("FirewallDNAT", "x", 1, json!({"spec": {"src": "*"}}));
    let snat = cr(
        "FirewallSNAT",
        "x",
        2,
        json!({"spec": {"src_dip": "10.0.0.1", "dest": "*"}, "metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z"}}),
    );
    let composition = composed(&[snat, dnat]);
    assert_eq!(composition.verdicts, [Verdict::Leaving, Verdict::Included]);
}

#[test]
fn an_object_that_another_cnf_still_has_is_awaited() {
    let elsewhere =
        json!({"status": {"appliedTo": {"namespace": "default", "purpose": "cnf-2", "deployment": "d"}}});
    let composition = composed(&[policy("p", 5, elsewhere)]);
    assert_eq!(problem(&composition.verdicts[0]).0, ProblemKind::Moving);
}

proptest::proptest! {
    #[test]
    fn the_order_of_the_input_does_not_matter(seed in 0..1000_u64) {
        let mut all = vec![
            policy("p", 3, json!({})), policy("q", 2, deleting(true)), rule("a", 3, "p", applied()),
            rule("b", 3, "q", applied()), rule("c", 2, "z", json!({})), rule("p", 1, "p", json!({})),
            cr("FirewallDNAT", "x", 1, json!({"spec": {"src": "*"}})),
            cr("FirewallSNAT", "x", 1, json!({"spec": {"src_dip": "10.0.0.1", "dest": "*"}})),
        ];
        let expected = composed(&all).desired;
        let mut number = seed;
        for place in (1..all.len()).rev() {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.swap(place, (number >> 33) as usize % (place + 1));
        }
        proptest::prop_assert_eq!(composed(&all).desired, expected);
    }
}
