//! `Probe`: a request to a node agent to send or trace frames, and the agent's result.

use super::kind::VERSION;

machinery::kinds! {
    /// A request to the agent of one node: send frames from an interface there, or trace the flows
    /// for them. The client deletes it after the answer; the agent deletes finished probes after
    /// ten minutes.
    #[kube(
        group = "network.example.com", version = "v1alpha1", kind = "Probe", namespaced, category = "kos",
        status = "ProbeStatus", selectable = ".spec.node",
        printcolumn = r#"{"name": "Node", "type": "string", "jsonPath": ".spec.node"}"#,
        printcolumn = r#"{"name": "Finished", "type": "boolean", "jsonPath": ".status.finished"}"#,
    )]
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

const _: () = assert!(
    matches!(VERSION.as_bytes(), b"v1alpha1"),
    "derive macros take no constants: adjust the attribute above"
);
