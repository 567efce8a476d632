//! Flow descriptions of a dump, port descriptions, and updates of a flow monitor.

use super::instructions::decode_instructions;
use super::oxm::{decode_fields, put_match, read_match};
use super::wire::WireReader;
use super::{FoundFlow, OpaqueFlow, OpenFlowError, SwitchPort};
use crate::plan::{Flow, Match, Port};

/// Body of the request for all flows.
pub(super) fn dump_request() -> Vec<u8> {
    let mut body = vec![0xff, 0, 0, 0];
    // Any output port and group; any cookie.
    body.extend([0xff; 8]);
    body.extend([0; 20]);
    put_match(&mut body, &Match::default());
    body
}

/// Body of the request for all ports.
pub(super) const PORTS_REQUEST: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Body of the request that monitors additions, removals and modifications in all tables.
pub(super) fn monitor_request() -> Vec<u8> {
    const ADDED: u8 = 1 << 1;
    const REMOVED: u8 = 1 << 2;
    const MODIFIED: u8 = 1 << 3;
    let mut body = vec![0, 0, 0, 1];
    body.extend([0xff; 8]);
    body.extend([0, ADDED | REMOVED | MODIFIED, 0xff, 0]);
    put_match(&mut body, &Match::default());
    body
}

/// Decodes the flow descriptions of one part of a dump.
///
/// # Errors
/// The bytes are malformed.
pub(super) fn decode_flows(bytes: &[u8]) -> Result<Vec<FoundFlow>, OpenFlowError> {
    let mut reader = WireReader::new("a flow description", bytes);
    let mut flows = Vec::new();
    while !reader.is_empty() {
        let length = reader.u16()?;
        flows.push(decode_flow(reader.nested(length, 2)?)?);
    }
    Ok(flows)
}

fn decode_flow(mut reader: WireReader<'_>) -> Result<FoundFlow, OpenFlowError> {
    let (_pad, table, _pad8, priority) = (reader.u16()?, reader.u8()?, reader.u8()?, reader.u16()?);
    // Time limits, flags and importance are zero in flows of ours.
    let (options, cookie) = (reader.u64()?, reader.u64()?);
    let oxm = read_match(&mut reader)?;
    let (_reserved, length) = (reader.u16()?, reader.u16()?);
    reader.nested(length, 4)?;
    reader.skip_padding(length)?;
    let (matches, actions) = (decode_fields(oxm)?, decode_instructions(reader)?);
    Ok(match (matches, actions) {
        (Some(matches), Some(actions)) if options == 0 => {
            FoundFlow::Known(Flow { table, priority, cookie, matches, actions })
        }
        _ => FoundFlow::Opaque(OpaqueFlow { table, priority, cookie, oxm: oxm.to_vec() }),
    })
}

/// Decodes the port descriptions of one part of a response.
///
/// # Errors
/// The bytes are malformed.
pub(super) fn decode_ports(bytes: &[u8]) -> Result<Vec<SwitchPort>, OpenFlowError> {
    let mut reader = WireReader::new("a port description", bytes);
    let mut ports = Vec::new();
    while !reader.is_empty() {
        let (number, length) = (Port(reader.u32()?), reader.u16()?);
        let mut port = reader.nested(length, 6)?;
        let (_pad, _mac, _pad16) = (port.u16()?, port.mac()?, port.u16()?);
        let name = port.array::<16>()?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        ports.push(SwitchPort { number, name: String::from_utf8_lossy(name).into_owned() });
    }
    Ok(ports)
}

/// An update of a flow monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowUpdate {
    /// Another connection added, removed or modified a flow.
    Foreign,
    /// A request of this connection changed flows.
    Own,
    /// The switch has dropped updates, because this client read them too slowly.
    Paused,
    /// The switch has sent all dropped updates.
    Resumed,
}

/// Decodes the updates of one message.
///
/// # Errors
/// The bytes are malformed.
pub(super) fn decode_updates(bytes: &[u8]) -> Result<Vec<FlowUpdate>, OpenFlowError> {
    let mut reader = WireReader::new("an update of a flow monitor", bytes);
    let mut updates = Vec::new();
    while !reader.is_empty() {
        let length = reader.u16()?;
        let mut update = reader.nested(length, 2)?;
        updates.push(match update.u16()? {
            0..=3 => FlowUpdate::Foreign,
            4 => FlowUpdate::Own,
            5 => FlowUpdate::Paused,
            6 => FlowUpdate::Resumed,
            event => return Err(update.fault(format!("the event {event} is unknown"))),
        });
    }
    Ok(updates)
}
