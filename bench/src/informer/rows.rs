//! The rows of this suite. Rows named in the design have its names and goals.

use super::measured::{CG, KR};
use super::shape::{InformerShape, Projection};
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

/// Sizes of the shapes. Those of a quick run are below the sizes in the names of the rows.
struct InformerSizes {
    few: usize,
    many: usize,
    /// Objects over the wire.
    few_synced: usize,
    many_synced: usize,
    ms: u64,
    passes: usize,
    hops: usize,
    agents: (usize, usize, usize),
    keys: (usize, usize, usize),
}

const FULL: InformerSizes = InformerSizes {
    few: 10_000,
    many: 80_000,
    few_synced: 10_000,
    many_synced: 100_000,
    ms: 2000,
    passes: 10,
    hops: 5000,
    agents: (1000, 10_000, 10_000),
    keys: (10, 10_000, 5000),
};

const QUICK: InformerSizes = InformerSizes {
    few: 1000,
    many: 4000,
    few_synced: 500,
    many_synced: 2000,
    ms: 150,
    passes: 1,
    hops: 200,
    agents: (20, 100, 100),
    keys: (10, 500, 200),
};

/// Events yielded but not handled, as in client-go's own benchmark.
const IN_FLIGHT: usize = 10;

/// Keys per agent.
const EACH: usize = 4;

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<InformerShape>> {
    let sizes = if quick { QUICK } else { FULL };
    let mut plans = writes(&sizes);
    plans.extend([reads(&sizes), hop(&sizes), decode(&sizes)]);
    plans.extend(agents(&sizes));
    for (objects, suffix) in [(sizes.few_synced, "-10k"), (sizes.many_synced, "")] {
        plans.push(sync(objects, Projection::Whole, "", suffix));
        plans.push(sync(objects, Projection::WithoutManagedFields, "-slim", suffix));
        plans.push(sync(objects, Projection::Lean, "-lean", suffix));
        plans.push(sync(objects, Projection::Five, "-projected", suffix));
        plans.push(near(objects, suffix));
    }
    plans.push(relist(sizes.many_synced, 0, "relist-peak", 1.1));
    plans.push(relist(sizes.many_synced, sizes.many_synced / 10, "relist-peak-10", 1.25));
    plans
}

fn writes(sizes: &InformerSizes) -> Vec<Plan<InformerShape>> {
    let plan = |objects, readers, under_way, name: &str, note: &'static str| {
        let mut row = RowSpec::more(name, "events/s", "per_second")
            .note(note)
            .also("cpu_ns", "CPU ns an event, without reader threads")
            .also("taken", "events/s into the cache")
            .also("lists", "lists a second meanwhile");
        if name == "writes-10-readers" {
            row = row.goals(&[Goal::times(1000.0, CG)]);
        }
        let shape = InformerShape::Writes { objects, readers, ms: sizes.ms, under_way };
        Plan { shape, absent: vec![], rows: vec![row] }
    };
    let mut plans = Vec::new();
    for (objects, suffix) in [(sizes.few, "-10k"), (sizes.many, "")] {
        for (readers, who) in [(0, "0-readers"), (1, "1-reader"), (10, "10-readers")] {
            let note = if readers == 0 { WRITES } else { LISTING };
            plans.push(plan(objects, readers, IN_FLIGHT, &format!("writes-{who}{suffix}"), note));
        }
    }
    plans.push(plan(sizes.many, 0, 0, "writes-flood-0-readers", FLOOD));
    plans.push(plan(sizes.many, 10, 0, "writes-flood-10-readers", FLOOD));
    plans
}

fn reads(sizes: &InformerSizes) -> Plan<InformerShape> {
    let ns = |name: &str, figure| RowSpec::less(name, "ns", figure);
    Plan {
        shape: InformerShape::Reads { objects: sizes.many, passes: sizes.passes },
        absent: vec![],
        rows: vec![
            ns("get", "get_ns").note(GET),
            ns("list-by-index", "index_ns").note(BY_INDEX),
            ns("list-by-label", "label_ns").note(BY_LABEL),
        ],
    }
}

fn hop(sizes: &InformerSizes) -> Plan<InformerShape> {
    Plan {
        shape: InformerShape::Hop { objects: sizes.few, events: sizes.hops },
        absent: vec![],
        rows: vec![
            RowSpec::less("handler-hop", "µs", "p50_us").note(HOP),
            RowSpec::less("handler-hop-p99", "µs", "p99_us"),
            RowSpec::less("handler-hop-cpu", "µs", "cpu_us").note(HOP_CPU),
        ],
    }
}

