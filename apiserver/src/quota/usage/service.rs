//! Usage of services: node ports and load balancers.

use serde_json::Value;

use super::Amounts;
use crate::quota::QuotaAmount;

const NODE_PORTS: &str = "services.nodeports";
const LOAD_BALANCERS: &str = "services.loadbalancers";

pub(super) fn is_key(key: &str) -> bool {
    matches!(key, NODE_PORTS | LOAD_BALANCERS)
}

/// Counts the intended node ports: they may not be allocated yet.
pub(super) fn measure(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map_or(&[][..], Vec::as_slice);
    let allocates = spec["allocateLoadBalancerNodePorts"] != Value::Bool(false);
    let is_set = |port: &&Value| port["nodePort"].as_i64().is_some_and(|port| port != 0);
    let (node_ports, balancers) = match spec["type"].as_str() {
        Some("NodePort") => (ports.len(), 0),
        Some("LoadBalancer") if allocates => (ports.len(), 1),
        Some("LoadBalancer") => (ports.iter().filter(is_set).count(), 1),
        _ => (0, 0),
    };
    vec![
        (NODE_PORTS.into(), QuotaAmount::number(node_ports as u64)),
        (LOAD_BALANCERS.into(), QuotaAmount::number(balancers)),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{MeasuredKind, ObjectUsage};
    use super::*;

    #[test]
    fn node_ports_and_load_balancers_are_counted_by_type() {
        let check = |kind: &str, allocates: Option<bool>, expected: (u64, u64)| {
            let ports = json!([{"port": 80}, {"port": 443, "nodePort": 30_443}]);
            let spec = json!({"type": kind, "ports": ports, "allocateLoadBalancerNodePorts": allocates});
            let usage = ObjectUsage::of(MeasuredKind::Service, &json!({"spec": spec}));
            let counted = (usage.amount(NODE_PORTS).whole(), usage.amount(LOAD_BALANCERS).whole());
            assert_eq!(counted, expected, "{kind} {allocates:?}");
        };
        check("ClusterIP", None, (0, 0));
        check("ExternalName", None, (0, 0));
        check("NodePort", None, (2, 0));
        check("LoadBalancer", None, (2, 1));
        check("LoadBalancer", Some(true), (2, 1));
        check("LoadBalancer", Some(false), (1, 1));
    }
}
