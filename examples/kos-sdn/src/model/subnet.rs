//! `Subnet`: an address block of a virtual network.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::{ConditionState, Conditions, OwnedFields, SectionWrites};

use super::definition::{GROUP, VERSION};

machinery::kinds! {
    /// A block of addresses in a virtual network. All subnets of a network are disjoint and in one
    /// namespace.
    #[kind(
        group = GROUP, version = VERSION, namespaced, shortname = "sn", category = "all", category = "kos",
        selectable = ".spec.vni", column("VNI", ".spec.vni"), column("CIDR", ".spec.ipv4"),
        column("Validated", ".status.validated"), immutable = ".spec.ipv4", immutable = ".spec.vni",
        rule(".spec.vni", "self >= 1 && self <= 2097151", "must be in [1,2097151]"),
        sections = ".extendedMetadata", section("spec", [".spec"]), section("status", [".status.validated", ".status.errors"]),
    )]
    #[derive(Default, PartialEq)]
    pub struct Subnet {
        /// Standard object metadata.
        #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
        pub metadata: ObjectMeta,
        /// The definition of the subnet. Immutable.
        pub spec: SubnetSpec,
        /// The result of validation.
        #[serde(default)]
        pub status: SubnetStatus,
        /// Times of the latest write of each section, set by the server; client values are ignored.
        #[serde(default, skip_serializing_if = "SectionWrites::is_empty")]
        pub extended_metadata: SectionWrites,
    }

    /// The definition of a subnet.
    #[derive(Default, PartialEq)]
    pub struct SubnetSpec {
        /// The address block in CIDR notation, such as 10.1.0.0/16. It must be private (RFC 1918);
        /// host bits are masked.
        pub ipv4: String,
        /// The VNI of the network, from 1 to 2097151.
        pub vni: u32,
    }

    /// The result of validation: pending, validated, or the errors.
    #[serde(default)]
    #[derive(Default, PartialEq)]
    pub struct SubnetStatus {
        /// Whether the subnet passed validation. Never reverts to false.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub validated: bool,
        /// Conflicts and errors that prevent validation.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub errors: Vec<String>,
        /// Validated, by the validator.
        #[serde(skip_serializing_if = "Conditions::is_empty")]
        pub conditions: Conditions,
    }
}

/// The fields that the validator writes.
pub const VALIDATOR_FIELDS: OwnedFields =
    OwnedFields::new("kos-validator", &[".status.validated", ".status.errors"], &["Validated"]);

impl SubnetStatus {
    /// Returns the condition that says whether the subnet passed validation.
    #[must_use]
    pub fn validated(&self) -> ConditionState {
        let reason = if self.validated { "NoConflict" } else { "Invalid" };
        let message = self.errors.join("; ");
        ConditionState { name: "Validated", holds: Some(self.validated), reason, message }
    }
}

impl Subnet {
    /// Creates a subnet without status.
    #[must_use]
    pub fn new(namespace: &str, name: &str, vni: u32, ipv4: &str) -> Self {
        Self::named(namespace, name, SubnetSpec { ipv4: ipv4.into(), vni })
    }
}
