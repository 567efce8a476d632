//! What a subject's process is told. The Go peers read the same text.

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
    /// Begins an informer, which stays, and waits until it is whole.
    #[serde(rename = "informer-sync")]
    Sync {
        #[serde(rename = "keys")]
        objects: usize,
        kubeconfig: PathBuf,
        of: Projection,
    },
    /// Fills a server in the process, and begins informers on its handle.
    #[serde(rename = "informer-near")]
    Near { objects: usize },
    /// Begins agents, each with a connection and keyed informers, and waits until they know what is under their keys.
    #[serde(rename = "informer-agents")]
    Agents {
        agents: usize,
        each: usize,
        /// How many keys there are.
        keys: usize,
        kubeconfig: PathBuf,
        per_key: bool,
    },
    /// Waits until the agents have been told so many events since they knew what was there.
    #[serde(rename = "informer-heard")]
    Heard { events: usize },
    /// The agents change what they hold, so many keys in all, and wait until they know what is under those that are new.
    #[serde(rename = "informer-edits")]
    Edits { edits: usize },
    /// The first agent holds so many keys instead.
    #[serde(rename = "informer-holds")]
    Holds { keys: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_as_the_go_process_expects_it() {
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
    }
}
