//! The measured shapes and their steps. Objects are puts of 1 KiB, in the same order on both sides.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StoreShape {
    /// Clients overwrite random objects of a small store, each waiting for durability.
    Commits { clients: usize, objects: usize, seconds: f64 },
    /// The same on a disk with a minimum duration of syncs.
    SlowSync { clients: usize, objects: usize, seconds: f64, sync_ms: u64 },
    /// Clients read random objects, one at a time.
    Reads { clients: usize, objects: usize, seconds: f64 },
    /// One put, and many watchers.
    Fanout { watchers: usize, events: usize },
    /// A large store is killed and restarted; then clients overwrite random objects.
    Large { objects: usize, clients: usize, seconds: f64 },
}

/// A request to a subject. The Go peers parse the same text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub(super) enum StoreStep {
    /// Puts each object once.
    Load {
        objects: usize,
        clients: usize,
    },
    Commits {
        clients: usize,
        objects: usize,
        seconds: f64,
    },
    Reads {
        clients: usize,
        objects: usize,
        seconds: f64,
    },
    /// Starts watchers, replacing earlier ones.
    Watch {
        watchers: usize,
    },
    /// Puts repeatedly, each time waiting for every watcher.
    Notify {
        events: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_serialize_as_the_go_peer_expects() {
        let step = StoreStep::Commits { clients: 64, objects: 10, seconds: 0.5 };
        let expect = r#"{"shape":"commits","clients":64,"objects":10,"seconds":0.5}"#;
        assert_eq!(serde_json::to_string(&step).expect("plain data"), expect);
    }
}
