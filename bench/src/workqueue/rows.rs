//! The rows of this suite. Rows named in the design have its names and goals.

use super::shape::{QueueShape, QueueWork};
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

const CG: &str = "client-go";
const KR: &str = "kube-runtime";

const ONE_STREAM: (&str, &str) = (KR, "its scheduler is one stream, polled by one task");
const NO_PRIORITIES: &str = "has no priorities";

/// Returns the shapes and their rows. A quick run has fewer repetitions, no shape of a million
/// keys, and only the corners of the matrix.
pub(super) fn plans(quick: bool) -> Vec<Plan<QueueShape>> {
    let mut plans = single(if quick { 20 } else { 400 });
    plans.extend(many(quick));
    if !quick {
        plans.extend(million());
    }
    plans
}

fn single(passes: usize) -> Vec<Plan<QueueShape>> {
    let one = QueueWork::AddGetDone { keys: 1000, passes, batch: 1 };
    let sixteen = QueueWork::AddGetDone { keys: 1000, passes, batch: 16 };
    let priorities = QueueWork::PrioritiesOverPlain { keys: 1000, passes: passes / 4, levels: 4 };
    let against_both = [Goal::times(1.5, CG), Goal::times(3.0, KR)];
    let against_go = [Goal::times(2.5, CG)];
    let mut plans = vec![
        plan(one, ns("add-get-done").goals(&against_both).note(ADD_GET_DONE)),
        plan(one, ns("add-get-done-metered-peers").note(METERED)).metered(),
        plan(sixteen, ns("add-get-done-16").goals(&against_go).note(ONE_AT_A_TIME)),
        plan(
            priorities,
            RowSpec::less("priorities-over-plain", "", "ratio")
                .goals(&[Goal::at_most(1.2, "")])
                .note(PRIORITIES)
                .also("own_ratio", "over its own with equal priorities"),
        )
        .without(&[(CG, NO_PRIORITIES), (KR, NO_PRIORITIES)]),
        plan(
            QueueWork::DuplicateAdd { keys: 1000, passes: passes * 2 },
            ns("duplicate-add")
                .goals(&[Goal::times(1.0, CG)])
                .note(DUPLICATE)
                .also("plain_ns", "without them"),
        ),
        plan(
            QueueWork::DelayedAdd { keys: 1000, passes: passes / 2, sooner: false },
            ns("delayed-add").goals(&[Goal::times(10.0, CG)]).note(DELAYED),
        ),
        plan(
            QueueWork::DelayedAdd { keys: 1000, passes: passes / 2, sooner: true },
            ns("delayed-add-sooner").note(DELAYED_SOONER),
        ),
        plan(
            QueueWork::DelayedAddNew { keys: passes * 250 },
            ns("delayed-add-new").note("fresh keys into an empty queue"),
        ),
    ];
    for (keys, name) in [(1000, "pop-pending-1k"), (10_000, "pop-pending-10k"), (50_000, "pop-pending-50k")] {
        let passes = (passes * 200 / keys).max(1);
        plans.push(plan(QueueWork::GetDone { keys, passes }, ns(name).note(POP)));
    }
    plans
}

const ADD_GET_DONE: &str = "ours with metrics, a cause and a priority; the Go peers without metrics; \
     kube-runtime's scheduler alone, without metrics or exclusion, fed with requests that are due \
     now, less the wait for its timer";
const METERED: &str = "ours with all features on as always; the Go peers with Prometheus metrics too";
const ONE_AT_A_TIME: &str = "no peer has batches: theirs are one at a time";
const PRIORITIES: &str = "cost of add, get, done with four random priorities over equal ones; controller-runtime's \
     over client-go's queue";
const DUPLICATE: &str = "ours with a cause and a priority; controller-runtime until its buffer is merged";
const DELAYED: &str = "adding a waiting key again, with a later delay: it merges; the Go peers until \
     their buffers are merged";
const DELAYED_SOONER: &str = "the same, but every second add is due earlier than the key, and moves it";
const POP: &str = "get and done alone, of a queue of that size; kube-runtime: popping its pending keys";

