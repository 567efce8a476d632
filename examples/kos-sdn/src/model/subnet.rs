//! `Subnet`: an address block of a virtual network.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{KindNames, KosKind, stored};

/// A block of addresses in a virtual network. All subnets of a network are disjoint and in one
/// namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// Standard object metadata.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Times of the latest write of each section, set by the server; client values are ignored.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// The definition of the subnet. Immutable.
    pub spec: SubnetSpec,
    /// The result of validation.
    #[serde(default)]
    pub status: SubnetStatus,
}

/// The definition of a subnet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubnetSpec {
    /// The address block in CIDR notation, such as 10.1.0.0/16. It must be private (RFC 1918); host
    /// bits are masked.
    pub ipv4: String,
    /// The VNI of the network, from 1 to 2097151.
    pub vni: u32,
}

/// The result of validation: pending, validated, or the errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubnetStatus {
    /// Whether the subnet passed validation. Never reverts to false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub validated: bool,
    /// Conflicts and errors that prevent validation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl Subnet {
    /// Creates a subnet without status.
    #[must_use]
    pub fn new(namespace: &str, name: &str, vni: u32, ipv4: &str) -> Self {
        let metadata = ObjectMeta {
            namespace: Some(namespace.into()),
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        let spec = SubnetSpec { ipv4: ipv4.into(), vni };
        Self { metadata, spec, ..Self::default() }
    }
}

impl KosKind for Subnet {
    const NAMES: KindNames =
        KindNames { kind: "Subnet", plural: "subnets", singular: "subnet", short: &["sn"] };
    const ABOUT: &'static str = "A block of addresses in a virtual network.";
    const HAS_STATUS: bool = true;

    fn schema() -> Value {
        schema_of::<Self>()
    }

    fn selectable() -> &'static [&'static str] {
        &[".spec.vni"]
    }

    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)] {
        &[
            ("VNI", "integer", ".spec.vni", "The VNI of its network."),
            ("CIDR", "string", ".spec.ipv4", "Its address block."),
            ("Validated", "boolean", ".status.validated", "Whether it passed validation."),
        ]
    }

    fn rules() -> &'static [(&'static str, &'static str, &'static str)] {
        &[
            ("/properties/spec/properties/ipv4", "self == oldSelf", "attempt to update immutable field"),
            ("/properties/spec/properties/vni", "self == oldSelf", "attempt to update immutable field"),
            ("/properties/spec/properties/vni", "self >= 1 && self <= 2097151", "must be in [1,2097151]"),
        ]
    }
}

stored!(Subnet { spec: "spec", status: "status" } "subnets");
