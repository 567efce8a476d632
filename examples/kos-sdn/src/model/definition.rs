//! Names of the API group, and the CustomResourceDefinitions of its kinds for any cluster.

use machinery::kube_core::CustomResourceExt as _;

use super::{IPLock, NetworkAttachment, Probe, Subnet};

/// API group.
pub const GROUP: &str = "network.example.com";
/// API version.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as in `apiVersion`.
pub const API_VERSION: &str = "network.example.com/v1alpha1";

/// Returns all CustomResourceDefinitions as YAML.
///
/// # Errors
/// Serialization fails.
pub fn manifests() -> Result<String, serde_saphyr::ser_error::Error> {
    let all = [Subnet::crd(), NetworkAttachment::crd(), IPLock::crd(), Probe::crd()];
    let mut file = String::from("# Made by `kos crds`: for clusters that are not served by `kos` itself.\n");
    for one in &all {
        file.push_str("---\n");
        file.push_str(&serde_saphyr::to_string(one)?);
    }
    Ok(file)
}
