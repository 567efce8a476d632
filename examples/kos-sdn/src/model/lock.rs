//! `IPLock`: the lock on an address.

use machinery::SectionWrites;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::definition::{GROUP, VERSION};

machinery::kinds! {
    /// A lock on an address of a network: its name states the address, its owner the lock holder.
    #[kind(
        group = GROUP, version = VERSION, namespaced, shortname = "ipl", category = "all", category = "kos",
        column("Subnet", ".spec.subnetName"), column("Attachment", ".metadata.ownerReferences[0].name"),
        immutable = ".spec", sections = ".extendedMetadata", section("spec", [".spec"]),
    )]
    #[derive(Default, PartialEq)]
    pub struct IPLock {
        /// Standard object metadata. The name is `v1-VNI-O1-O2-O3-O4`.
        #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
        pub metadata: ObjectMeta,
        /// The subnet of the address. Immutable.
        pub spec: LockSpec,
        /// Times of the latest write of each section, set by the server; client values are ignored.
        #[serde(default, skip_serializing_if = "SectionWrites::is_empty")]
        pub extended_metadata: SectionWrites,
    }

    /// The spec of a lock.
    #[derive(Default, PartialEq)]
    pub struct LockSpec {
        /// Name of the subnet that contains the address.
        pub subnet_name: String,
    }
}

impl IPLock {
    /// Creates a lock with an owner.
    #[must_use]
    pub fn new(namespace: &str, name: &str, subnet: &str, owner: OwnerReference) -> Self {
        let mut lock = Self::named(namespace, name, LockSpec { subnet_name: subnet.into() });
        lock.metadata.owner_references = Some(vec![owner]);
        lock
    }
}
