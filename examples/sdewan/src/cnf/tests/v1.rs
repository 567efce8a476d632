use serde_json::json;

use super::*;
use crate::drive::ApplyScope;
use crate::model::Service;

/// An object of each collection, and the objects that it needs.
fn samples() -> Vec<(&'static str, Value)> {
    vec![
        ("mwan3/v1/policies", json!({"name": "p", "members": [{"interface": "net0", "metric": "1", "weight": "2"}]})),
        ("mwan3/v1/rules", json!({"name": "r", "policy": "p", "dest_port": "80", "proto": "tcp"})),
        ("firewall/v1/zones", json!({"name": "lan", "network": ["net0"], "input": "ACCEPT"})),
        ("firewall/v1/zones", json!({"name": "wan", "network": ["net1"], "masq": "1"})),
        ("firewall/v1/forwardings", json!({"name": "f", "src": "lan", "dest": "wan"})),
        ("firewall/v1/rules", json!({"name": "r", "src": "lan", "target": "REJECT", "icmp_type": ["echo-reply"]})),
        ("firewall/v1/redirects", json!({"name": "d", "target": "DNAT", "src": "wan", "dest_ip": "10.0.0.2"})),
        ("networkfirewall/v1/rules", json!({"name": "n", "src": "#default", "target": "DROP"})),
        ("nat/v1/nats", json!({"name": "n", "target": "SNAT", "dest": "#source", "src_dip": "10.0.0.1"})),
        ("route/v1/routes", json!({"name": "r", "dst": "default", "dev": "#10.0.0.1", "table": "cnf"})),
        ("rule/v1/rules", json!({"name": "r", "src": "10.0.0.0/8", "prio": "5", "fwmark": "0x10", "flag": true})),
        ("application/v1/applications", json!({"name": "a", "iplist": "10.0.0.1,10.0.0.2"})),
        ("ipsec/v1/proposals", json!({
            "name": "pr", "encryption_algorithm": "aes128", "hash_algorithm": "sha256", "dh_group": "modp3072"
        })),
        ("ipsec/v1/remotes", json!({
            "name": "hub", "gateway": "%any", "authentication_method": "psk", "pre_shared_key": "k",
            "crypto_proposal": ["pr"],
            "connections": [{"name": "c", "conn_type": "tunnel", "mode": "add", "crypto_proposal": ["pr"]}]
        })),
    ]
}

async fn filled() -> TestCnf {
    let cnf = TestCnf::new().await;
    for (path, body) in samples() {
        cnf.created(path, body).await;
    }
    cnf
}

#[machinery::tokio::test]
async fn each_collection_creates_reads_replaces_and_deletes_objects() {
    let cnf = filled().await;
    let mut samples = samples();
    for (path, body) in &samples {
        let name = body["name"].as_str().unwrap();
        let one = cnf.send(Method::GET, &format!("{path}/{name}"), "").await;
        assert_eq!(one.status, StatusCode::OK);
        // Computed fields are beside those that were sent.
        let shown = one.json();
        for (field, value) in body.as_object().unwrap().iter().filter(|(field, _)| *field != "members") {
            assert_eq!(&shown[field], value, "{path} {field}");
        }
        let list = cnf.send(Method::GET, path, "").await.json();
        let key = path.rsplit('/').next().unwrap();
        assert!(list[key].as_array().unwrap().contains(&shown), "{path}");
        let replaced = cnf.send(Method::PUT, &format!("{path}/{name}"), body).await;
        assert_eq!((replaced.status, replaced.json()), (StatusCode::OK, shown), "{path}");
        let again = cnf.message(Method::POST, path, body).await;
        assert_eq!(again, (409, "Conflict".into()), "{path}");
    }
    samples.reverse();
    for (path, body) in &samples {
        let path = format!("{path}/{}", body["name"].as_str().unwrap());
        assert_eq!(cnf.message(Method::DELETE, &path, "").await, (200, "success".into()), "{path}");
        let (code, message) = cnf.message(Method::DELETE, &path, "").await;
        assert!(code == 404 && message.ends_with("is not defined"), "{message}");
        let (code, message) = cnf.message(Method::GET, &path, "").await;
        assert!(code == 404 && message.starts_with("Cannot find "), "{message}");
    }
    assert!(cnf.server.state().config.is_empty());
}

