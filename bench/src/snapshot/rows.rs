//! The rows of this suite. Rows named in the design have its names and goals.

use super::shape::SnapshotShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

const CG: &str = super::go::NAME;
pub(super) const RWLOCK: &str = "rwlock";

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<SnapshotShape>> {
    let passes = |full: usize| if quick { full.div_ceil(20) } else { full };
    let ms = if quick { 200 } else { 3000 };
    let (objects, readers) = (80_000, 10);
    let hot = SnapshotShape::Get { keys: 10_000, passes: passes(400), random: false };
    let random = SnapshotShape::Get { keys: objects, passes: passes(40), random: true };
    let list = SnapshotShape::List { keys: 100_000, passes: passes(20) };
    let rate =
        |name: &str| RowSpec::more(name, "writes/s", "per_second").also("cpu_ns", "writer's CPU ns a write");
    vec![
        plan(hot, ns("get-hot").goals(&[Goal::times(5.0, CG)]).note(HOT)),
        plan(random, ns("get-random").goals(&[Goal::times(2.0, CG)]).note(RANDOM)),
        plan(list, ns("list-100-by-index").goals(&[Goal::times(3.0, CG)]).note(LIST)),
        plan(
            SnapshotShape::Writes { keys: objects, readers: 0, ms: ms / 2 },
            rate("writes-0-readers").goals(&[Goal::times(2.0, CG)]).note(WRITES),
        ),
        Plan {
            shape: SnapshotShape::Writes { keys: objects, readers, ms },
            absent: vec![],
            rows: vec![
                rate("writes-10-readers")
                    .goals(&[Goal::times(1000.0, CG)])
                    .note(LISTING)
                    .also("lists", "lists a second meanwhile"),
                RowSpec::less("writes-10-readers-cpu", "ns", "cpu_ns")
                    .goals(&[Goal::at_most(1500.0, "ns")])
                    .note("the writer's CPU a write in that shape"),
            ],
        },
        plan(
            SnapshotShape::Paced { keys: objects, readers, ms },
            RowSpec::less("write-p99-10-readers", "ms", "p99_ms")
                .goals(&[Goal::at_most(1.0, "ms")])
                .note(PACED)
                .also("p50_ms", "median, ms")
                .also("writes", "writes"),
        ),
        plan(
            SnapshotShape::Bytes { keys: objects },
            RowSpec::less("bytes-per-entry", "B", "bytes").goals(&[Goal::at_most(110.0, "B")]).note(BYTES),
        ),
    ]
}

const HOT: &str = "10 000 keys of 24 bytes, in a repeated sequence; the value is held and read";
const RANDOM: &str = "of 80 000, in a random order";
const LIST: &str =
    "100 of 100 000 objects, read, by a label and by a field in turn, every value in a random order";
const WRITES: &str = "one thread replaces random ones of 80 000 objects by prepared ones; a label and a field are \
     indexed, and every eighth write changes the field";
const LISTING: &str = "as writes-0-readers, beside ten threads that list and read all 80 000";
const PACED: &str = "one write a millisecond, beside the same ten";
const BYTES: &str = "live bytes of 80 000 entries with two indexes, keys' texts and objects not counted; \
     client-go after a collection";

fn plan(shape: SnapshotShape, row: RowSpec) -> Plan<SnapshotShape> {
    Plan { shape, absent: vec![], rows: vec![row] }
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
                "get-hot",
                "get-random",
                "list-100-by-index",
                "writes-0-readers",
                "writes-10-readers",
                "write-p99-10-readers",
                "bytes-per-entry",
            ],
        );
    }
}