fn decode(sizes: &InformerSizes) -> Plan<InformerShape> {
    let ns = |name: &str, figure| RowSpec::less(name, "ns", figure);
    Plan {
        shape: InformerShape::Decode { objects: 500, passes: sizes.passes * 10 },
        absent: vec![],
        rows: vec![
            ns("decode", "whole_ns").note(DECODE),
            ns("decode-lean", "lean_ns").note(LEAN),
            ns("decode-projected", "five_ns").note(FIVE),
        ],
    }
}

fn agents(sizes: &InformerSizes) -> [Plan<InformerShape>; 2] {
    let (agents, events, edits) = sizes.agents;
    let (few, many, keyed_events) = sizes.keys;
    let nobody = || vec![(KR, FIXED), (CG, FIXED)];
    let none = [Goal::at_most(0.0, "")];
    let less = RowSpec::less;
    [
        Plan {
            shape: InformerShape::Agents { agents, each: EACH, events, edits },
            absent: nobody(),
            rows: vec![
                less("irrelevant-events", "", "interest_irrelevant").goals(&none).note(AGENTS),
                less("irrelevant-events-per-key", "", "per_key_irrelevant").goals(&none).note(PER_KEY),
                less("agent-bytes", "B", "interest_bytes")
                    .note(BYTES)
                    .also("per_key_bytes", "with a stream for each key")
                    .also("interest_events", "events received by an agent")
                    .also("per_key_events", "with a stream for each key"),
                less("agent-streams", "", "interest_streams_after")
                    .note(STREAMS)
                    .also("interest_streams", "before the edits")
                    .also("interest_connections", "connections before them")
                    .also("interest_connections_after", "and after")
                    .also("per_key_streams", "with a stream for each key: before")
                    .also("per_key_streams_after", "and after")
                    .also("per_key_connections", "connections before")
                    .also("per_key_connections_after", "and after"),
                RowSpec::more("agent-edits", "/s", "interest_edits_per_second")
                    .note(EDITS)
                    .also("per_key_edits_per_second", "with a stream for each key"),
                less("agent-event-cpu", "µs", "interest_event_us")
                    .note(EVENT)
                    .also("per_key_event_us", "with a stream for each key")
                    .also("write_us", "the write alone"),
            ],
        },
        Plan {
            shape: InformerShape::Keys { few, many, events: keyed_events },
            absent: nobody(),
            rows: vec![
                less("event-cost-10000-keys-over-10", "", "ratio")
                    .goals(&[Goal::at_most(1.2, "")])
                    .note(KEYS)
                    .also("few_us", "µs with 10")
                    .also("many_us", "µs with 10 000")
                    .also("write_us", "of which the write alone, µs"),
            ],
        },
    ]
}

fn sync(objects: usize, of: Projection, what: &str, suffix: &str) -> Plan<InformerShape> {
    let is_named = suffix.is_empty();
    let goals = |factor: f64| -> Vec<Goal> {
        if is_named { vec![Goal::times(factor, KR), Goal::times(factor, CG)] } else { vec![] }
    };
    let (time, mut steady, note) = match of {
        Projection::Whole => (goals(1.0), goals(1.3), SYNC),
        Projection::WithoutManagedFields => (vec![], vec![], SLIM),
        Projection::Lean => (goals(1.0), goals(1.3), LEAN),
        Projection::Five => (goals(2.0), goals(8.0), FIVE),
    };
    if is_named && of == Projection::Five {
        steady.push(Goal::at_most(600.0, "B"));
    }
    Plan {
        shape: InformerShape::Sync { objects, of },
        absent: vec![],
        rows: vec![
            RowSpec::less(&format!("sync-time{what}{suffix}"), "s", "sync_s")
                .goals(&time)
                .note(note)
                .also("client_cpu_s", "its process's CPU s")
                .also("server_cpu_s", "the server's"),
            RowSpec::less(&format!("sync-memory{what}{suffix}"), "B", "steady").goals(&steady).note(STEADY),
            RowSpec::less(&format!("sync-memory-peak{what}{suffix}"), "B", "peak").note(PEAK),
        ],
    }
}

fn near(objects: usize, suffix: &str) -> Plan<InformerShape> {
    let goals = if suffix.is_empty() { vec![Goal::times(10.0, KR)] } else { vec![] };
    Plan {
        shape: InformerShape::Near { objects },
        absent: vec![(CG, "sync-time has it")],
        rows: vec![
            RowSpec::less(&format!("sync-time-in-process{suffix}"), "s", "sync_s")
                .goals(&goals)
                .note(NEAR)
                .also("first_s", "the first informer, which decodes all objects, s")
                .also("client_cpu_s", "CPU s"),
        ],
    }
}