#[machinery::tokio::test]
async fn objects_show_the_fields_that_the_original_computes() {
    let cnf = filled().await;
    let get = async |path: &str| cnf.send(Method::GET, path, "").await.json();
    assert_eq!(get("mwan3/v1/policies/p").await["members"][0]["name"], "p_net0");
    assert_eq!(get("networkfirewall/v1/rules/n").await["src_val"], "net0");
    assert_eq!(get("route/v1/routes/r").await["dev_val"], "net0");
    assert_eq!(get("ipsec/v1/remotes/hub").await["enabled"], "1");
    cnf.created("rule/v1/rules", json!({"name": "s", "src": "10.0.0.0/8"})).await;
    assert_eq!(get("rule/v1/rules/s").await["flag"], false);
}

#[machinery::tokio::test]
async fn a_missing_reference_is_428_with_the_text_of_the_original() {
    let cnf = filled().await;
    let cases = [
        ("mwan3/v1/rules", json!({"name": "x", "policy": "zz"}), "Field[policy] checked failed: invalid policy [Policy[zz] is not definied]"),
        (
            "mwan3/v1/policies",
            json!({"name": "x", "members": [{"interface": "zz", "metric": "1", "weight": "1"}]}),
            "Field[members] checked failed: Incorrect policy member [Field[interface] checked failed: invalid interface [Interface[zz] is not definied]]",
        ),
        ("firewall/v1/zones", json!({"name": "x", "network": ["zz"]}), "Field[network] checked failed: invalid network [Interface[zz] is not definied]"),
        ("firewall/v1/forwardings", json!({"name": "x", "src": "lan", "dest": "zz"}), "Field[dest] checked failed: invalid dest [Zone[zz] is not definied]"),
        ("nat/v1/nats", json!({"name": "x", "target": "MASQUERADE", "dest": "zz"}), "Field[dest] checked failed: invalid dest"),
        ("nat/v1/nats", json!({"name": "x", "target": "SNAT", "dest": "#source", "src_dip": "9.9.9.9"}), "ip not found on all interfaces"),
        ("route/v1/routes", json!({"name": "x", "dst": "default", "dev": "zz"}), "Field[dev] checked failed: Invalid interface"),
        ("networkfirewall/v1/rules", json!({"name": "x", "src": "#9.9.9.9", "target": "DROP"}), "Field[src] checked failed: Invalid interface"),
        (
            "ipsec/v1/remotes",
            json!({"name": "x", "gateway": "1.1.1.1", "authentication_method": "psk", "pre_shared_key": "k",
                "connections": [{"name": "y", "conn_type": "tunnel", "mode": "add", "crypto_proposal": ["zz"]}]}),
            "Field[connections] checked failed: invalid connection [Field[crypto_proposal] checked failed: invalid crypto_proposal [Proposal[zz] is not definied]]",
        ),
    ];
    for (path, body, text) in cases {
        let before = cnf.server.state();
        assert_eq!(cnf.message(Method::POST, path, &body).await, (428, text.into()), "{path} {body}");
        assert_eq!(cnf.server.state(), before);
    }
}

