//! `NetworkAttachment`: a network interface on a node, with an address in a subnet.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{KindNames, KosKind, stored};

/// A Linux interface on a node, with an address in a subnet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkAttachment {
    /// Standard object metadata.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Times of the latest write of each section, set by the server; client values are ignored.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// The desired state.
    pub spec: AttachmentSpec,
    /// The observed state.
    #[serde(default)]
    pub status: AttachmentStatus,
}

/// The desired state of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentSpec {
    /// Name of the node that carries the interface. Immutable.
    pub node: String,
    /// Name of the subnet that provides the address, in the same namespace. Immutable.
    pub subnet: String,
    /// Program, with arguments, that the node agent runs after it created the interface. ${ifname},
    /// ${ipv4} and ${mac} are expanded in the arguments. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_create_exec: Vec<String>,
    /// Program that the node agent runs after it deleted the interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_delete_exec: Vec<String>,
}

/// The observed state of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachmentStatus {
    /// Reasons for a missing address or interface.
    #[serde(skip_serializing_if = "AttachmentErrors::is_empty")]
    pub errors: AttachmentErrors,
    /// Time of the write of the spec of the subnet that provides the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_creation_time: Option<MicroTime>,
    /// Whether the attachment ever waited for an address because its subnet was full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub address_contention: bool,
    /// UID of the IPLock that holds the address.
    #[serde(rename = "lockUID", skip_serializing_if = "String::is_empty")]
    pub lock_uid: String,
    /// VNI of the virtual network; 0 without an address.
    #[serde(rename = "addressVNI")]
    pub address_vni: u32,
    /// The assigned IPv4 address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ipv4: String,
    /// Prefix length of the subnet, for the interface: agents do not read subnets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<u8>,
    /// MAC address of the interface.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac_address: String,
    /// Name of the interface; the attachment is ready once it is set.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ifc_name: String,
    /// Underlay address of the node.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
    /// Result of the program in postCreateExec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_create_exec_report: Option<ExecReport>,
}

/// Errors of an attachment, by reporting component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttachmentErrors {
    /// Errors reported by the IPAM controller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipam: Vec<String>,
    /// Errors reported by the node agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecReport {
    /// The command line after expansion.
    #[serde(default)]
    pub command: Vec<String>,
    /// Exit status of the program; negative if the program did not run or was killed.
    pub exit_status: i32,
    /// Start time.
    pub start_time: Time,
    /// End time.
    pub stop_time: Time,
    /// Standard output, truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub std_out: String,
    /// Standard error, truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub std_err: String,
}

impl NetworkAttachment {
    /// Creates an attachment without status.
    #[must_use]
    pub fn new(namespace: &str, name: &str, node: &str, subnet: &str) -> Self {
        let metadata = ObjectMeta {
            namespace: Some(namespace.into()),
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        let spec = AttachmentSpec { node: node.into(), subnet: subnet.into(), ..AttachmentSpec::default() };
        Self { metadata, spec, ..Self::default() }
    }
}

impl AttachmentErrors {
    /// Returns true if no component reports an error.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ipam.is_empty() && self.host.is_empty()
    }
}

impl ExecReport {
    /// Returns true if both reports have the same result: times are compared to the second, the
    /// command is not compared.
    #[must_use]
    pub fn same_result(&self, other: &Self) -> bool {
        let second = |time: &Time| time.0.as_second();
        let result =
            |report: &Self| (report.exit_status, second(&report.start_time), second(&report.stop_time));
        result(self) == result(other) && self.std_out == other.std_out && self.std_err == other.std_err
    }
}

impl KosKind for NetworkAttachment {
    const NAMES: KindNames = KindNames {
        kind: "NetworkAttachment",
        plural: "networkattachments",
        singular: "networkattachment",
        short: &["na"],
    };
    const ABOUT: &'static str = "A Linux interface on a node, with an address in a subnet.";
    const HAS_STATUS: bool = true;

    fn schema() -> Value {
        schema_of::<Self>()
    }

    fn selectable() -> &'static [&'static str] {
        &[".spec.node", ".spec.subnet", ".status.ipv4", ".status.hostIP", ".status.addressVNI"]
    }

    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)] {
        &[
            ("Node", "string", ".spec.node", "The node of the interface."),
            ("Subnet", "string", ".spec.subnet", "The subnet of its address."),
            ("VNI", "integer", ".status.addressVNI", "The VNI of its network."),
            ("IP", "string", ".status.ipv4", "Its address."),
            ("Prefix", "integer", ".status.prefixLength", "Prefix length of its subnet."),
            ("MAC", "string", ".status.macAddress", "Its MAC address."),
            ("Ready", "string", ".status.ifcName", "Name of its interface; ready once set."),
        ]
    }

    fn rules() -> &'static [(&'static str, &'static str, &'static str)] {
        // A transition rule on an optional field does not run when the field is added or removed,
        // hence the rule on the spec.
        &[
            ("/properties/spec/properties/node", "self == oldSelf", "attempt to update immutable field"),
            ("/properties/spec/properties/subnet", "self == oldSelf", "attempt to update immutable field"),
            (
                "/properties/spec",
                "has(self.postCreateExec) == has(oldSelf.postCreateExec) && \
                 (!has(self.postCreateExec) || self.postCreateExec == oldSelf.postCreateExec)",
                "postCreateExec: attempt to update immutable field",
            ),
        ]
    }
}

stored!(NetworkAttachment { spec: "spec", status: "status" } "networkattachments");
