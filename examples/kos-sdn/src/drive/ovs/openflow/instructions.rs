//! Actions as instructions of a flow.

use super::OpenFlowError;
use super::oxm::{MAX_PORT, field};
use super::wire::{WireReader, pad, set_length};
use crate::model::Vni;
use crate::plan::{Action, Port};

const GOTO_TABLE: u16 = 1;
const APPLY_ACTIONS: u16 = 4;
const OUTPUT: u16 = 0;
const SET_FIELD: u16 = 25;

/// Appends the instructions of actions. The next table comes last, as in every flow.
pub(super) fn put_instructions(out: &mut Vec<u8>, actions: &[Action]) {
    let start = out.len();
    out.extend(APPLY_ACTIONS.to_be_bytes());
    out.extend([0; 6]);
    let empty = out.len();
    actions.iter().for_each(|action| put_action(out, *action));
    if out.len() == empty {
        out.truncate(start);
    } else {
        set_length(out, start, 2);
    }
    for action in actions {
        if let Action::GotoTable(table) = action {
            out.extend([0, 1, 0, 8, *table, 0, 0, 0]);
        }
    }
}

fn put_action(out: &mut Vec<u8>, action: Action) {
    let start = out.len();
    match action {
        Action::SetTunnel(vni) => {
            put_set_field(out, field::TUNNEL_ID, &u64::from(vni.number()).to_be_bytes());
        }
        Action::SetTunnelTo(node) => put_set_field(out, field::TUN_DST, &node.octets()),
        Action::Output(port) => {
            out.extend([0, 0, 0, 0]);
            out.extend(port.0.to_be_bytes());
            out.extend([0; 8]);
        }
        Action::GotoTable(_) => return,
    }
    pad(out, start);
    set_length(out, start, 2);
}

fn put_set_field(out: &mut Vec<u8>, header: u32, value: &[u8]) {
    out.extend(SET_FIELD.to_be_bytes());
    out.extend([0; 2]);
    out.extend(header.to_be_bytes());
    out.extend(value);
}

/// Decodes instructions; `None` if [`Action`] cannot express them.
///
/// # Errors
/// An instruction is cut off.
pub(super) fn decode_instructions(mut reader: WireReader<'_>) -> Result<Option<Vec<Action>>, OpenFlowError> {
    let (mut actions, mut next, mut is_known) = (Vec::new(), None, true);
    while !reader.is_empty() {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut body = reader.nested(length, 4)?;
        match kind {
            APPLY_ACTIONS => {
                body.u32()?;
                is_known &= decode_actions(body, &mut actions)?;
            }
            GOTO_TABLE => next = Some(Action::GotoTable(body.u8()?)),
            _ => is_known = false,
        }
    }
    actions.extend(next);
    Ok(is_known.then_some(actions))
}

/// Appends decoded actions; returns whether [`Action`] can express them.
fn decode_actions(mut reader: WireReader<'_>, actions: &mut Vec<Action>) -> Result<bool, OpenFlowError> {
    let mut is_known = true;
    while !reader.is_empty() {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut body = reader.nested(length, 4)?;
        let action = match kind {
            OUTPUT => Some(Port(body.u32()?)).filter(|port| *port < MAX_PORT).map(Action::Output),
            SET_FIELD => match body.u32()? {
                field::TUNNEL_ID => {
                    u32::try_from(body.u64()?).ok().and_then(|vni| Vni::new(vni).ok()).map(Action::SetTunnel)
                }
                field::TUN_DST => Some(Action::SetTunnelTo(body.address()?)),
                _ => None,
            },
            _ => None,
        };
        is_known &= action.is_some();
        actions.extend(action);
    }
    Ok(is_known)
}
