//! The node of a pod.

use std::sync::Arc;

use machinery::k8s_openapi::api::core::v1::{Node, PodSpec};

/// The name of a node for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChoice(pub String);

/// The node of pods in a cluster without Node objects.
pub(super) const NO_NODE: &str = "sdewan-runner";

/// Returns the first node with the labels of a pod's `nodeSelector`, by name. Without Nodes at all,
/// a pod without a selector runs anyway.
pub(super) fn choose(spec: &Option<PodSpec>, nodes: &[Arc<Node>]) -> Option<NodeChoice> {
    let spec = spec.as_ref()?;
    if let Some(name) = spec.node_name.clone().filter(|name| !name.is_empty()) {
        return Some(NodeChoice(name));
    }
    let selector = spec.node_selector.clone().unwrap_or_default();
    if nodes.is_empty() && selector.is_empty() {
        return Some(NodeChoice(NO_NODE.into()));
    }
    let fits = |node: &&Arc<Node>| {
        let labels = node.metadata.labels.clone().unwrap_or_default();
        let is_open = node.spec.as_ref().is_none_or(|spec| spec.unschedulable != Some(true));
        is_open && selector.iter().all(|(name, value)| labels.get(name) == Some(value))
    };
    nodes.iter().filter(fits).filter_map(|node| node.metadata.name.clone()).min().map(NodeChoice)
}
