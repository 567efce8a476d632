//! The measured shapes, equal for every subject; the Go process gets them as JSON.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct QueueShape {
    #[serde(flatten)]
    pub(crate) kind: QueueWork,
    /// Whether the Go peers' queues have a name, and so metrics. Ours always have.
    #[serde(rename = "metrics")]
    pub(crate) peers_metered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub(crate) enum QueueWork {
    /// One thread adds all keys, then takes and completes each; in batches if supported and `batch`
    /// is over 1.
    AddGetDone { keys: usize, passes: usize, batch: usize },
    /// The ratio of random priorities to equal ones.
    PrioritiesOverPlain { keys: usize, passes: usize, levels: usize },
    /// Adds of queued keys.
    DuplicateAdd { keys: usize, passes: usize },
    /// Delayed adds of delayed keys, later than their delay; with `sooner`, every second one
    /// sooner.
    DelayedAdd { keys: usize, passes: usize, sooner: bool },
    /// Delayed adds of new keys.
    DelayedAddNew { keys: usize },
    /// Taking and completing all keys of a full queue.
    GetDone { keys: usize, passes: usize },
    /// Producers add random keys, and workers take and complete them, until `adds` are made and the
    /// queue is empty.
    Processed { producers: usize, workers: usize, keys: usize, adds: usize, batch: usize },
    /// One producer among many slow workers.
    AddLockContended { keys: usize, workers: usize, work_ms: u64, passes: usize },
    /// Memory of a full queue.
    BytesPerKey { keys: usize },
    /// Every tenth key fails once, with back-off, until all have succeeded.
    MillionFailing { keys: usize, workers: usize, base_ms: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_serialize_as_the_go_peer_expects() {
        let shape =
            QueueShape { kind: QueueWork::AddGetDone { keys: 1, passes: 2, batch: 16 }, peers_metered: true };
        let expect = r#"{"shape":"add-get-done","keys":1,"passes":2,"batch":16,"metrics":true}"#;
        assert_eq!(serde_json::to_string(&shape).expect("plain data"), expect);
    }
}
