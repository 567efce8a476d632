//! Changes of flows as `flow_mod` messages.

use super::FlowChange;
use super::instructions::put_instructions;
use super::message::{kind, put_message};
use super::oxm::{put_match, put_opaque_match};
use crate::plan::Match;

const ADD: u8 = 0;
const DELETE: u8 = 3;
const DELETE_STRICT: u8 = 4;
/// All tables.
const ANY_TABLE: u8 = 0xff;

/// Table, command, priority, cookie and cookie mask.
struct Head {
    table: u8,
    command: u8,
    priority: u16,
    cookie: u64,
    mask: u64,
}

/// Appends the `flow_mod` message of a change.
pub(super) fn put_flow_mod(out: &mut Vec<u8>, xid: u32, change: &FlowChange) {
    put_message(out, kind::FLOW_MOD, xid, |out| match change {
        FlowChange::Add(flow) => {
            let (table, priority, cookie) = (flow.table, flow.priority, flow.cookie);
            put_head(out, &Head { table, command: ADD, priority, cookie, mask: 0 });
            put_match(out, &flow.matches);
            put_instructions(out, &flow.actions);
        }
        FlowChange::Delete(flow) => {
            put_head(out, &strict(flow.table, flow.priority));
            put_match(out, &flow.matches);
        }
        FlowChange::DeleteOpaque(flow) => {
            put_head(out, &strict(flow.table, flow.priority));
            put_opaque_match(out, &flow.oxm);
        }
        FlowChange::DeleteByCookie { cookie, mask } => {
            let (cookie, mask) = (*cookie, *mask);
            put_head(out, &Head { table: ANY_TABLE, command: DELETE, priority: 0, cookie, mask });
            put_match(out, &Match::default());
        }
    });
}

const fn strict(table: u8, priority: u16) -> Head {
    Head { table, command: DELETE_STRICT, priority, cookie: 0, mask: 0 }
}

fn put_head(out: &mut Vec<u8>, head: &Head) {
    out.extend(head.cookie.to_be_bytes());
    out.extend(head.mask.to_be_bytes());
    out.extend([head.table, head.command]);
    // No idle and no hard time limit.
    out.extend([0; 4]);
    out.extend(head.priority.to_be_bytes());
    // No buffered packet; any output port and group.
    out.extend([0xff; 12]);
    // No flags, no importance.
    out.extend([0; 4]);
}
