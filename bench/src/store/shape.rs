//! What is measured, and the steps that it is made of. Objects are puts of 1 KiB, in the same order on both sides.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StoreShape {
    /// Clients put random objects of a small store anew, each waiting until its put is durable.
    Commits { clients: usize, objects: usize, seconds: f64 },
    /// The same on a disk whose sync takes at least so long.
    SlowSync { clients: usize, objects: usize, seconds: f64, sync_ms: u64 },
    /// Clients read random objects, one by one.
    Reads { clients: usize, objects: usize, seconds: f64 },
    /// One put, and many who watch.
    Fanout { watchers: usize, events: usize },
    /// A store of many objects is killed and started again; then clients put random ones anew.
    Large { objects: usize, clients: usize, seconds: f64 },
}

/// What a subject is told to do next. The Go peers read the same text.
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
    /// Begins to watch, in place of those who watched before.
    Watch {
        watchers: usize,
    },
    /// Puts, and waits until every watcher has seen it, again and again.
    Notify {
        events: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_as_the_go_process_expects_it() {
        let step = StoreStep::Commits { clients: 64, objects: 10, seconds: 0.5 };
        let expect = r#"{"shape":"commits","clients":64,"objects":10,"seconds":0.5}"#;
        assert_eq!(serde_json::to_string(&step).expect("plain data"), expect);
    }
}
