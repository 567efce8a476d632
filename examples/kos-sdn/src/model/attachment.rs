//! Attachments: interfaces on nodes that are in subnets.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::schema_of;
use super::extended::ExtendedMetadata;
use super::kind::{Names, Stored, stored};

/// A Linux interface on a node, with an address in a subnet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkAttachment {
    /// As of any object.
    #[schemars(skip)]
    #[serde(deserialize_with = "machinery::kube::slim_metadata")]
    pub metadata: ObjectMeta,
    /// What the server notes of each write. Who writes it is not heard.
    #[serde(default)]
    pub extended_metadata: ExtendedMetadata,
    /// What is wanted.
    pub spec: AttachmentSpec,
    /// What it has.
    #[serde(default)]
    pub status: AttachmentStatus,
}

/// What is wanted of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentSpec {
    /// The node that the interface is on. It never changes.
    pub node: String,
    /// The subnet that its address is of, in the same namespace. It never changes.
    pub subnet: String,
    /// A program that the node's agent runs when it has made the interface, and its arguments, in which ${ifname}, ${ipv4} and ${mac}
    /// are replaced. It never changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_create_exec: Vec<String>,
    /// One that it runs when it has deleted the interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_delete_exec: Vec<String>,
}

/// What an attachment has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachmentStatus {
    /// Why it has no address or no interface.
    #[serde(skip_serializing_if = "AttachmentErrors::is_empty")]
    pub errors: AttachmentErrors,
    /// When the spec of the subnet was written that the address is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_creation_time: Option<MicroTime>,
    /// Whether it had to wait for an address at some time, because the subnet was full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub address_contention: bool,
    /// The UID of the lock that the address is held by.
    #[serde(rename = "lockUID", skip_serializing_if = "String::is_empty")]
    pub lock_uid: String,
    /// The network that the address is in; 0 without one.
    #[serde(rename = "addressVNI")]
    pub address_vni: u32,
    /// Its address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ipv4: String,
    /// The MAC address of its interface.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac_address: String,
    /// The name of its interface. It is ready when it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ifc_name: String,
    /// The address of the node, in the network below.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
    /// What became of the program that runs when the interface was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_create_exec_report: Option<ExecReport>,
}

/// What is wrong with an attachment, by who found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttachmentErrors {
    /// Who gives addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipam: Vec<String>,
    /// The node's agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecReport {
    /// As it was run.
    #[serde(default)]
    pub command: Vec<String>,
    /// As the program ended; negative, if it did not run or was killed.
    pub exit_status: i32,
    /// When it began.
    pub start_time: Time,
    /// When it ended.
    pub stop_time: Time,
    /// What it wrote.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub std_out: String,
    /// What it complained of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub std_err: String,
}

impl NetworkAttachment {
    /// A new one.
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
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ipam.is_empty() && self.host.is_empty()
    }
}

impl ExecReport {
    /// Whether two reports say the same: of whatever command, with times to the second.
    #[must_use]
    pub fn says_as(&self, other: &Self) -> bool {
        let second = |time: &Time| time.0.as_second();
        let said =
            |report: &Self| (report.exit_status, second(&report.start_time), second(&report.stop_time));
        said(self) == said(other) && self.std_out == other.std_out && self.std_err == other.std_err
    }
}

impl Stored for NetworkAttachment {
    const NAMES: Names = Names {
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
            ("Node", "string", ".spec.node", "The node that it is on."),
            ("Subnet", "string", ".spec.subnet", "The subnet that its address is of."),
            ("VNI", "integer", ".status.addressVNI", "The network that it is in."),
            ("IP", "string", ".status.ipv4", "Its address."),
            ("MAC", "string", ".status.macAddress", "Its MAC address."),
            ("Ready", "string", ".status.ifcName", "Its interface: it is ready when it has one."),
        ]
    }

    fn rules() -> &'static [(&'static str, &'static str, &'static str)] {
        // An optional field may be given or taken away, and its own rules are asked of neither: that one is the spec's.
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
