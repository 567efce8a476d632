//! Columns of endpoints, Ingresses and policies of networks.

use serde_json::Value;

use super::workload::selector;
use super::{BuiltIn, Head, count, each, nothing_more, or, size};
use crate::table::column::name_and_age;

/// How many hosts, ports or addresses are shown.
const SHOWN: usize = 3;

pub(super) static ENDPOINTS: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Endpoints", "The addresses with their ports."), Head::AGE],
    cells: |endpoints, now| {
        let (name, age) = name_and_age(endpoints, now);
        vec![name, addresses(&endpoints["subsets"]).into(), age]
    },
    conditions: nothing_more,
};

pub(super) static ENDPOINT_SLICE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("AddressType", "The type of the addresses."),
        Head::text("Ports", "The ports of all addresses."),
        Head::text("Endpoints", "The addresses."),
        Head::AGE,
    ],
    cells: |slice, now| {
        let (name, age) = name_and_age(slice, now);
        let ports = each(&slice["ports"]).map(|port| match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        });
        let all = each(&slice["endpoints"]).flat_map(|endpoint| each(&endpoint["addresses"]));
        let all = all.filter_map(Value::as_str).map(str::to_owned);
        let shown = |list: Vec<String>| if list.is_empty() { "<unset>".to_owned() } else { some(list) };
        vec![
            name,
            or(&slice["addressType"], ""),
            shown(ports.collect()).into(),
            shown(all.collect()).into(),
            age,
        ]
    },
    conditions: nothing_more,
};

pub(super) static INGRESS: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Class", "The class of its controller."),
        Head::text("Hosts", "The hosts of its rules."),
        Head::text("Address", "The address of its load balancer."),
        Head::text("Ports", "The ports that it listens on."),
        Head::AGE,
    ],
    cells: |ingress, now| {
        let ((name, age), spec) = (name_and_age(ingress, now), &ingress["spec"]);
        let hosts = each(&spec["rules"]).filter_map(|rule| rule["host"].as_str());
        let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect();
        let balancers = each(&ingress["status"]["loadBalancer"]["ingress"]);
        let named = balancers.filter_map(|one| {
            let text = |field: &str| one[field].as_str().filter(|text| !text.is_empty());
            text("ip").or(text("hostname"))
        });
        let named: std::collections::BTreeSet<&str> = named.collect();
        let named: Vec<&str> = named.into_iter().collect();
        vec![
            name,
            or(&spec["ingressClassName"], "<none>"),
            if hosts.is_empty() { "*".into() } else { some(hosts).into() },
            named.join(",").into(),
            if size(&spec["tls"]) > 0 { "80, 443" } else { "80" }.into(),
            age,
        ]
    },
    conditions: nothing_more,
};

pub(super) static NETWORK_POLICY: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Pod-Selector", "The pods that it applies to."), Head::AGE],
    cells: |policy, now| {
        let (name, age) = name_and_age(policy, now);
        let selected = selector(&policy["spec"]["podSelector"]);
        vec![name, if selected.is_empty() { "<none>".into() } else { selected.into() }, age]
    },
    conditions: nothing_more,
};

/// `10.1.2.3:80,10.1.2.4:80`
fn addresses(subsets: &Value) -> String {
    let mut all = Vec::new();
    for subset in each(subsets) {
        let ips = || each(&subset["addresses"]).filter_map(|address| address["ip"].as_str());
        if size(&subset["ports"]) == 0 {
            all.extend(ips().map(str::to_owned));
        }
        for port in each(&subset["ports"]) {
            let port = count(&port["port"]);
            let with_port =
                |ip: &str| if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
            all.extend(ips().map(with_port));
        }
    }
    if size(subsets) == 0 { "<none>".to_owned() } else { some(all) }
}

/// Joins the first items, and counts the others.
fn some(list: Vec<String>) -> String {
    let more = list.len().saturating_sub(SHOWN);
    let shown = list[..list.len() - more].join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}
