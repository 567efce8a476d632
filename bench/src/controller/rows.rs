//! The rows of this suite. Rows named in the design have its names and goals.

use super::measured::{CR, KR};
use super::shape::ControllerShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

struct ControllerSizes {
    objects: usize,
    ms: u64,
    events: usize,
    idle: usize,
    written: usize,
    far_events: usize,
    owners: usize,
    waiting: usize,
    releases: usize,
}

const FULL: ControllerSizes = ControllerSizes {
    objects: 10_000,
    ms: 3000,
    events: 2500,
    idle: 50_000,
    written: 5000,
    far_events: 2000,
    owners: 10_000,
    waiting: 1000,
    releases: 500,
};

const QUICK: ControllerSizes = ControllerSizes {
    objects: 1000,
    ms: 200,
    events: 200,
    idle: 2000,
    written: 200,
    far_events: 100,
    owners: 300,
    waiting: 50,
    releases: 30,
};

/// Changes yielded but not reconciled: more than workers, and fewer than would merge.
const IN_FLIGHT: usize = 100;

/// Interval of changes in the process, in microseconds. Not a multiple of a timer's millisecond, so
/// that changes fall between its ticks.
const NEAR_US: u64 = 4100;
/// Interval of changes over the wire, in microseconds.
const FAR_US: u64 = 5100;

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<ControllerShape>> {
    let sizes = if quick { QUICK } else { FULL };
    let thrice = [Goal::times(3.0, KR)];
    vec![
        reconciles(&sizes, IN_FLIGHT, true, "reconciles", &thrice, RECONCILES),
        reconciles(&sizes, 10, true, "reconciles-10", &[], "the same with ten in flight"),
        reconciles(&sizes, IN_FLIGHT, false, "reconciles-no-limit", &[], NO_LIMIT),
        reconciles(&sizes, 0, true, "reconciles-flood", &[], FLOOD),
        Plan {
            shape: ControllerShape::Hops { objects: sizes.objects, events: sizes.events, every_us: NEAR_US },
            absent: only_rust(),
            rows: vec![
                RowSpec::less("event-to-reconcile-p50", "µs", "p50_us").note(HOP),
                RowSpec::less("event-to-reconcile-p99", "µs", "p99_us")
                    .goals(&thrice)
                    .note(HOP)
                    .also("cpu_us", "CPU µs of the process for each, its source's thread among them"),
            ],
        },
        Plan {
            shape: ControllerShape::Idle { objects: sizes.idle },
            absent: vec![],
            rows: vec![
                RowSpec::less("idle-object-bytes", "B", "bytes")
                    .goals(&[Goal::at_most(388.0, "B")])
                    .note(IDLE)
                    .also("without_records", "with Settings::records at 0"),
            ],
        },
        Plan {
            shape: ControllerShape::Status {
                objects: sizes.written,
                events: sizes.far_events,
                every_us: FAR_US,
            },
            absent: vec![],
            rows: vec![
                RowSpec::more("status-reconciles", "writes/s", "per_second")
                    .goals(&[Goal::times(1.4, KR)])
                    .note(STATUS)
                    .also("server_cpu_us", "server's CPU µs a write")
                    .also("runs", "runs started for each write meanwhile"),
                RowSpec::less("status-loop-cpu", "µs", "client_cpu_us")
                    .goals(&[Goal::times(2.0, KR)])
                    .note(STATUS_CPU),
                RowSpec::less("runs-per-write", "runs", "runs_per_write")
                    .goals(&[Goal::at_most(1.0, "")])
                    .note(RUNS),
                RowSpec::less("status-event-to-reconcile-p99", "µs", "p99_us")
                    .note(STATUS_HOP)
                    .also("p50_us", "p50")
                    .also("event_server_cpu_us", "server's CPU µs an event, with both writes")
                    .also("event_client_cpu_us", "CPU µs of the loop's process"),
            ],
        },
        Plan {
            shape: ControllerShape::Allocations { owners: sizes.owners },
            absent: no_allocator(),
            rows: vec![
                RowSpec::more("allocations", "× creates", "share")
                    .goals(&[Goal::at_least(0.7, "× creates")])
                    .note(ALLOCATIONS)
                    .also("per_second", "members locked/s")
                    .also("creates", "plain creates/s")
                    .also("server_cpu_us", "server's CPU µs for each, with the lists at the start")
                    .also("client_cpu_us", "CPU µs of the loop's process"),
            ],
        },
        Plan {
            shape: ControllerShape::HandOvers { waiting: sizes.waiting, releases: sizes.releases },
            absent: no_allocator(),
            rows: vec![
                RowSpec::less("allocations-full", "writes", "writes")
                    .goals(&[Goal::at_most(3.0, "writes")])
                    .note(HAND_OVERS)
                    .also("p99_us", "p99, µs")
                    .also("p50_us", "p50")
                    .also("after_us", "p99 from the response to the deletion")
                    .also("write_us", "one create, p50"),
            ],
        },
    ]
}

