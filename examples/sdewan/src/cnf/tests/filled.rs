//! A CNF with an object of each collection.

use serde_json::json;

use super::*;

/// An object of each collection, and the objects that it needs.
pub(super) fn samples() -> Vec<(&'static str, Value)> {
    vec![
        (
            "mwan3/v1/policies",
            json!({"name": "p", "members": [{"interface": "net0", "metric": "1", "weight": "2"}]}),
        ),
        ("mwan3/v1/rules", json!({"name": "r", "policy": "p", "dest_port": "80", "proto": "tcp"})),
        ("firewall/v1/zones", json!({"name": "lan", "network": ["net0"], "input": "ACCEPT"})),
        ("firewall/v1/zones", json!({"name": "wan", "network": ["net1"], "masq": "1"})),
        ("firewall/v1/forwardings", json!({"name": "f", "src": "lan", "dest": "wan"})),
        (
            "firewall/v1/rules",
            json!({"name": "r", "src": "lan", "target": "REJECT", "icmp_type": ["echo-reply"]}),
        ),
        (
            "firewall/v1/redirects",
            json!({"name": "d", "target": "DNAT", "src": "wan", "dest_ip": "10.0.0.2"}),
        ),
        ("networkfirewall/v1/rules", json!({"name": "n", "src": "#default", "target": "DROP"})),
        ("nat/v1/nats", json!({"name": "n", "target": "SNAT", "dest": "#source", "src_dip": "10.0.0.1"})),
        ("route/v1/routes", json!({"name": "r", "dst": "default", "dev": "#10.0.0.1", "table": "cnf"})),
        (
            "rule/v1/rules",
            json!({"name": "r", "src": "10.0.0.0/8", "prio": "5", "fwmark": "0x10", "flag": true}),
        ),
        ("application/v1/applications", json!({"name": "a", "iplist": "10.0.0.1,10.0.0.2"})),
        (
            "ipsec/v1/proposals",
            json!({
                "name": "pr", "encryption_algorithm": "aes128", "hash_algorithm": "sha256", "dh_group": "modp3072"
            }),
        ),
        (
            "ipsec/v1/remotes",
            json!({
                "name": "hub", "gateway": "%any", "authentication_method": "psk", "pre_shared_key": "k",
                "crypto_proposal": ["pr"],
                "connections": [{"name": "c", "conn_type": "tunnel", "mode": "add", "crypto_proposal": ["pr"]}]
            }),
        ),
    ]
}

pub(super) async fn filled() -> TestCnf {
    let cnf = TestCnf::new().await;
    for (path, body) in samples() {
        cnf.created(path, body).await;
    }
    cnf
}
