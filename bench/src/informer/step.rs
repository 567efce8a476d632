//! Requests to a subject's process. The Go peers parse the same text.

use super::shape::Projection;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape")]
pub(super) enum InformerStep {
    #[serde(rename = "informer-writes")]
    Writes {
        #[serde(rename = "keys")]
        objects: usize,
        #[serde(rename = "workers")]
        readers: usize,
        #[serde(rename = "work_ms")]
        ms: u64,
        under_way: usize,
    },
    #[serde(rename = "informer-reads")]
    Reads {
        #[serde(rename = "keys")]
        objects: usize,
        passes: usize,
    },
    #[serde(rename = "informer-hop")]
    Hop {
        #[serde(rename = "keys")]
        objects: usize,
        #[serde(rename = "adds")]
        events: usize,
    },
    #[serde(rename = "informer-decode")]
    Decode {
        #[serde(rename = "keys")]
        objects: usize,
        passes: usize,
    },
    /// Starts an informer, which keeps running, and waits until it has synced.
    #[serde(rename = "informer-sync")]
    Sync {
        #[serde(rename = "keys")]
        objects: usize,
        kubeconfig: PathBuf,
        of: Projection,
    },
    /// Fills an in-process server, and starts informers on its handle.
    #[serde(rename = "informer-near")]
    Near { objects: usize },
    /// Starts agents, each with a connection and keyed informers, and waits until they have synced.
    #[serde(rename = "informer-agents")]
    Agents {
        agents: usize,
        each: usize,
        /// Number of keys.
        keys: usize,
        kubeconfig: PathBuf,
        per_key: bool,
    },
    /// Waits until the agents have received this many events since they synced.
    #[serde(rename = "informer-heard")]
    Heard { events: usize },
    /// Lets the agents change this many keys in all, and waits until the new ones have synced.
    #[serde(rename = "informer-edits")]
    Edits { edits: usize },
    /// Lets the first agent hold this many keys instead.
    #[serde(rename = "informer-holds")]
    Holds { keys: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_serialize_as_the_go_peer_expects() {
        fn check(step: &InformerStep, expect: &str) {
            assert_eq!(serde_json::to_string(step).expect("plain data"), expect);
        }
        check(
            &InformerStep::Writes { objects: 1, readers: 10, ms: 2, under_way: 3 },
            r#"{"shape":"informer-writes","keys":1,"workers":10,"work_ms":2,"under_way":3}"#,
        );
        check(
            &InformerStep::Sync { objects: 1, kubeconfig: "k".into(), of: Projection::Five },
            r#"{"shape":"informer-sync","keys":1,"kubeconfig":"k","of":"five"}"#,
        );
        check(
            &InformerStep::Sync { objects: 1, kubeconfig: "k".into(), of: Projection::WithoutManagedFields },
            r#"{"shape":"informer-sync","keys":1,"kubeconfig":"k","of":"slim"}"#,
        );
    }
}
