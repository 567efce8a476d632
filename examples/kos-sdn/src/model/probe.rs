//! `Probe`: a request to a node agent to send or trace frames, and the agent's result.

use machinery::OwnedFields;

use super::definition::{GROUP, VERSION};

/// The fields that a node agent writes.
pub const PROBE_FIELDS: OwnedFields = OwnedFields::new("kos-agent", &[".status"], &[]);

machinery::kinds! {
    /// A request to the agent of one node: send frames from an interface there, or trace the flows
    /// for them. The client deletes it after the answer; the agent deletes finished probes after
    /// ten minutes.
    #[kind(
        group = GROUP, version = VERSION, namespaced, category = "kos", selectable = ".spec.node",
        column("Node", ".spec.node"), column("Finished", ".status.finished"),
    )]
    pub struct Probe {
        /// The request.
        pub spec: ProbeSpec,
        /// The result of a probe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub status: Option<ProbeStatus>,
    }

    /// The operation that a probe requests, and its frames.
    pub struct ProbeSpec {
        /// The node that executes the probe.
        pub node: String,
        /// The operation.
        pub ask: ProbeQuestion,
        /// Name of the attachment that sends the frames, in the namespace of the probe. It is on
        /// the node of the probe for Ping and Leaving, and on another node for Arriving.
        pub from: String,
        /// Destination address of the frames.
        pub to: String,
        /// Number of frames to send, from 1 to 100. Used by Ping only.
        #[serde(default)]
        pub count: u16,
    }

    /// The result of a probe.
    #[derive(Default, PartialEq)]
    pub struct ProbeStatus {
        /// Whether the probe is complete.
        #[serde(default)]
        pub finished: bool,
        /// Number of frames sent.
        #[serde(default)]
        pub sent: u16,
        /// Round-trip times of answered frames, in microseconds.
        #[serde(default)]
        pub round_trips: Vec<u64>,
        /// The trace, flow by flow.
        #[serde(default)]
        pub steps: Vec<String>,
        /// The error that ended the probe.
        #[serde(default)]
        pub error: String,
    }

    /// The operation that a probe requests.
    #[derive(Copy, Eq, PartialEq)]
    pub enum ProbeQuestion {
        /// Send ICMP echo requests and wait for replies.
        Ping,
        /// Trace a frame sent by an interface of the node.
        Leaving,
        /// Trace a frame that arrives from another node.
        Arriving,
    }
}
