//! The rows of this suite. Rows named in the design have its names and goals.

use super::shape::KosShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<KosShape>> {
    let (nodes, sizes, fixed, streams) = match quick {
        true => (20, [100, 200, 400], ([100, 200], 5), 200),
        false => (1000, [1000, 10_000, 100_000], ([1000, 10_000], 20), 10_000),
    };
    let peers = if quick { 10 } else { 50 };
    let less = RowSpec::less;
    vec![
        Plan {
            shape: KosShape::Slope { nodes, sizes, peers },
            absent: vec![],
            rows: vec![
                less("cost-slope", "", "slope")
                    .goals(&[Goal::at_most(1.1, "")])
                    .note(SLOPE)
                    .also("few_us", "CPU µs of all an attachment, with few")
                    .also("few_server_cpu_us", "of that server and controllers")
                    .also("few_agents_cpu_us", "of that all agents")
                    .also("more_us", "with ten times as many")
                    .also("more_server_cpu_us", "of that server and controllers")
                    .also("more_agents_cpu_us", "of that all agents")
                    .also("cpu_us", "with the most")
                    .also("server_cpu_us", "of that server and controllers")
                    .also("agents_cpu_us", "of that all agents"),
                less("irrelevant-events", "", "irrelevant").goals(&[Goal::at_most(0.0, "")]).note(IRRELEVANT),
                RowSpec::more("attachments", "/s", "per_second").note(THROUGHPUT),
                latency("create-to-addressed-p99", "addressed", ADDRESSED),
                latency("create-to-implemented-p99", "implemented", IMPLEMENTED),
                latency("create-to-known-p99", "known", KNOWN),
                latency("implemented-to-known-p99", "heard", HEARD),
                less("agent-events", "", "events").note(EVENTS).also("bytes", "bytes"),
                less("agents-memory", "MiB", "agents_mib")
                    .note(MEMORY)
                    .also("agents_bytes", "bytes an attachment, of all agents")
                    .also("server_bytes", "of server and controllers"),
            ],
        },
        Plan {
            shape: KosShape::Fixed { nodes, sizes: fixed.0, networks: fixed.1 },
            absent: vec![],
            rows: vec![
                less("cost-fixed-networks", "µs", "cpu_us")
                    .note(FIXED)
                    .also("few_us", "with a tenth of them"),
            ],
        },
        Plan {
            shape: KosShape::Streams { nodes, attachments: streams, peers },
            absent: vec![],
            rows: vec![
                less("streams", "", "streams")
                    .note(STREAMS)
                    .also("per_key_streams", "with a stream for each network"),
                less("streams-cost", "µs", "cpu_us")
                    .note(STREAMS_COST)
                    .also("per_key_cpu_us", "with a stream for each network")
                    .also("cpu_us_ratio", "times as much")
                    .also("agents_mib", "MiB of all agents")
                    .also("per_key_agents_mib", "with a stream for each network")
                    .also("known_p99_ms", "ms until it is known, p99")
                    .also("per_key_known_p99_ms", "with a stream for each network"),
            ],
        },
    ]
}

fn latency(name: &str, of: &'static str, note: &'static str) -> RowSpec {
    let figure = |percent| -> &'static str {
        match (of, percent) {
            ("addressed", 50) => "addressed_p50_ms",
            ("addressed", 90) => "addressed_p90_ms",
            ("addressed", _) => "addressed_p99_ms",
            ("implemented", 50) => "implemented_p50_ms",
            ("implemented", 90) => "implemented_p90_ms",
            ("implemented", _) => "implemented_p99_ms",
            ("known", 50) => "known_p50_ms",
            ("known", 90) => "known_p90_ms",
            ("known", _) => "known_p99_ms",
            (_, 50) => "heard_p50_ms",
            (_, 90) => "heard_p90_ms",
            (_, _) => "heard_p99_ms",
        }
    };
    RowSpec::less(name, "ms", figure(99)).note(note).also(figure(50), "p50").also(figure(90), "p90")
}

const SLOPE: &str = "CPU of server, controllers and all agents for one attachment, from its creation until it is known on every node with one in its network, \
     with 100 000 over that with 1 000; 1 000 agents in one process, each with a plane, a connection over TLS and a cache of its own, on the fabric log; \
     networks of 50 attachments on 50 nodes; server and controllers in one process, objects in memory; created \
     over TLS by a third process, 64 at once, whose CPU is not included";
const IRRELEVANT: &str = "attachments that an agent received and that are in no network of its node, by the server's counts and by the calls of the fabrics; all \
     three runs";
const THROUGHPUT: &str = "attachments, from the first creation until the last is known on the last node";
const ADDRESSED: &str = "by the server's stamps of the sections, with 64 creations always in flight: so this is the depth of the queue, not the time of a step";
const IMPLEMENTED: &str = "the same, until the agent's report is stored";
const KNOWN: &str = "from the last client write for it (this attachment, or the first of the other \
     node in that network) until the other node's fabric is called for it; over all pairs of an attachment and a node";
const HEARD: &str = "from the timestamp of the agent's status until the other node's fabric is called, if the \
    node already had that network";
const EVENTS: &str = "events that the server sent to an agent, of its own attachments and of peers";
const MEMORY: &str = "anonymous memory of the process of all agents, at the end";
const FIXED: &str = "total CPU for one attachment in 20 networks, with 10 000: 500 in a network, so each is \
    sent to 499 nodes";
const STREAMS: &str =
    "long-running requests at the server, with 10 000 attachments on 1 000 nodes, in networks of 50";
const STREAMS_COST: &str = "CPU of server, controllers and all agents for one attachment, by one stream a node whose interests are edited";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        for quick in [true, false] {
            assert_names_once(&plans(quick), &["cost-slope", "irrelevant-events"]);
        }
    }
}
