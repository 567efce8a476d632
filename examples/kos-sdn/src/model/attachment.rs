//! `NetworkAttachment`: a network interface on a node, with an address in a subnet.

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use machinery::{ConditionState, Conditions, OwnedFields, SectionWrites};

use super::definition::{GROUP, VERSION};

machinery::kinds! {
    /// A Linux interface on a node, with an address in a subnet.
    #[kind(
        group = GROUP, version = VERSION, namespaced, shortname = "na", category = "all", category = "kos",
        selectable = ".spec.node", selectable = ".spec.subnet", selectable = ".status.ipv4",
        selectable = ".status.hostIP", selectable = ".status.addressVNI",
        column("Node", ".spec.node"), column("Subnet", ".spec.subnet"), column("VNI", ".status.addressVNI"),
        column("IP", ".status.ipv4"), column("Prefix", ".status.prefixLength"),
        column("MAC", ".status.macAddress"), column("Ready", ".status.ifcName"),
        immutable = ".spec.node", immutable = ".spec.subnet", immutable = ".spec.postCreateExec",
        sections = ".extendedMetadata", section("spec", [".spec"]),
        section("status.address", [
            ".status.lockUID", ".status.addressVNI", ".status.ipv4", ".status.prefixLength",
            ".status.addressContention", ".status.subnetCreationTime", ".status.errors.ipam",
        ]),
        section("status.impl", [
            ".status.macAddress", ".status.ifcName", ".status.hostIP", ".status.errors.host",
        ]),
        section("status.execReport", [
            ".status.postCreateExecReport.exitStatus", ".status.postCreateExecReport.startTime",
            ".status.postCreateExecReport.stopTime", ".status.postCreateExecReport.stdOut",
            ".status.postCreateExecReport.stdErr",
        ]),
    )]
    #[derive(Default, PartialEq)]
    pub struct NetworkAttachment {
        /// Standard object metadata.
        #[serde(deserialize_with = "machinery::kube::metadata_without_managed_fields")]
        pub metadata: ObjectMeta,
        /// The desired state.
        pub spec: AttachmentSpec,
        /// The observed state.
        #[serde(default)]
        pub status: AttachmentStatus,
        /// Times of the latest write of each section, set by the server; client values are ignored.
        #[serde(default, skip_serializing_if = "SectionWrites::is_empty")]
        pub extended_metadata: SectionWrites,
    }

    /// The desired state of an attachment.
    #[derive(Default, PartialEq)]
    pub struct AttachmentSpec {
        /// Name of the node that carries the interface. Immutable.
        pub node: String,
        /// Name of the subnet that provides the address, in the same namespace. Immutable.
        pub subnet: String,
        /// Program, with arguments, that the node agent runs after it created the interface.
        /// ${ifname}, ${ipv4} and ${mac} are expanded in the arguments. Immutable.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub post_create_exec: Vec<String>,
        /// Program that the node agent runs after it deleted the interface.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub post_delete_exec: Vec<String>,
    }

    /// The observed state of an attachment.
    #[derive(Default, PartialEq)]
    #[serde(default)]
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
        /// AddressAssigned by the IPAM controller, and Ready by the node agent.
        #[serde(skip_serializing_if = "Conditions::is_empty")]
        pub conditions: Conditions,
    }

    /// Errors of an attachment, by reporting component.
    #[derive(Default, PartialEq)]
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
    #[derive(PartialEq)]
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
}

impl NetworkAttachment {
    /// Creates an attachment without status.
    #[must_use]
    pub fn new(namespace: &str, name: &str, node: &str, subnet: &str) -> Self {
        let spec = AttachmentSpec { node: node.into(), subnet: subnet.into(), ..AttachmentSpec::default() };
        Self::named(namespace, name, spec)
    }
}

/// The fields that the IPAM controller writes.
pub const IPAM_FIELDS: OwnedFields = OwnedFields::new(
    "kos-ipam",
    &[
        ".status.lockUID",
        ".status.addressVNI",
        ".status.ipv4",
        ".status.prefixLength?",
        ".status.addressContention",
        ".status.subnetCreationTime?",
        ".status.errors.ipam",
    ],
    &["AddressAssigned"],
);

/// The fields that a node agent writes.
pub const AGENT_FIELDS: OwnedFields = OwnedFields::new(
    "kos-agent",
    &[
        ".status.macAddress",
        ".status.ifcName",
        ".status.hostIP",
        ".status.errors.host",
        ".status.postCreateExecReport?",
    ],
    &["Ready"],
);

/// The fields that the IPAM controller writes for a silent node, until its agent takes them over.
pub const SILENCE_FIELDS: OwnedFields = OwnedFields::new("kos-silence", &[".status.errors.host"], &["Ready"]);

impl AttachmentStatus {
    /// Returns the condition that says whether there is an address.
    #[must_use]
    pub fn address_assigned(&self) -> ConditionState {
        let holds = Some(!self.ipv4.is_empty());
        let reason = if self.ipv4.is_empty() { "NoAddress" } else { "AddressLocked" };
        ConditionState { name: "AddressAssigned", holds, reason, message: self.errors.ipam.join("; ") }
    }

    /// Returns the condition that says whether the interface works.
    #[must_use]
    pub fn ready(&self) -> ConditionState {
        let (holds, reason) = match (self.ifc_name.is_empty(), self.errors.host.is_empty()) {
            (false, true) => (true, "InterfaceCreated"),
            (true, true) => (false, "NoInterface"),
            (_, false) => (false, "InterfaceFailed"),
        };
        ConditionState { name: "Ready", holds: Some(holds), reason, message: self.errors.host.join("; ") }
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
