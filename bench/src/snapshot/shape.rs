//! The measured shapes, equal for every subject; the Go process gets them as JSON.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape")]
pub(super) enum SnapshotShape {
    /// Gets of every key, in insertion or random order.
    #[serde(rename = "cache-get")]
    Get {
        keys: usize,
        passes: usize,
        #[serde(rename = "sooner")]
        random: bool,
    },
    /// Lists by each value of both indexes, touching the objects.
    #[serde(rename = "cache-list")]
    List { keys: usize, passes: usize },
    /// Replacing random objects by one thread for a time, while readers list all objects.
    #[serde(rename = "cache-writes")]
    Writes {
        keys: usize,
        #[serde(rename = "workers")]
        readers: usize,
        #[serde(rename = "work_ms")]
        ms: u64,
    },
    /// Replacing a random object every millisecond.
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
    fn shapes_serialize_as_the_go_peer_expects() {
        let shape = SnapshotShape::Writes { keys: 1, readers: 10, ms: 2 };
        let expect = r#"{"shape":"cache-writes","keys":1,"workers":10,"work_ms":2}"#;
        assert_eq!(serde_json::to_string(&shape).expect("plain data"), expect);
    }
}