fn many(quick: bool) -> Vec<Plan<QueueShape>> {
    let shape = |producers, workers, batch, adds| {
        let adds = if quick { adds / 10 } else { adds };
        QueueWork::Processed { producers, workers, keys: 10_000, adds, batch }
    };
    let row = |name: &str| {
        RowSpec::more(name, "keys/s", "per_second")
            .also("cpu_ns", "CPU ns a key")
            .also("handed_out", "handed out for each add")
    };
    let goals = [Goal::times(3.0, CG)];
    let full = 2_000_000;
    let mut plans = vec![
        plan(shape(8, 8, 1, full), row("processed-8x8").goals(&goals).note(PROCESSED)),
        plan(shape(8, 8, 1, full), row("processed-8x8-metered-peers").note(METERED)).metered(),
        plan(shape(8, 8, 32, full), row("processed-8x8-batch-32").goals(&goals).note(BATCHES)),
    ];
    let sides: &[usize] = if quick { &[1, 8] } else { &[1, 2, 4, 8] };
    for &producers in sides {
        for &workers in sides.iter().filter(|&&workers| (producers, workers) != (8, 8)) {
            let name = format!("processed-{producers}x{workers}");
            plans.push(plan(shape(producers, workers, 1, full / 5), row(&name)));
        }
    }
    for plan in &mut plans {
        plan.absent.push(ONE_STREAM);
    }
    plans
}

const PROCESSED: &str = "keys handed out over wall time, until the queue is empty; an add of a \
     queued key merges and is not counted; controller-runtime enqueues adds concurrently with its \
     workers, and hands out few keys meanwhile";
const BATCHES: &str = "ours adds 32 keys and takes up to 32 at a time; no peer has batches";

fn million() -> Vec<Plan<QueueShape>> {
    let keys = 1_000_000;
    let bytes = |name| RowSpec::less(name, "B", "bytes");
    let failing = QueueWork::MillionFailing { keys, workers: 8, base_ms: 10 };
    vec![
        plan(
            QueueWork::DuplicateAdd { keys, passes: 1 },
            ns("duplicate-add-1m").note("as duplicate-add, in random order").also("plain_ns", "without them"),
        ),
        plan(
            QueueWork::DelayedAdd { keys, passes: 1, sooner: false },
            ns("delayed-add-1m").note("as delayed-add, in random order"),
        ),
        plan(
            QueueWork::AddLockContended { keys, workers: 1000, work_ms: 1, passes: 500 },
            RowSpec::less("add-lock-contended", "µs", "us")
                .note(CONTENDED)
                .also("handed_out", "handed out a second meanwhile"),
        )
        .without(&[ONE_STREAM]),
        plan(
            QueueWork::BytesPerKey { keys },
            bytes("bytes-per-key").goals(&[Goal::at_most(160.0, "B")]).note(BYTES),
        ),
        Plan {
            shape: QueueShape { kind: failing, peers_metered: false },
            absent: vec![(KR, "has no back-off per key")],
            rows: vec![
                ns("million-failing")
                    .note(FAILING)
                    .also("longest_ms", "longest from a key's add to its success, ms")
                    .also("run_ms", "of a run of, ms"),
                bytes("million-failing-bytes").goals(&[Goal::at_most(400.0, "B")]).note(FAILING_BYTES),
            ],
        },
    ]
}

const CONTENDED: &str = "1 000 adds while 1 000 workers of 1 ms each take from 1 000 000 keys; controller-runtime \
     adds to a buffer";
const BYTES: &str = "live bytes, without the key's text; ours with a cause each; the Go peers after a collection; \
     kube-runtime's set of pending keys, which keeps neither order nor cause";
const FAILING: &str =
    "1 000 000 keys, every tenth fails once: time a key, adding included, until all succeeded";
const FAILING_BYTES: &str = "peak a key, without its text; the Go peers' heap with the garbage in it";

fn plan(kind: QueueWork, row: RowSpec) -> Plan<QueueShape> {
    Plan { shape: QueueShape { kind, peers_metered: false }, absent: vec![], rows: vec![row] }
}

impl Plan<QueueShape> {
    fn metered(mut self) -> Self {
        self.shape.peers_metered = true;
        self
    }

    fn without(mut self, absent: &[(&'static str, &'static str)]) -> Self {
        self.absent = absent.to_vec();
        self
    }
}

fn ns(name: &str) -> RowSpec {
    RowSpec::less(name, "ns", "ns").also("cpu_ns", "CPU")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        assert_names_once(
            &plans(false),
            &[
                "add-get-done",
                "add-get-done-16",
                "duplicate-add",
                "delayed-add",
                "processed-8x8",
                "priorities-over-plain",
                "bytes-per-key",
            ],
        );
    }
}
