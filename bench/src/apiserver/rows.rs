//! The rows of this suite. Rows named in the design have its names and goals.

use super::shape::ApiserverShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;
use crate::server::PEER;

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<ApiserverShape>> {
    let (seconds, objects, watches_each) = if quick { (0.5, 2000, 300) } else { (4.0, 100_000, 10_000) };
    vec![
        writes(64, seconds, 6.0, Some(10.0)),
        writes(1, seconds, 3.0, None),
        list(objects),
        lists_at_once(objects, "list-100k-20-peak", false),
        lists_at_once(objects, "list-100k-20-peak-indented", true),
        watches("idle-watch-h2", watches_each, 100, 2.0),
        watches("idle-watch-h1", watches_each, 1, 24.0),
        idle(),
        polite(256, if quick { 5.0 } else { 60.0 }),
    ]
}

/// Returns the rows of writes. `rate` and `cpu` are the goals of creates, as factors over the peer.
fn writes(clients: usize, seconds: f64, rate: f64, cpu: Option<f64>) -> Plan<ApiserverShape> {
    let goals = |factor: Option<f64>| -> Vec<Goal> {
        factor.map(|factor| Goal::times(factor, PEER)).into_iter().collect()
    };
    let cpu_row = match clients {
        64 => "create-cpu".to_owned(),
        _ => format!("create-cpu-{clients}"),
    };
    let micros = |name: &str, figure| RowSpec::less(name, "µs", figure);
    Plan {
        shape: ApiserverShape::Writes { clients, seconds },
        absent: vec![],
        rows: vec![
            per_second(&format!("creates-{clients}"), "create_per_second")
                .goals(&goals(Some(rate)))
                .note(WRITES)
                .also("create_client_cpu_us", "the client's CPU µs a create"),
            micros(&format!("creates-{clients}-p50"), "create_p50_us"),
            micros(&format!("creates-{clients}-p99"), "create_p99_us"),
            micros(&cpu_row, "create_cpu_us").goals(&goals(cpu)).note(CPU),
            per_second(&format!("updates-{clients}"), "update_per_second")
                .note(UPDATES)
                .also("update_client_cpu_us", "the client's CPU µs an update"),
            micros(&format!("updates-{clients}-p50"), "update_p50_us"),
            micros(&format!("updates-{clients}-p99"), "update_p99_us"),
            micros(&format!("update-cpu-{clients}"), "update_cpu_us").note(CPU),
        ],
    }
}

fn list(objects: usize) -> Plan<ApiserverShape> {
    Plan {
        shape: ApiserverShape::Lists { objects, clients: 1, indented: false },
        absent: vec![],
        rows: vec![
            RowSpec::less("list-100k", "s", "list_s")
                .goals(&[Goal::times(5.0, PEER)])
                .note(LIST)
                .also("list_mb", "MB of the list")
                .also("client_cpu_s", "the client's CPU s"),
            RowSpec::less("list-100k-cpu", "s", "cpu_s").note("CPU time of the server's process for it"),
            RowSpec::less("list-100k-peak", "GiB", "peak_gib").note(PEAK).also("before_gib", "before it"),
        ],
    }
}

fn lists_at_once(objects: usize, name: &str, indented: bool) -> Plan<ApiserverShape> {
    Plan {
        shape: ApiserverShape::Lists { objects, clients: 20, indented },
        absent: vec![(PEER, "one list shows its cost of each")],
        rows: vec![
            RowSpec::less(name, "GiB", "peak_gib")
                .goals(&[Goal::at_most(1.5, "GiB")])
                .note(if indented { INDENTED } else { PEAK })
                .also("before_gib", "before them")
                .also("list_s", "all took s")
                .also("cpu_s", "server CPU s"),
        ],
    }
}

fn watches(name: &str, watches: usize, per_connection: usize, most: f64) -> Plan<ApiserverShape> {
    Plan {
        shape: ApiserverShape::Watches { watches, per_connection },
        absent: vec![],
        rows: vec![
            RowSpec::less(name, "KiB", "idle_kib").goals(&[Goal::at_most(most, "KiB")]).note(
                match per_connection {
                    1 => IDLE_H1,
                    _ => IDLE_H2,
                },
            ),
            RowSpec::less(&format!("{name}-used"), "KiB", "used_kib")
                .note(USED)
                .also("written_kib", "growth by one write to each object without watches, subtracted"),
        ],
    }
}

fn idle() -> Plan<ApiserverShape> {
    Plan {
        shape: ApiserverShape::Idle,
        absent: vec![],
        rows: vec![
            RowSpec::less("idle-memory", "MiB", "resident_mib")
                .goals(&[Goal::at_most(20.0, "MiB")])
                .note(IDLE),
        ],
    }
}

fn polite(connections: usize, seconds: f64) -> Plan<ApiserverShape> {
    Plan {
        shape: ApiserverShape::Polite { connections, seconds },
        absent: vec![(PEER, "it is built without users, roles and flow control")],
        rows: vec![
            RowSpec::less("polite-p99", "×", "ratio")
                .goals(&[Goal::at_most(3.0, "×")])
                .note(POLITE)
                .also("alone_p99_ms", "p99 alone in ms")
                .also("beside_p99_ms", "p99 beside the floods in ms")
                .also("refused", "requests of the client that were refused")
                .also("flood_per_second", "requests of the floods that were answered a second"),
        ],
    }
}

const WRITES: &str = "durable creates of custom resources of 1 KiB with a schema; each client has a connection of its own, HTTP/2 \
     over TLS, and waits for its answer; ours: `machinery serve` with RBAC; the peer: \
     apiextensions-apiserver with etcd in its process, without authorization and namespaces";
const UPDATES: &str =
    "each client replaces the objects it created, with their known revision as precondition";
const CPU: &str = "CPU time of the server's process for each, kernel included";
const LIST: &str = "all objects in one answer, to one client that reads as fast as possible, from a server \
    started on them";
const IDLE_H2: &str = "anonymous memory (RssAnon) by which the server's process has grown, for each of 10 000 watches over TLS, a hundred on a \
     connection of HTTP/2, each with a label selector (equality) of its own; before any event; kernel memory is not included";
const IDLE_H1: &str = "the same with 10 000 connections of HTTP/1.1, a watch on each";
const USED: &str = "the same after each has received one event of 1.4 KiB, at rest again";
const IDLE: &str =
    "resident memory (VmRSS) of the server's process with one definition and no objects, at rest";
const POLITE: &str = "p99 of a client with ten requests a second (create, get and list of ten in turn), beside another user that floods with 256 \
     connections that get and list at a resourceVersion of the future, and with 256 that create objects for a webhook that never answers; over \
     the p99 of the same client alone";
const PEAK: &str = "peak resident memory (VmHWM) during the request";
const INDENTED: &str = "the same with `pretty=1`, for which each object is read and written: so tables, metadata and YAML are made, too";

fn per_second(name: &str, figure: &'static str) -> RowSpec {
    RowSpec::more(name, "/s", figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let named = [
            "creates-64",
            "creates-1",
            "create-cpu",
            "list-100k",
            "list-100k-20-peak",
            "idle-watch-h2",
            "idle-watch-h1",
            "idle-memory",
            "polite-p99",
        ];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &named);
        }
    }
}