#[machinery::tokio::test]
async fn an_invalid_field_is_400_with_the_text_of_the_original() {
    let cnf = filled().await;
    let member = |interface: &str, metric: Value| json!({"interface": interface, "metric": metric, "weight": "1"});
    let cases = [
        ("mwan3/v1/rules", json!({"policy": "p"}), "Field[name] checked failed: required"),
        ("mwan3/v1/rules", json!({"name": " ", "policy": "p"}), "Field[name] checked failed: required"),
        ("mwan3/v1/rules", json!({"name": "x"}), "Field[policy] checked failed: required"),
        ("mwan3/v1/rules", json!({"name": "x", "policy": "p", "src_ip": "1.2.3.4/33"}), "Field[src_ip] checked failed: invalid ip address"),
        ("mwan3/v1/rules", json!({"name": "x", "policy": "p", "dest_port": "0"}), "Field[dest_port] checked failed: invalid dest_port"),
        ("mwan3/v1/rules", json!({"name": "x", "policy": "p", "dest_port": 80}), "Field[dest_port] checked failed: invalid dest_port"),
        ("mwan3/v1/rules", json!({"name": "x", "policy": "p", "proto": "esp"}), "Field[proto] checked failed: wrong proto"),
        ("mwan3/v1/policies", json!({"name": "x", "members": []}), "Field[members] checked failed: Incorrect policy member [Not an array]"),
        (
            "mwan3/v1/policies",
            json!({"name": "x", "members": [member("net0", json!(1))]}),
            "Field[members] checked failed: Incorrect policy member [Field[metric] checked failed: metric should be greater than 0]",
        ),
        ("firewall/v1/zones", json!({"name": "abcdefghijkl", "network": ["net0"]}), "Field[name] checked failed: invalid zone name [The length of Name shall not exceed 11 characters]"),
        ("firewall/v1/rules", json!({"name": "x", "target": "MARK"}), "set_mark or set_xmark is required for MARK"),
        ("firewall/v1/rules", json!({"name": "x", "icmp_type": ["zz"]}), "Field[icmp_type] checked failed: invalid icmp_type"),
        ("firewall/v1/redirects", json!({"name": "x", "target": "SNAT", "src": "lan"}), "src_dip is required for SNAT"),
        ("firewall/v1/redirects", json!({"name": "x", "target": "DNAT", "dest": "lan"}), "src is required for DNAT"),
        ("nat/v1/nats", json!({"name": "x", "target": "DNAT"}), "dest_ip or dest_port are required for DNAT"),
        ("rule/v1/rules", json!({"name": "x", "src": "1.1.1.1", "fwmark": "0x123456789"}), "Field[fwmark] checked failed: Invalid fwmark [too large]"),
        ("ipsec/v1/remotes", json!({"name": "x", "gateway": "1.1.1.1", "authentication_method": "psk", "connections": [{"name": "y", "conn_type": "tunnel", "mode": "add"}]}), "Secret does not exists for the authentication method: psk"),
        ("ipsec/v1/proposals", json!({"name": "x", "encryption_algorithm": "zz"}), "Field[encryption_algorithm] checked failed: invalid encryption_algorithm"),
    ];
    for (path, body, text) in cases {
        let before = cnf.server.state();
        assert_eq!(cnf.message(Method::POST, path, &body).await, (400, text.into()), "{path} {body}");
        assert_eq!(cnf.server.state(), before);
    }
    for body in ["", "x", "[]", "5", "null"] {
        let (code, message) = cnf.message(Method::POST, "mwan3/v1/rules", body).await;
        assert!(code == 400 && message.starts_with("Body parse error: "), "{body}: {message}");
    }
}

#[machinery::tokio::test]
async fn an_object_in_use_is_not_deleted() {
    let cnf = filled().await;
    for (path, text) in [
        ("mwan3/v1/policies/p", "policy p is used"),
        ("firewall/v1/zones/wan", "zone wan is used"),
        ("ipsec/v1/proposals/pr", "proposal pr is used"),
    ] {
        assert_eq!(cnf.message(Method::DELETE, path, "").await, (409, text.into()));
    }
    // Its replacement is another matter.
    let body = json!({"members": [{"interface": "net1", "metric": "1", "weight": "1"}]});
    assert_eq!(cnf.send(Method::PUT, "mwan3/v1/policies/p", &body).await.status, StatusCode::OK);
}

