//! Counts of attachments by state, per subnet and per node.

use std::collections::BTreeMap;

use crate::model::{Cidr, NetworkAttachment, Subnet};

/// Counts of the attachments of a subnet or a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachmentCounts {
    /// All attachments.
    pub all: usize,
    /// Attachments with an address.
    pub addressed: usize,
    /// Attachments with an interface.
    pub ready: usize,
    /// Attachments being deleted.
    pub deleting: usize,
    /// Attachments with an error.
    pub failed: usize,
    /// One of the errors.
    pub error: String,
}

/// A subnet with the counts of its attachments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetSummary {
    /// Namespace and name.
    pub subnet: String,
    /// VNI of the network.
    pub vni: u32,
    /// Address block of the subnet.
    pub block: String,
    /// Number of usable addresses.
    pub size: usize,
    /// Result of validation, or the reason for failure.
    pub state: String,
    /// Counts of the subnet's attachments.
    pub tally: AttachmentCounts,
}

/// The summary of all subnets and nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// By subnet, including missing ones that attachments refer to.
    pub subnets: Vec<SubnetSummary>,
    /// By node.
    pub nodes: BTreeMap<String, AttachmentCounts>,
}

/// Summarizes subnets and attachments.
pub fn summary<'a>(
    subnets: impl Iterator<Item = &'a Subnet>,
    attachments: impl Iterator<Item = &'a NetworkAttachment>,
) -> Summary {
    let mut by_subnet: BTreeMap<String, AttachmentCounts> = BTreeMap::new();
    let mut nodes: BTreeMap<String, AttachmentCounts> = BTreeMap::new();
    for one in attachments {
        let namespace = one.metadata.namespace.as_deref().unwrap_or_default();
        by_subnet.entry(format!("{namespace}/{}", one.spec.subnet)).or_default().count(one);
        nodes.entry(one.spec.node.clone()).or_default().count(one);
    }
    let mut rows: Vec<SubnetSummary> = subnets
        .map(|subnet| {
            let [namespace, name] = [&subnet.metadata.namespace, &subnet.metadata.name]
                .map(|part| part.as_deref().unwrap_or_default());
            let name = format!("{namespace}/{name}");
            let size = subnet.spec.ipv4.parse::<Cidr>().map_or(0, |block| block.usable().count());
            let state = match (subnet.status.validated, subnet.status.errors.first()) {
                (true, _) => "validated".to_owned(),
                (false, Some(error)) => error.clone(),
                (false, None) => "waits for the validator".to_owned(),
            };
            let tally = by_subnet.remove(&name).unwrap_or_default();
            let (vni, block) = (subnet.spec.vni, subnet.spec.ipv4.clone());
            SubnetSummary { subnet: name, vni, block, size, state, tally }
        })
        .collect();
    rows.extend(by_subnet.into_iter().map(|(subnet, tally)| SubnetSummary {
        subnet,
        vni: 0,
        block: String::new(),
        size: 0,
        state: "does not exist".into(),
        tally,
    }));
    rows.sort_by(|one, other| one.subnet.cmp(&other.subnet));
    Summary { subnets: rows, nodes }
}

impl AttachmentCounts {
    fn count(&mut self, one: &NetworkAttachment) {
        let status = &one.status;
        self.all += 1;
        self.addressed += usize::from(!status.ipv4.is_empty());
        self.ready += usize::from(!status.ifc_name.is_empty());
        self.deleting += usize::from(one.metadata.deletion_timestamp.is_some());
        if let Some(error) = status.errors.ipam.iter().chain(&status.errors.host).next() {
            self.failed += 1;
            if self.error.is_empty() {
                self.error.clone_from(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_subnets_are_summarized() {
        let mut good = Subnet::new("n", "b", 17, "10.0.0.0/30");
        good.status.validated = true;
        let mut bad = Subnet::new("n", "a", 18, "10.0.0.0/24");
        bad.status.errors = vec!["in the way".into()];
        let mut ready = NetworkAttachment::new("n", "x", "node-1", "b");
        (ready.status.ipv4, ready.status.ifc_name) = ("10.0.0.2".into(), "kos".into());
        let mut full = NetworkAttachment::new("n", "y", "node-2", "b");
        full.status.errors.ipam = vec!["full".into()];
        let nowhere = NetworkAttachment::new("n", "z", "node-2", "none");
        let summed = summary([&good, &bad].into_iter(), [&ready, &full, &nowhere].into_iter());
        let rows_shown: Vec<_> = summed
            .subnets
            .iter()
            .map(|of| (&*of.subnet, of.size, &*of.state, of.tally.all, of.tally.ready, &*of.tally.error))
            .collect();
        assert_eq!(
            rows_shown,
            [
                ("n/a", 253, "in the way", 0, 0, ""),
                ("n/b", 4, "validated", 2, 1, "full"),
                ("n/none", 0, "does not exist", 1, 0, ""),
            ]
        );
        let nodes: Vec<_> = summed.nodes.iter().map(|(node, of)| (&**node, of.all, of.failed)).collect();
        assert_eq!(nodes, [("node-1", 1, 0), ("node-2", 2, 1)]);
    }
}
