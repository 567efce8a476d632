use serde_json::json;

use super::filled::filled;
use super::*;

#[machinery::tokio::test]
async fn a_missing_reference_is_428_with_the_text_of_the_original() {
    let cnf = filled().await;
    let cases = [
        (
            "mwan3/v1/rules",
            json!({"name": "x", "policy": "zz"}),
            "Field[policy] checked failed: invalid policy [Policy[zz] is not definied]",
        ),
        (
            "mwan3/v1/policies",
            json!({"name": "x", "members": [{"interface": "zz", "metric": "1", "weight": "1"}]}),
            "Field[members] checked failed: Incorrect policy member [Field[interface] checked failed: invalid interface [Interface[zz] is not definied]]",
        ),
        (
            "firewall/v1/zones",
            json!({"name": "x", "network": ["zz"]}),
            "Field[network] checked failed: invalid network [Interface[zz] is not definied]",
        ),
        (
            "firewall/v1/forwardings",
            json!({"name": "x", "src": "lan", "dest": "zz"}),
            "Field[dest] checked failed: invalid dest [Zone[zz] is not definied]",
        ),
        (
            "nat/v1/nats",
            json!({"name": "x", "target": "MASQUERADE", "dest": "zz"}),
            "Field[dest] checked failed: invalid dest",
        ),
        (
            "nat/v1/nats",
            json!({"name": "x", "target": "SNAT", "dest": "#source", "src_dip": "9.9.9.9"}),
            "ip not found on all interfaces",
        ),
        (
            "route/v1/routes",
            json!({"name": "x", "dst": "default", "dev": "zz"}),
            "Field[dev] checked failed: Invalid interface",
        ),
        (
            "networkfirewall/v1/rules",
            json!({"name": "x", "src": "#9.9.9.9", "target": "DROP"}),
            "Field[src] checked failed: Invalid interface",
        ),
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
    let member =
        |interface: &str, metric: Value| json!({"interface": interface, "metric": metric, "weight": "1"});
    let cases = [
        ("mwan3/v1/rules", json!({"policy": "p"}), "Field[name] checked failed: required"),
        ("mwan3/v1/rules", json!({"name": " ", "policy": "p"}), "Field[name] checked failed: required"),
        ("mwan3/v1/rules", json!({"name": "x"}), "Field[policy] checked failed: required"),
        (
            "mwan3/v1/rules",
            json!({"name": "x", "policy": "p", "src_ip": "1.2.3.4/33"}),
            "Field[src_ip] checked failed: invalid ip address",
        ),
        (
            "mwan3/v1/rules",
            json!({"name": "x", "policy": "p", "dest_port": "0"}),
            "Field[dest_port] checked failed: invalid dest_port",
        ),
        (
            "mwan3/v1/rules",
            json!({"name": "x", "policy": "p", "dest_port": 80}),
            "Field[dest_port] checked failed: invalid dest_port",
        ),
        (
            "mwan3/v1/rules",
            json!({"name": "x", "policy": "p", "proto": "esp"}),
            "Field[proto] checked failed: wrong proto",
        ),
        (
            "mwan3/v1/policies",
            json!({"name": "x", "members": []}),
            "Field[members] checked failed: Incorrect policy member [Not an array]",
        ),
        (
            "mwan3/v1/policies",
            json!({"name": "x", "members": [member("net0", json!(1))]}),
            "Field[members] checked failed: Incorrect policy member [Field[metric] checked failed: metric should be greater than 0]",
        ),
        (
            "firewall/v1/zones",
            json!({"name": "abcdefghijkl", "network": ["net0"]}),
            "Field[name] checked failed: invalid zone name [The length of Name shall not exceed 11 characters]",
        ),
        (
            "firewall/v1/rules",
            json!({"name": "x", "target": "MARK"}),
            "set_mark or set_xmark is required for MARK",
        ),
        (
            "firewall/v1/rules",
            json!({"name": "x", "icmp_type": ["zz"]}),
            "Field[icmp_type] checked failed: invalid icmp_type",
        ),
        (
            "firewall/v1/redirects",
            json!({"name": "x", "target": "SNAT", "src": "lan"}),
            "src_dip is required for SNAT",
        ),
        (
            "firewall/v1/redirects",
            json!({"name": "x", "target": "DNAT", "dest": "lan"}),
            "src is required for DNAT",
        ),
        ("nat/v1/nats", json!({"name": "x", "target": "DNAT"}), "dest_ip or dest_port are required for DNAT"),
        (
            "rule/v1/rules",
            json!({"name": "x", "src": "1.1.1.1", "fwmark": "0x123456789"}),
            "Field[fwmark] checked failed: Invalid fwmark [too large]",
        ),
        (
            "ipsec/v1/remotes",
            json!({"name": "x", "gateway": "1.1.1.1", "authentication_method": "psk", "connections": [{"name": "y", "conn_type": "tunnel", "mode": "add"}]}),
            "Secret does not exists for the authentication method: psk",
        ),
        (
            "ipsec/v1/proposals",
            json!({"name": "x", "encryption_algorithm": "zz"}),
            "Field[encryption_algorithm] checked failed: invalid encryption_algorithm",
        ),
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
    let policy =
        |name: &str| json!({"name": name, "members": [{"interface": "net0", "metric": "1", "weight": "1"}]});
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