#[machinery::tokio::test]
async fn names_of_sections_are_shared_as_on_the_device() {
    let cnf = filled().await;
    let policy = |name: &str| json!({"name": name, "members": [{"interface": "net0", "metric": "1", "weight": "1"}]});
    let remote = |name: &str, connection: &str| {
        json!({"name": name, "gateway": "1.1.1.1", "authentication_method": "psk", "pre_shared_key": "k",
            "connections": [{"name": connection, "conn_type": "tunnel", "mode": "add"}]})
    };
    for (path, body) in [
        ("mwan3/v1/policies", policy("net0")),
        ("mwan3/v1/policies", policy("r")),
        ("mwan3/v1/rules", json!({"name": "p", "policy": "p"})),
        ("mwan3/v1/rules", json!({"name": "p_net0", "policy": "p"})),
        ("ipsec/v1/remotes", remote("pr", "x")),
        ("ipsec/v1/remotes", remote("x", "c")),
        ("ipsec/v1/remotes", remote("x", "x")),
    ] {
        assert_eq!(cnf.message(Method::POST, path, &body).await, (409, "Conflict".into()), "{body}");
    }
    // Rules of the firewall have a space of their own.
    cnf.created("firewall/v1/rules", json!({"name": "p", "target": "DROP"})).await;
}

#[machinery::tokio::test]
async fn a_put_keeps_the_place_and_a_post_appends() {
    let cnf = filled().await;
    for name in ["s", "t"] {
        cnf.created("mwan3/v1/rules", json!({"name": name, "policy": "p"})).await;
    }
    let body = json!({"policy": "p", "dest_port": "443", "name": "other"});
    let replaced = cnf.send(Method::PUT, "mwan3/v1/rules/s", &body).await;
    assert_eq!(replaced.json(), json!({"name": "s", "policy": "p", "dest_port": "443"}));
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["r", "s", "t"]);
    // A PUT of an absent object creates it; a refused one leaves the old object.
    assert_eq!(cnf.send(Method::PUT, "mwan3/v1/rules/u", &body).await.status, StatusCode::OK);
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["r", "s", "t", "u"]);
    let before = cnf.server.state();
    assert_eq!(cnf.message(Method::PUT, "mwan3/v1/rules/s", json!({"policy": "zz"})).await.0, 428);
    assert_eq!(cnf.server.state(), before);
}

#[machinery::tokio::test]
async fn other_methods_and_paths_have_the_codes_of_the_original() {
    let cnf = filled().await;
    for (method, path, code) in [
        (Method::PATCH, "mwan3/v1/rules/r", 405),
        (Method::PATCH, "mwan3/v1/rules", 405),
        (Method::PUT, "mwan3/v1/rules", 400),
        (Method::DELETE, "mwan3/v1/rules", 400),
        (Method::POST, "mwan3/v1/rules/r", 400),
        (Method::GET, "mwan3/v1/rules/a/b", 400),
        (Method::GET, "mwan3/v1/zones", 404),
        (Method::GET, "x/v1/rules", 404),
        (Method::POST, "v1/services", 405),
        (Method::GET, "v1/service/mwan3", 405),
        (Method::PUT, "v1/service/ssh", 400),
        (Method::POST, "v1/status", 405),
        (Method::GET, "v1/status/x", 400),
        (Method::POST, "v2/config", 405),
    ] {
        assert_eq!(cnf.send(method.clone(), path, "{}").await.status.as_u16(), code, "{method} {path}");
    }
    for page in ["v1", "mwan3/v1", "firewall/v1", "ipsec/v1"] {
        let text = "sdewan restful API service v1".to_owned();
        assert_eq!(cnf.message(Method::GET, page, "").await, (200, text));
    }
}

