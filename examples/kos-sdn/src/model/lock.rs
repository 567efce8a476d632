//! `IPLock`: the lock on an address.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{KindNames, KosKind, stored};

/// A lock on an address of a network: its name states the address, its owner the lock holder.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPLock {
    /// Standard object metadata. The name is `v1-VNI-O1-O2-O3-O4`.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Times of the latest write of each section, set by the server; client values are ignored.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// The subnet of the address. Immutable.
    pub spec: LockSpec,
}

/// The spec of a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockSpec {
    /// Name of the subnet that contains the address.
    pub subnet_name: String,
}

impl IPLock {
    /// Creates a lock with an owner.
    #[must_use]
    pub fn new(namespace: &str, name: &str, subnet: &str, owner: OwnerReference) -> Self {
        let metadata = ObjectMeta {
            namespace: Some(namespace.into()),
            name: Some(name.into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        };
        Self { metadata, spec: LockSpec { subnet_name: subnet.into() }, ..Self::default() }
    }
}

impl KosKind for IPLock {
    const NAMES: KindNames =
        KindNames { kind: "IPLock", plural: "iplocks", singular: "iplock", short: &["ipl"] };
    const ABOUT: &'static str = "The lock on an address of a network, owned by an attachment.";
    const HAS_STATUS: bool = false;

    fn schema() -> Value {
        schema_of::<Self>()
    }

    fn selectable() -> &'static [&'static str] {
        &[]
    }

    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)] {
        &[
            ("Subnet", "string", ".spec.subnetName", "The subnet of the address."),
            (
                "Attachment",
                "string",
                ".metadata.ownerReferences[0].name",
                "The attachment that holds the address.",
            ),
        ]
    }

    fn rules() -> &'static [(&'static str, &'static str, &'static str)] {
        &[("/properties/spec", "self == oldSelf", "attempt to update immutable field")]
    }
}

stored!(IPLock { spec: "spec" } "iplocks");