/// A source in the process of a peer in Go would be another program.
fn only_rust() -> Vec<(&'static str, &'static str)> {
    vec![(CR, "measured over the wire")]
}

fn no_allocator() -> Vec<(&'static str, &'static str)> {
    vec![(KR, "kube-runtime has no allocator"), (CR, "controller-runtime has no allocator")]
}

const ALLOCATIONS: &str = "over TLS on one machinery serve: each of 10 000 ConfigMaps gets one of 20 000 \
     numbers, whose lock is a Lease; eight workers; beside plain creates of equal Leases, eight at once, over \
     an equal connection. No owner records its number";
const HAND_OVERS: &str = "the same with one number and 1 000 owners that wait: from the sending of the deletion of \
     its lock until the response to the next holder's create, p99, in units of one such create";

fn reconciles(
    sizes: &ControllerSizes,
    under_way: usize,
    is_limited: bool,
    name: &str,
    goals: &[Goal],
    note: &'static str,
) -> Plan<ControllerShape> {
    Plan {
        shape: ControllerShape::Reconciles { objects: sizes.objects, ms: sizes.ms, under_way, is_limited },
        absent: only_rust(),
        rows: vec![
            RowSpec::more(name, "reconciles/s", "per_second")
                .goals(goals)
                .note(note)
                .also("told", "events/s of the source")
                .also("merged_percent", "of them merged, %")
                .also("cpu_ns", "CPU ns a reconcile"),
        ],
    }
}

const RECONCILES: &str = "runs of a reconcile that does nothing: a source in the process changes \
     each of 10 000 pods in turn, with a hundred in flight, so that none merges; eight runs at once, and a thread pool of two; ours \
     with all parts of a controller (causes, records, run times, watchdog, a delivery queue); kube-runtime's reflector and Controller::for_stream; each event is a new pod on both sides";
const NO_LIMIT: &str =
    "reconciles with kube-runtime's default, unlimited concurrency; ours as without the suffix";
const FLOOD: &str = "the same with a source that always has one more, and yields once in 64: \
     counted are reconciles; ours accepts all events, and an object that changed twice runs once; \
     kube-runtime polls for events when it has no other work";
const HOP: &str = "from the arrival of an event at the source until the reconcile of that object \
     begins, all threads asleep before, one in 4.1 ms among 10 000 objects; in kube-runtime every event goes through its scheduler's timer, which has steps of a millisecond";
const IDLE: &str = "bytes allocated for each of 50 000 idle pods that were all reconciled once, \
     beyond those of a process with the cache alone, on both sides: for ours the record of the \
     last run (65 536 of them by default), which the diagnostics page shows, and the capacity that \
     queue and delivery queue keep after the start; for kube-runtime the capacity that its \
     scheduler and runner keep, as it has no records";
const STATUS: &str = "over TLS on one machinery serve with ConfigMaps of 1 KiB: each reconcile writes an annotation by a merge patch, unless the object has it; \
     eight at once, until each object was written; ours delays the next run of an object until its \
     informer shows the write, and drops the event of that write; kube-runtime runs at the event; \
     controller-runtime with its priority queue and its read-your-writes consistency; ours over one connection of HTTP/2, the others with their own clients";
const STATUS_CPU: &str = "CPU of the loop's process for each write of status-reconciles";
const RUNS: &str = "runs of a key for each change by another client, whose reconcile writes once: \
     one every 5.1 ms, each of another object";
const STATUS_HOP: &str = "the same, then another client changes an object every 5.1 ms: from the \
     sending of its write until the start of the reconcile that sees it, which writes the \
     annotation";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let named = [
            "reconciles",
            "event-to-reconcile-p50",
            "event-to-reconcile-p99",
            "idle-object-bytes",
            "status-reconciles",
            "status-loop-cpu",
            "runs-per-write",
            "status-event-to-reconcile-p99",
            "allocations",
            "allocations-full",
        ];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &named);
        }
    }
}