#[machinery::tokio::test]
async fn changes_with_a_service_apply_at_its_restart_and_others_at_once() {
    let cnf = filled().await;
    let at_once = cnf.path.scopes();
    assert!(at_once.iter().all(|scope| matches!(scope, ApplyScope::Collection(_))), "{at_once:?}");
    assert_eq!(at_once.len(), 5);
    assert!(cnf.path.applied().list(CollectionId::Policies).is_empty());
    let services = cnf.send(Method::GET, "v1/services", "").await.json();
    assert_eq!(services, json!({"services": ["mwan3", "firewall", "ipsec"]}));
    for (body, message) in [
        (json!({"action": "zz"}), "Field[action] checked failed: wrong action"),
        (json!({}), "Field[action] checked failed: required"),
    ] {
        assert_eq!(cnf.message(Method::PUT, "v1/service/mwan3", &body).await, (400, message.into()));
    }
    let restart = json!({"action": "restart"});
    assert_eq!(cnf.message(Method::PUT, "v1/service/mwan3", &restart).await, (200, "success".into()));
    assert_eq!(cnf.path.scopes().last(), Some(&ApplyScope::Service(Service::Mwan3)));
    let (applied, state) = (cnf.path.applied(), cnf.server.state());
    assert_eq!(applied.list(CollectionId::Mwan3Rules), state.config.list(CollectionId::Mwan3Rules));
    assert!(applied.list(CollectionId::Zones).is_empty());
    assert_eq!(cnf.server.counts().reloads, 1);
    cnf.path.fail(Some("no memory"));
    let (code, message) = cnf.message(Method::DELETE, "nat/v1/nats/n", "").await;
    assert!(code == 500 && message.contains("no memory"), "{message}");
    assert_eq!(cnf.server.state(), state);
}

#[machinery::tokio::test]
async fn legacy_services_have_the_codes_of_the_original() {
    let cnf = TestCnf::new().await;
    let path = "service/v1/services";
    let service = json!({"name": "s", "fullname": "a.b", "port": "80", "dport": "81"});
    assert_eq!(cnf.send(Method::POST, path, &service).await.json(), service);
    assert_eq!(cnf.send(Method::GET, path, "").await.json(), json!({"services": [service]}));
    assert_eq!(cnf.send(Method::GET, "service/v1/services/s", "").await.json(), service);
    let refused = (409, "Duplicated Service Configuration".to_owned());
    assert_eq!(cnf.message(Method::POST, path, &service).await, refused);
    let range = json!({"name": "t", "fullname": "a.b", "port": "65535", "dport": "81"});
    assert_eq!(cnf.message(Method::POST, path, &range).await, (416, "Invalid Port Range".into()));
    assert_eq!(cnf.message(Method::GET, "service/v1/services/t", "").await, (404, "Cannot find service[t]".into()));
    assert_eq!(cnf.message(Method::PUT, "service/v1/services/s", "{}").await.0, 405);
    assert_eq!(cnf.message(Method::DELETE, "service/v1/services/s", "").await, (200, "success".into()));
}

#[machinery::tokio::test]
async fn the_status_reports_facts_and_configured_connections() {
    let cnf = filled().await;
    let status = cnf.send(Method::GET, "v1/status", "").await.json();
    let names: Vec<_> = status.as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, STATUS_MODULES);
    let ipsec = cnf.send(Method::GET, "v1/status/ipsec", "").await.json();
    assert_eq!(ipsec["status"]["InitConnection"], "fail");
    assert_eq!(ipsec["status"]["details"][0]["connection"], "hub-c");
    let mut facts = CnfFacts::of_nics(["net0"]);
    facts.up.insert("hub-c".into());
    facts.modules.insert("arp".into(), json!([{"ip": "10.0.0.9", "mac": "aa:bb:cc:dd:ee:ff"}]));
    cnf.server.set_facts(facts);
    let ipsec = cnf.send(Method::GET, "v1/status/ipsec", "").await.json();
    assert_eq!(ipsec["status"]["InitConnection"], "success");
    assert_eq!(cnf.send(Method::GET, "v1/status/arp", "").await.json()["status"][0]["ip"], "10.0.0.9");
    assert_eq!(cnf.send(Method::GET, "v1/status/interface", "").await.json()["status"][0]["name"], "net0");
}
