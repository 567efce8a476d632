//! Probes: what somebody wants to know of the network, and the node's answer.

use super::kind::VERSION;

machinery::kinds! {
    /// A question to the agent of one node: whether frames of an interface there are answered, or what the node does with them. Who asks
    /// deletes it when it is answered; what is left over, the agent does after a while.
    #[kube(
        group = "network.example.com", version = "v1alpha1", kind = "Probe", namespaced, category = "kos",
        status = "ProbeStatus", selectable = ".spec.node",
        printcolumn = r#"{"name": "Node", "type": "string", "jsonPath": ".spec.node"}"#,
        printcolumn = r#"{"name": "Finished", "type": "boolean", "jsonPath": ".status.finished"}"#,
    )]
    pub struct ProbeSpec {
        /// The node whose agent is asked.
        pub node: String,
        /// What it is to do.
        pub ask: Ask,
        /// The network of the frames.
        pub vni: u32,
        /// The address that they are from.
        pub from: String,
        /// The address that they go to.
        pub to: String,
        /// The node that they come from through the tunnel. Only of those that arrive.
        #[serde(default)]
        pub host: String,
        /// How many frames are sent: from 1 to 100. Only of pings.
        #[serde(default)]
        pub count: u16,
    }

    /// What was found.
    #[derive(Default, PartialEq)]
    pub struct ProbeStatus {
        /// The node has said all that it says.
        #[serde(default)]
        pub finished: bool,
        /// So many frames were sent.
        #[serde(default)]
        pub sent: u16,
        /// The times of those that were answered, in microseconds.
        #[serde(default)]
        pub round_trips: Vec<u64>,
        /// What the node does with the frames, step by step.
        #[serde(default)]
        pub steps: Vec<String>,
        /// Why there is no more.
        #[serde(default)]
        pub error: String,
    }

    /// What a node is asked for.
    #[derive(Copy, Eq, PartialEq)]
    pub enum Ask {
        /// Send frames, and wait for answers.
        Ping,
        /// What becomes of a frame that an interface of the node sends?
        Leaving,
        /// What becomes of one that comes from another node?
        Arriving,
    }
}

const _: () = assert!(matches!(VERSION.as_bytes(), b"v1alpha1"), "a derive takes no constant: mend it above");
