//! The rows of this suite. Rows named in the design have its names and goals.

use super::etcd;
use super::shape::StoreShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::{Better, Goal};

const ETCD: &str = etcd::NAME;

/// Sizes of the shapes.
struct StoreSizes {
    seconds: f64,
    /// Objects of the small store, and of the two large ones.
    objects: usize,
    large: [usize; 2],
    events: [usize; 3],
}

const FULL: StoreSizes =
    StoreSizes { seconds: 4.0, objects: 10_000, large: [100_000, 1_000_000], events: [1000, 200, 20] };

/// Sizes of a smoke test, below those in the names of the rows.
const QUICK: StoreSizes =
    StoreSizes { seconds: 0.5, objects: 1000, large: [2000, 10_000], events: [20, 10, 3] };

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<StoreShape>> {
    let sizes = if quick { QUICK } else { FULL };
    let StoreSizes { seconds, objects, .. } = sizes;
    let mut plans = vec![commits_64(&sizes), slow_sync(&sizes), commits_1(&sizes)];
    plans.extend([64, 1].map(|clients| Plan {
        shape: StoreShape::Reads { clients, objects, seconds },
        absent: vec![],
        rows: vec![
            rate(&format!("reads-{clients}")).note(READS).also("cpu_us", "server CPU µs a read"),
            micros(&format!("reads-{clients}-p50"), "p50_us"),
            micros(&format!("reads-{clients}-p99"), "p99_us"),
        ],
    }));
    let fanouts = [("fanout-1", 1), ("fanout-100", 100), ("fanout-10000", 10_000)];
    plans.extend(fanouts.into_iter().zip(sizes.events).map(|((name, watchers), events)| Plan {
        shape: StoreShape::Fanout { watchers, events },
        absent: vec![],
        rows: vec![
            RowSpec::less(name, "ms", "last_ms")
                .goals(if watchers == 10_000 { &[Goal::Times { factor: 10.0, peer: ETCD }] } else { &[] })
                .note(FANOUT)
                .also("worst_ms", "slowest of a round, ms")
                .also("cpu_ms", "server CPU ms an event"),
        ],
    }));
    plans.push(large("100k", sizes.large[0], &sizes, 5.0, None));
    plans.push(large("1m", sizes.large[1], &sizes, 10.0, Some(5.0)));
    plans
}

fn commits_64(sizes: &StoreSizes) -> Plan<StoreShape> {
    let &StoreSizes { seconds, objects, .. } = sizes;
    Plan {
        shape: StoreShape::Commits { clients: 64, objects, seconds },
        absent: vec![],
        rows: vec![
            rate("commits-64")
                .goals(&[Goal::times(6.0, ETCD)])
                .note(COMMITS)
                .also("client_cpu_us", "its client's CPU µs a commit"),
            micros("commits-64-p99", "p99_us").goals(&[Goal::times(5.0, ETCD)]),
            micros("commits-64-p50", "p50_us"),
            micros("commits-64-cpu", "cpu_us").note(CPU),
            RowSpec::less("commits-64-syncs", "", "syncs").note(SYNCS).also("sync_ms", "a sync took ms"),
            RowSpec::less("commits-64-written", "B", "written").note(WRITTEN),
        ],
    }
}

fn slow_sync(sizes: &StoreSizes) -> Plan<StoreShape> {
    let &StoreSizes { seconds, objects, .. } = sizes;
    let goal = Goal::Limit { limit: 0.8, unit: "", better: Better::Higher };
    Plan {
        shape: StoreShape::SlowSync { clients: 64, objects, seconds, sync_ms: 5 },
        absent: vec![(ETCD, "its disk cannot be made slow")],
        rows: vec![
            RowSpec::more("commits-64-slow-sync", "", "share")
                .goals(&[goal])
                .note(SLOW_SYNC)
                .also("per_second", "commits/s")
                .also("sync_ms", "a sync took ms")
                .also("syncs", "syncs a commit"),
        ],
    }
}

