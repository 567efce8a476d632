//! What is measured, apart from who is: the same value goes to every subject, to the Go process as JSON.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct QueueShape {
    #[serde(flatten)]
    pub(crate) kind: QueueWork,
    /// Whether the Go peers' queues have a name, and therefore metrics. Ours always has them.
    #[serde(rename = "metrics")]
    pub(crate) peers_metered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub(crate) enum QueueWork {
    /// One thread adds all keys, then takes and answers each; in batches where the subject has them and `batch` is
    /// over 1.
    AddGetDone { keys: usize, passes: usize, batch: usize },
    /// That with random priorities over that with equal ones.
    PrioritiesOverPlain { keys: usize, passes: usize, levels: usize },
    /// Adding keys that are queued.
    DuplicateAdd { keys: usize, passes: usize },
    /// Adding keys with a delay that are delayed already, later than they wait; or, if `sooner`, every second one sooner.
    DelayedAdd { keys: usize, passes: usize, sooner: bool },
    /// Adding keys with a delay that are not there.
    DelayedAddNew { keys: usize },
    /// Taking and answering all keys of a full queue.
    GetDone { keys: usize, passes: usize },
    /// Producers add random keys, workers take and answer, until `adds` were made and nothing is left.
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
    fn a_shape_reads_as_the_go_process_expects_it() {
        let shape =
            QueueShape { kind: QueueWork::AddGetDone { keys: 1, passes: 2, batch: 16 }, peers_metered: true };
        let expect = r#"{"shape":"add-get-done","keys":1,"passes":2,"batch":16,"metrics":true}"#;
        assert_eq!(serde_json::to_string(&shape).expect("plain data"), expect);
    }
}
