//! The rows of this suite. Rows named in the design have its names and goals.

use super::measured::{CLI, CREATE, DIFF_FLOWS, DL_DST, REPLACE_FLOWS};
use super::shape::OvsShape;
use crate::interleave::{Plan, RowSpec};
use crate::report::Goal;

/// Returns the shapes and their rows.
pub(super) fn plans(quick: bool) -> Vec<Plan<OvsShape>> {
    let [together, alone, locals, peers, remotes, ports, times, seconds] = match quick {
        true => [5, 3, 5, 20, 20, 2, 3, 2],
        false => [100, 20, 1000, 9000, 2500, 10, 20, 10],
    };
    let less = RowSpec::less;
    let none = [Goal::at_most(0.0, "")];
    let plan = |shape, rows| Plan { shape, absent: vec![], rows };
    vec![
        plan(
            OvsShape::Together { attachments: together },
            vec![
                less("ovs-100", "ms", "ms")
                    .goals(&[Goal::times(10.0, CLI)])
                    .note(TOGETHER)
                    .also("moved_ms", MOVED),
            ],
        ),
        plan(
            OvsShape::Alone { attachments: alone },
            vec![
                less("ovs-one", "ms", "ms")
                    .goals(&[Goal::times(5.0, CLI)])
                    .note(ALONE)
                    .also("moved_ms", MOVED),
            ],
        ),
        plan(
            OvsShape::Adopt { locals, peers },
            vec![
                less("ovs-adopt", "s", "s").goals(&[Goal::times(10.0, CREATE)]).note(ADOPT),
                less("ovs-adopt-flow-mods", "", "flow_mods").goals(&none).note(FLOW_MODS),
                less("ovs-adopt-port-changes", "", "port_changes").goals(&none).note(PORT_CHANGES),
            ],
        ),
        plan(
            OvsShape::Audit { peers: remotes, times },
            vec![
                less("ovs-audit", "ms", "ms")
                    .goals(&[Goal::times(3.0, DIFF_FLOWS)])
                    .note(AUDIT)
                    .also("flows", "flows"),
                less("ovs-audit-dumps", "", "dumps").goals(&none).note(DUMPS),
            ],
        ),
        plan(
            OvsShape::Refill { locals: ports, peers: remotes },
            vec![
                less("ovs-refill", "ms", "ms")
                    .goals(&[Goal::times(0.5, REPLACE_FLOWS)])
                    .note(REFILL)
                    .also("flows", "flows")
                    .also("all_ms", "ms until the flows of local ports are back, too")
                    .also("links_ms", "ms until the last port is back in its namespace"),
            ],
        ),
        plan(
            OvsShape::Pipeline { seconds },
            vec![
                RowSpec::more("ovs-pipeline", "Mbit/s", "mbit")
                    .goals(&[Goal::times(0.8, DL_DST)])
                    .note(PIPELINE),
            ],
        ),
        plan(
            OvsShape::FirstPing,
            vec![
                less("ovs-first-ping", "", "ratio")
                    .goals(&[Goal::at_most(5.0, "")])
                    .note(FIRST_PING)
                    .also("first_ms", "ms of the first")
                    .also("second_ms", "ms of the second"),
            ],
        ),
    ]
}

const MOVED: &str = "with the move of each port into a namespace of its own, for which the kernel waits";
const TOGETHER: &str = "attachments created at once on one node, from the first address to the last report of an interface, by the server's stamps; server, \
     controllers and agent in one process, the agent over TLS; cli: the same ports and flows by `ovs-vsctl add-port`, `ovs-vsctl get … ofport` and \
     `ovs-ofctl --bundle add-flows -`, one process after the other, without a control plane";
const ALONE: &str =
    "the same for an attachment that is created when the one before it is implemented; the median of one run";
const ADOPT: &str = "start of an agent on a switch with 1 000 interfaces of its node and the flows of 9 000 peers, until it is ready; create: start of the \
     same agent with an empty switch, until all of them exist";
const FLOW_MODS: &str = "flows added, changed or deleted by this start, by `ovs-ofctl monitor`";
const PORT_CHANGES: &str = "rows of ports and interfaces changed by this start, by `ovsdb-client monitor`";
const AUDIT: &str = "comparison of all rows, ports, links and flows with the interfaces, when none differs; the median of one run; diff-flows: `ovs-ofctl \
     diff-flows` with a file of these flows, in turns";
const DUMPS: &str =
    "requests for flows that the switch received during as many audits, by its log of messages";
const REFILL: &str = "ovs-vswitchd is killed and started; from the first connection that its bridge accepts until the default flows and those of all peers are back, by table statistics; those of local \
     ports follow their moves into their namespaces; \
     replace-flows: `ovs-ofctl replace-flows` with a file of these flows, after another restart, without an agent";
const PIPELINE: &str = "iperf3, TCP, one stream, between namespaces on two hosts; dl-dst: on the same hosts, through two flows on each that match the \
     destination's MAC address alone, with static ARP entries";
const FIRST_PING: &str = "round trip of the first echo request between two new hosts over that of the second, half a second later; without an entry in OVS's \
     neighbour table the first takes a second";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interleave::assert_names_once;

    #[test]
    fn rows_named_in_the_design_exist_once() {
        let names =
            ["ovs-100", "ovs-one", "ovs-adopt", "ovs-audit", "ovs-refill", "ovs-pipeline", "ovs-first-ping"];
        for quick in [true, false] {
            assert_names_once(&plans(quick), &names);
        }
    }
}
