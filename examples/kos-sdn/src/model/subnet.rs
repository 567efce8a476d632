//! Subnets: blocks of addresses in networks.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{Names, Stored, stored};

/// A block of addresses in a virtual network. All subnets of a network are disjoint and in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// As of any object.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::slim_metadata")]
    pub metadata: ObjectMeta,
    /// What the server notes of each write. Who writes it is not heard.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// What it is. It never changes.
    pub spec: SubnetSpec,
    /// What a validator found.
    #[serde(default)]
    pub status: SubnetStatus,
}

/// What a subnet is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubnetSpec {
    /// Its addresses, such as 10.1.0.0/16: for private use, by RFC 1918. Bits of the host may be set.
    pub ipv4: String,
    /// The number of its network, from 1 to 2097151.
    pub vni: u32,
}

/// What a validator found of a subnet: nothing yet; that it is good; or what is in its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubnetStatus {
    /// It counts. Once true this stays so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub validated: bool,
    /// What is in its way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl Subnet {
    /// A new one.
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

impl Stored for Subnet {
    const NAMES: Names = Names { kind: "Subnet", plural: "subnets", singular: "subnet", short: &["sn"] };
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
            ("VNI", "integer", ".spec.vni", "The number of its network."),
            ("CIDR", "string", ".spec.ipv4", "Its addresses."),
            ("Validated", "boolean", ".status.validated", "Whether it counts."),
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