fn commits_1(sizes: &StoreSizes) -> Plan<StoreShape> {
    let &StoreSizes { seconds, objects, .. } = sizes;
    Plan {
        shape: StoreShape::Commits { clients: 1, objects, seconds },
        absent: vec![],
        rows: vec![
            rate("commits-1")
                .goals(&[Goal::times(2.0, ETCD)])
                .note(COMMITS)
                .also("client_cpu_us", "its client's CPU µs a commit"),
            micros("commits-1-p50", "p50_us"),
            micros("commits-1-p99", "p99_us"),
            micros("commits-1-cpu", "cpu_us").note(CPU),
            RowSpec::less("commits-1-syncs", "", "syncs").note(SYNCS).also("sync_ms", "a sync took ms"),
            RowSpec::less("commits-1-written", "B", "written").note(WRITTEN),
        ],
    }
}

/// Returns the rows of a large store. `restart` and `commits` are the goals, as factors over etcd.
fn large(
    name: &str,
    objects: usize,
    sizes: &StoreSizes,
    restart: f64,
    commits: Option<f64>,
) -> Plan<StoreShape> {
    let goals: Vec<Goal> = commits.map(|factor| Goal::times(factor, ETCD)).into_iter().collect();
    Plan {
        shape: StoreShape::Large { objects, clients: 64, seconds: sizes.seconds },
        absent: vec![],
        rows: vec![
            RowSpec::less(&format!("restart-{name}"), "s", "restart_s")
                .goals(&[Goal::times(restart, ETCD)])
                .note(RESTART)
                .also("first_s", "on memory unused for a while, s"),
            rate(&format!("commits-64-at-{name}"))
                .goals(&goals)
                .note(AT)
                .also("p99_us", "p99 µs")
                .also("cpu_us", "server CPU µs a commit")
                .also("syncs", "syncs a commit")
                .also("written", "bytes that the disk wrote a commit"),
            RowSpec::less(&format!("memory-{name}"), "B", "memory")
                .note(MEMORY)
                .also("anonymous", "of it anonymous"),
            RowSpec::less(&format!("disk-{name}"), "B", "disk").note(DISK),
        ],
    }
}

const COMMITS: &str = "durable puts of 1 KiB to random ones of 10 000 keys; ours: tasks in the store's own process; etcd: \
     goroutines over its Go client (one connection, gRPC, loopback), which share the cores with the server";
const CPU: &str = "CPU of the server's process per commit: ours includes the clients, etcd's does not";
const SYNCS: &str = "of files per commit; etcd: of its write-ahead log, without those of its database";
const WRITTEN: &str = "bytes that the disk wrote per commit, by all processes: including pages, \
     the journal, and preallocation";
const SLOW_SYNC: &str = "commits/s over 64 / the duration of a sync, which is delayed to 5 ms";
const READS: &str = "one random key of 10 000, consistent read; etcd: linearizable, over its Go client";
const FANOUT: &str = "from the call of one put until the last watcher of its prefix has the event, median of a round's \
     events; ours: a task each; etcd: calls of Watch on one Go client, which puts them all on one stream";
const RESTART: &str = "from the start of a process until it has answered a read (etcd: a linearizable one), after \
     SIGKILL of one with the same data: all objects, put once; page cache warm";
const AT: &str = "as commits-64, to random ones of all objects, after that restart";
const MEMORY: &str = "resident memory after that restart, per object of 1 KiB with a key of 36 \
     bytes, less that of an empty store; etcd maps its database's file";
const DISK: &str =
    "blocks of all files per object, less those of an empty store, preallocated segments included";

fn rate(name: &str) -> RowSpec {
    RowSpec::more(name, "/s", "per_second")
}

fn micros(name: &str, figure: &'static str) -> RowSpec {
    RowSpec::less(name, "µs", figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let named = [
            "commits-64",
            "commits-64-p99",
            "commits-1",
            "commits-64-slow-sync",
            "fanout-10000",
            "restart-100k",
            "restart-1m",
            "commits-64-at-1m",
        ];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &named);
        }
    }
}
