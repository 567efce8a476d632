//! The status of a CNF: modules as in the original, and the entries of ARP, DHCP and DNS that the
//! page promises.

use std::net::IpAddr;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::config::CnfConfig;
use super::facts::DeviceFacts;
use super::request::{CnfAnswer, CnfRequest};
use super::server::CnfServer;
use crate::model::CollectionId;

/// The modules in the order of their report. Those behind the sixth are of the page.
pub const STATUS_MODULES: [&str; 9] =
    ["conntrack", "interface", "ipsec", "route", "rule", "wan", "arp", "dhcp", "dns"];

/// Answers with all modules.
pub(super) fn all(cnf: &CnfServer, request: &CnfRequest) -> CnfAnswer {
    if request.method != Method::GET {
        return CnfAnswer::bad_method();
    }
    let (state, facts) = (cnf.state.load(), cnf.facts.load());
    let modules =
        STATUS_MODULES.map(|name| json!({ "name": name, "status": of(name, &state.config, &facts) }));
    CnfAnswer::object(StatusCode::OK, &modules)
}

/// Answers with one module.
pub(super) fn module(cnf: &CnfServer, name: &str, request: &CnfRequest) -> CnfAnswer {
    if request.method != Method::GET {
        return CnfAnswer::bad_method();
    }
    if !STATUS_MODULES.contains(&name) {
        let text = format!("Bad request URI: {name} is not supported");
        return CnfAnswer::message(StatusCode::BAD_REQUEST, &text);
    }
    let (state, facts) = (cnf.state.load(), cnf.facts.load());
    CnfAnswer::object(StatusCode::OK, &json!({ "name": name, "status": of(name, &state.config, &facts) }))
}

fn of(module: &str, config: &CnfConfig, facts: &DeviceFacts) -> Value {
    match module {
        "ipsec" => ipsec(config, facts),
        "interface" => facts.nics.iter().map(interface).collect(),
        _ => match (facts.modules.get(module), module) {
            (Some(given), _) => given.clone(),
            (None, "route") => json!({}),
            (None, "wan") => json!({ "interfaces": {}, "connected": {} }),
            (None, _) => json!([]),
        },
    }
}

/// Configured connections, and whether as many are up or being established.
fn ipsec(config: &CnfConfig, facts: &DeviceFacts) -> Value {
    let mut details = Vec::new();
    let mut is_complete = true;
    for remote in config.list(CollectionId::Remotes) {
        let connections = remote.fields.get("connections").and_then(Value::as_array);
        for connection in connections.into_iter().flatten() {
            let name = connection.get("name").and_then(Value::as_str).unwrap_or_default();
            let name = format!("{}-{name}", remote.name);
            let (up, connecting) = (facts.up.contains(&name), facts.connecting.contains(&name));
            is_complete &= up || connecting;
            let count = |is: bool| if is { "1" } else { "0" };
            details.push(json!({ "connection": name, "up": count(up), "connecting": count(connecting) }));
        }
    }
    json!({ "InitConnection": if is_complete { "success" } else { "fail" }, "details": details })
}

fn interface(nic: &super::facts::NicFact) -> Value {
    let (v4, v6): (Vec<&IpAddr>, Vec<&IpAddr>) = nic.addresses.iter().partition(|address| address.is_ipv4());
    json!({
        "name": nic.name, "ip_address": v4, "ip6_address": v6, "mac_address": nic.mac,
        "received_packets": nic.received, "send_packets": nic.sent,
        "status": if nic.is_down { "DOWN" } else { "UP" },
    })
}
