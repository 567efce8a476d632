//! Placement of attachments.

use super::shape::KosLoad;
use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "default";
const GROUP: &str = "/apis/network.example.com/v1alpha1/namespaces/default";

pub(super) fn subnets_path() -> String {
    format!("{GROUP}/subnets")
}

pub(super) fn attachments_path() -> String {
    format!("{GROUP}/networkattachments")
}

/// Returns the name of a node, as in the agents' process.
pub(super) fn node(number: usize) -> String {
    format!("node-{number}")
}

/// Returns the subnet of a network, numbered from 1; blocks need not be adjacent, only distinct.
pub(super) fn subnet(network: usize) -> Value {
    json!({
        "apiVersion": "network.example.com/v1alpha1", "kind": "Subnet",
        "metadata": {"name": format!("s{network}"), "namespace": NAMESPACE},
        "spec": {"vni": network + 1, "ipv4": "10.0.0.0/16"},
    })
}

impl KosLoad {
    /// Returns an attachment. Those of one network are numbered consecutively, and on distinct
    /// nodes if possible.
    pub(super) fn attachment(&self, number: usize) -> Value {
        let network = number / self.in_one();
        json!({
            "apiVersion": "network.example.com/v1alpha1", "kind": "NetworkAttachment",
            "metadata": {"name": format!("a{number}"), "namespace": NAMESPACE},
            "spec": {"node": node(number % self.nodes), "subnet": format!("s{network}")},
        })
    }

    /// Returns the number of attachments per network.
    pub(super) const fn in_one(&self) -> usize {
        self.attachments.div_ceil(self.networks)
    }

    /// Returns the expected number of remote interfaces on all nodes: one per attachment on every
    /// other node of its network.
    pub(super) fn remotes(&self) -> usize {
        let mut remotes = 0;
        let mut first = 0;
        while first < self.attachments {
            let size = self.in_one().min(self.attachments - first);
            remotes += size * (size.min(self.nodes) - 1);
            first += size;
        }
        remotes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_learn_of_all_attachments_of_their_networks() {
        let load = KosLoad { nodes: 1000, attachments: 1000, networks: 20, per_key: false };
        assert_eq!((load.in_one(), load.remotes()), (50, 1000 * 49));
        let load = KosLoad { nodes: 10, attachments: 105, networks: 5, per_key: false };
        assert_eq!((load.in_one(), load.remotes()), (21, 105 * 9));
        let nodes: std::collections::BTreeSet<_> = (0..50)
            .map(|number| KosLoad { nodes: 1000, ..load }.attachment(number)["spec"]["node"].to_string())
            .collect();
        assert_eq!(nodes.len(), 50);
    }
}
