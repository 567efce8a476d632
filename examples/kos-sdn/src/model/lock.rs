//! Locks on addresses.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{Names, Stored, stored};

/// That an address of a network is an attachment's: its name says which address, its owner whose.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPLock {
    /// As of any object. The name is `v1-VNI-O1-O2-O3-O4`.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::slim_metadata")]
    pub metadata: ObjectMeta,
    /// What the server notes of each write. Who writes it is not heard.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// What it is besides. It never changes.
    pub spec: LockSpec,
}

/// What a lock says besides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockSpec {
    /// The subnet that the address is of.
    pub subnet_name: String,
}

impl IPLock {
    /// A new one.
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

impl Stored for IPLock {
    const NAMES: Names = Names { kind: "IPLock", plural: "iplocks", singular: "iplock", short: &["ipl"] };
    const ABOUT: &'static str = "That an address of a network is an attachment's.";
    const HAS_STATUS: bool = false;

    fn schema() -> Value {
        schema_of::<Self>()
    }

    fn selectable() -> &'static [&'static str] {
        &[]
    }

    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)] {
        &[
            ("Subnet", "string", ".spec.subnetName", "The subnet that the address is of."),
            ("Attachment", "string", ".metadata.ownerReferences[0].name", "Whose the address is."),
        ]
    }

    fn rules() -> &'static [(&'static str, &'static str, &'static str)] {
        &[("/properties/spec", "self == oldSelf", "attempt to update immutable field")]
    }
}

stored!(IPLock { spec: "spec" } "iplocks");
