//! What is measured, apart from who is: the same value goes to every subject, to the Go process as JSON.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape")]
pub(super) enum SnapshotShape {
    /// Getting every key, in the order in which they came, or in a random one.
    #[serde(rename = "cache-get")]
    Get {
        keys: usize,
        passes: usize,
        #[serde(rename = "sooner")]
        random: bool,
    },
    /// Listing and touching all that have one value of an index, for each value of both.
    #[serde(rename = "cache-list")]
    List { keys: usize, passes: usize },
    /// Replacing random objects as fast as one thread can, for a time, while readers list and touch everything.
    #[serde(rename = "cache-writes")]
    Writes {
        keys: usize,
        #[serde(rename = "workers")]
        readers: usize,
        #[serde(rename = "work_ms")]
        ms: u64,
    },
    /// Replacing a random object each millisecond.
    #[serde(rename = "cache-paced")]
    Paced {
        keys: usize,
        #[serde(rename = "workers")]
        readers: usize,
        #[serde(rename = "work_ms")]
        ms: u64,
    },
    /// Memory of the structure alone.
    #[serde(rename = "cache-bytes")]
    Bytes { keys: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_reads_as_the_go_process_expects_it() {
        let shape = SnapshotShape::Writes { keys: 1, readers: 10, ms: 2 };
        let expect = r#"{"shape":"cache-writes","keys":1,"workers":10,"work_ms":2}"#;
        assert_eq!(serde_json::to_string(&shape).expect("plain data"), expect);
    }
}
