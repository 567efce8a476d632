//! The rows of this suite. Rows named in the design have its names and goals.

use super::shape::{FanoutShape, Traffic};
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;
use crate::server::PEER;

/// Sizes of the shapes.
struct FanoutSizes {
    watches: usize,
    many: usize,
    traffic: Traffic,
    stalled: (usize, f64, f64),
}

const FULL: FanoutSizes = FanoutSizes {
    watches: 5000,
    many: 50_000,
    traffic: Traffic { rate: 50.0, events: 500, idle_seconds: 3.0 },
    stalled: (5000, 500.0, 15.0),
};

/// Sizes of a smoke test, below those in the names of the rows.
const QUICK: FanoutSizes = FanoutSizes {
    watches: 500,
    many: 1000,
    traffic: Traffic { rate: 50.0, events: 40, idle_seconds: 0.5 },
    stalled: (500, 100.0, 2.0),
};

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<FanoutShape>> {
    let sizes = if quick { QUICK } else { FULL };
    vec![event(&sizes), cost(&sizes), stalled(&sizes)]
}

fn event(sizes: &FanoutSizes) -> Plan<FanoutShape> {
    Plan {
        shape: FanoutShape::Event { watches: sizes.watches, traffic: sizes.traffic },
        absent: vec![],
        rows: vec![
            RowSpec::less("event-cpu-5000", "µs", "event_us")
                .goals(&[Goal::times(100.0, PEER)])
                .note(EVENT)
                .also("idle_us", "subtracted per second, the cost without events: µs")
                .also("per_second", "sustained events/s")
                .also("client_us", "the client's CPU µs an event"),
            RowSpec::less("event-told-cpu-5000", "µs", "told_us")
                .goals(&[Goal::times(100.0, PEER)])
                .note(TOLD)
                .also("write_us", "the same write without watches"),
            RowSpec::less("event-lag-p99-5000", "ms", "lag_p99_ms").note(LAG).also("lag_p50_ms", "p50, ms"),
        ],
    }
}

fn cost(sizes: &FanoutSizes) -> Plan<FanoutShape> {
    Plan {
        shape: FanoutShape::Cost { few: 100, many: sizes.many, traffic: sizes.traffic },
        absent: vec![(PEER, MANY)],
        rows: vec![
            RowSpec::less("event-cost-50000-over-100", "", "ratio")
                .goals(&[Goal::at_most(1.2, "")])
                .note(COST)
                .also("few_us", "µs with 100")
                .also("many_us", "µs with 50 000")
                .also("few_idle_us", "subtracted per second with 100: µs")
                .also("many_idle_us", "with 50 000")
                .also("many_lag_p99_ms", "p99 lag with 50 000, ms"),
        ],
    }
}

fn stalled(sizes: &FanoutSizes) -> Plan<FanoutShape> {
    let (watches, rate, seconds) = sizes.stalled;
    Plan {
        shape: FanoutShape::Stalled { watches, rate, seconds },
        absent: vec![(PEER, OURS_ONLY)],
        rows: vec![
            RowSpec::less("stalled-others-p99", "ms", "others_p99_ms")
                .goals(&[Goal::at_most(1000.0, "ms")])
                .note(STALLED)
                .also("others_p50_ms", "p50, ms")
                .also("others_worst_ms", "worst, ms")
                .also("delivered", "events delivered and checked")
                .also("per_second", "writes/s")
                .also("event_us", "server CPU µs a write")
                .also("client_us", "client CPU µs a write"),
            RowSpec::less("stalled-ended", "s", "ended_last_s")
                .goals(&[Goal::at_most(10.0, "s")])
                .note(ENDED)
                .also("ended_first_s", "the first"),
            RowSpec::less("stalled-memory", "MiB", "grown_mib")
                .goals(&[Goal::at_most(64.0, "MiB")])
                .note(GROWN)
                .also("before_mib", "before, MiB"),
        ],
    }
}

const EVENT: &str = "CPU of the server's process for an update of a custom resource of 1 KiB by one client at 50/s, including \
     the write itself, on both sides; 5 000 watches over TLS, a hundred on each of 50 connections of HTTP/2, select by the equality of a label: 500 values, ten \
     watches each, on ten connections; every event is checked by the client: the right label, in order, ten times";
const TOLD: &str = "that minus the cost of the same write on the same server without watches: the cost of \
    delivery";
const LAG: &str = "from the answer to the write until the event is read, over all delivered events; none if \
    it was read before the answer";
const COST: &str = "the same event with 50 000 selector watches (500 connections) over that with 100 (10 connections), in \
     sequence on one server with 5 000 objects: ten watches on ten connections match, and the \
     write is in both; the events rotate over all labels";
const MANY: &str = "the peer's cost of an event grows with the watches (event-cpu-5000): with ten times as \
    many it falls behind any useful rate";
const STALLED: &str = "from the answer to a write until the event is read, by those of 5 000 watches that read; one of ten on each of 50 connections \
     never does, with a window of two events; 500 updates/s, each matching nine that read and one that does not";
const GROWN: &str = "the most memory of the server's process from the first write on, over what it was before: what is kept for 500 who never read \
     and have not been ended yet, and the events of the kind, of which 16 MiB are kept";
const ENDED: &str = "from the answer to the first write whose event did not fit until the last of \
     the 500 stalled watches was ended, without an effect on the others of its connection";
const OURS_ONLY: &str = "it falls behind even without stalled watches";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let named = ["event-cost-50000-over-100", "event-cpu-5000", "stalled-others-p99", "stalled-ended"];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &named);
        }
    }
}