fn relist(objects: usize, changed: usize, name: &str, most: f64) -> Plan<InformerShape> {
    Plan {
        shape: InformerShape::Relist { objects, changed },
        absent: vec![],
        rows: vec![
            RowSpec::less(name, "", "ratio")
                .goals(&[Goal::at_most(most, "")])
                .note(if changed == 0 { RELIST } else { RELIST_10 })
                .also("steady", "B an object before")
                .also("peak", "at its peak")
                .also("after", "after it"),
        ],
    }
}

const WRITES: &str = "a source in the process sends an event of a random object of 10 000 or 80 \
     000 (no suffix) whenever fewer than ten events wait to be handled, as in client-go's own \
     benchmark of its shared informer; each passes reflector and cache, with an index of a label \
     and one of a field, to a handler that counts; client-go with KUBE_FEATURE_WatchListClient=false, as that benchmark needs it; kube-runtime: \
     reflector, store and the following stages of the stream, which get a copy of each pod, as \
     kube-runtime's own watcher makes one";
const FLOOD: &str = "the same with a source that always has one more: client-go takes up to a \
     thousand under one lock, ours delivers the last of several states of an object";
const LISTING: &str = "as writes-0-readers, beside threads that list and touch all objects in a loop: ours \
    iterates over a snapshot, the others build a list of all pointers";
const GET: &str = "of 80 000 pods, in a random order; the pod is read, and held as by a reconciler";
const BY_INDEX: &str = "80 of 80 000 by a field, read; kube-runtime has no index and scans all";
const BY_LABEL: &str = "80 of 80 000 by a label, read: ours by the index of labels, client-go's \
     lister with a selector and kube-runtime's store by a scan";
const HOP: &str = "from the source having one event until the handler is called with it, all threads asleep \
    before; p50; ours and client-go with two indexes";
const HOP_CPU: &str = "CPU of the process for each, its source's thread among them";
const DECODE: &str =
    "one object of 1 KiB out of a page of 500, by serde_json or encoding/json alone: the floor of sync-time";
const SLIM: &str = "as without the suffix, but metadata.managedFields: ours is WithoutManagedFields<ConfigMap>; kube-runtime clears them with `modify`, client-go \
     with SetTransform";
const LEAN: &str = "as without the suffix, in a type of ours: whole labels and data, and the metadata that \
    informers use; peers have the whole";
const FIVE: &str = "namespace, name, version and two texts are kept: ours decodes nothing else; kube-runtime decodes a type with these texts and \
     its metadata, which `modify` strips; client-go strips with SetTransform";
const SYNC: &str = "ConfigMaps of 1 KiB from `machinery serve` over TLS, from the start of the informer until \
     it is synced, with the defaults of each: ours HTTP/2 and a watch with initial events, \
     kube-runtime HTTP/1.1 and pages of 500, client-go HTTP/2 and such a watch";
const STEADY: &str = "anonymous memory (RssAnon) by which the informer's process has grown for each object, at rest; client-go \
     after a collection that returned free memory to the system";
const PEAK: &str = "its peak during the sync";
const NEAR: &str = "on the in-process handle of a server, sharing the decoded objects of an earlier informer; \
    kube-runtime: its sync-time";
const RELIST: &str = "peak anonymous memory over that before, while a watch ends with 410 and a relist finds no changes; from a \
     server of texts, over HTTP without TLS, the same for all";
const RELIST_10: &str = "the same, with a tenth changed";
const FIXED: &str = "its filters are fixed";
const AGENTS: &str = "events for keys that an agent has not acquired: counted by the server for \
     each stream before any client filter, and once more by the agents; 1 000 agents with a connection each, with \
     4 of 2 000 keys each, 10 000 events under all of these, then 10 000 edits, then as many while \
     events are written";
const PER_KEY: &str = "the same with one stream per key: events sent beyond those under held keys";
const BYTES: &str = "bytes of watches to one agent, for the events, before TLS";
const STREAMS: &str = "watches open on the server after 10 000 edits: unchanged";
const EDITS: &str = "keys released and acquired per second, over all agents, each complete before the next \
    round";
const EVENT: &str = "the server's CPU for an event delivered to two agents, without its write";
const KEYS: &str = "the server's CPU for an event, including its write, under one of the same ten keys: with 10 000 keys in one interest over with 10";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let named = [
            "writes-10-readers",
            "sync-time",
            "sync-memory",
            "sync-time-projected",
            "sync-memory-projected",
            "sync-time-in-process",
            "relist-peak",
            "relist-peak-10",
            "irrelevant-events",
        ];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &named);
        }
    }
}
