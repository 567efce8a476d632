//! Fuzzing of the decoders.

use super::flow_desc::{decode_flows, decode_ports, decode_updates, dump_request, monitor_request};
use super::flow_mod::put_flow_mod;
use super::instructions::put_instructions;
use super::message::{
    Body, HEADER, Message, bundle, kind, multipart, put_bundle_control, put_hello, put_message,
};
use super::oxm::{decode_fields, put_match};
use super::{FlowChange, wire};
use crate::model::Vni;
use crate::plan::{Flow, LocalInterface, Port, RemoteInterface, SplitMix64, local_flows, remote_flows};

/// Decodes mutated messages of a switch until `count` bytes were mutated; returns the number of
/// messages that were well-formed nevertheless. The same seed gives the same messages.
#[must_use]
pub fn fuzz_messages(seed: u64, count: u64) -> u64 {
    let mut chance = SplitMix64::new(seed);
    let samples = sample_messages();
    let (mut mutated, mut decoded) = (0, 0);
    while mutated < count {
        let Some(sample) = samples.get(chance.below(samples.len())) else { break };
        let mut bytes = sample.clone();
        for _ in 0..=chance.below(4) {
            mutate(&mut bytes, &mut chance);
            mutated += 1;
        }
        decoded += u64::from(fuzz_bytes(&bytes));
    }
    decoded
}

/// Decodes a message and its body as the client does; returns whether it is well-formed.
#[must_use]
pub fn fuzz_bytes(bytes: &[u8]) -> bool {
    let Ok(Some(length)) = Message::length(bytes) else { return false };
    let Ok(message) = Message::decode(bytes.get(..length).unwrap_or(bytes)) else { return false };
    match message.body {
        Body::Multipart { kind: multipart::FLOW_DESC, bytes, .. } => decode_flows(&bytes).is_ok(),
        Body::Multipart { kind: multipart::PORT_DESC, bytes, .. } => decode_ports(&bytes).is_ok(),
        Body::Multipart { kind: multipart::FLOW_MONITOR, bytes, .. } => decode_updates(&bytes).is_ok(),
        Body::Multipart { bytes, .. } => decode_fields(&bytes).is_ok(),
        _ => true,
    }
}

fn mutate(bytes: &mut Vec<u8>, chance: &mut SplitMix64) {
    let at = chance.below(bytes.len());
    let random = chance.next().to_be_bytes();
    match chance.below(6) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, random[0]),
        2 => bytes.extend(random),
        // Lengths and types are small numbers.
        3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random[0] % 32),
        4 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (random[0] % 8)),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random[0]),
    }
}

/// Returns messages of each kind, to be mutated.
fn sample_messages() -> Vec<Vec<u8>> {
    let message = |kind: u8, body: &[u8]| {
        let mut out = Vec::with_capacity(HEADER + body.len());
        put_message(&mut out, kind, 7, |out| out.extend(body));
        out
    };
    let part = |kind: u16, body: Vec<u8>| {
        message(kind::MULTIPART_REPLY, &[&kind.to_be_bytes()[..], &[0; 6], &body].concat())
    };
    let flows = flows();
    let mut fields = Vec::new();
    flows.iter().for_each(|flow| put_match(&mut fields, &flow.matches));
    let description = flows.iter().flat_map(description).collect();
    let update = [0, 48, 0, 1].into_iter().chain([0; 44]).chain([0, 8, 0, 4, 0, 0, 0, 1]).collect();
    let port = [0, 0, 0, 1, 0, 40].into_iter().chain([0x61; 34]).collect();
    let mut samples = vec![
        message(kind::ERROR, &[0, 5, 0, 1, 6, 14, 0, 8, 0, 0, 0, 7]),
        message(kind::ECHO_REQUEST, b"echo"),
        message(kind::PORT_STATUS, &[0; 48]),
        message(kind::BARRIER_REPLY, &[]),
        part(multipart::FLOW_DESC, description),
        part(multipart::PORT_DESC, port),
        part(multipart::FLOW_MONITOR, update),
        part(0, fields),
        part(multipart::FLOW_DESC, dump_request()),
        part(multipart::FLOW_MONITOR, monitor_request()),
    ];
    let mut hello = Vec::new();
    put_hello(&mut hello, 1);
    let mut control = Vec::new();
    put_bundle_control(&mut control, bundle::OPEN + 1, 1);
    let mut change = Vec::new();
    flows.into_iter().for_each(|flow| put_flow_mod(&mut change, 1, &FlowChange::Add(flow)));
    samples.extend([hello, control, change]);
    samples
}

fn flows() -> Vec<Flow> {
    let Ok(vni) = Vni::new(17) else { return Vec::new() };
    let local = local_flows(&LocalInterface::new(vni, [10, 0, 0, 2].into()), Port(7));
    let remote = RemoteInterface::new(vni, [10, 0, 0, 3].into(), [192, 0, 2, 9].into());
    local.into_iter().chain(remote_flows(&remote, Port(1))).collect()
}

/// Encodes a flow description, as a switch sends it in a dump.
pub(super) fn description(flow: &Flow) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0, flow.table, 0];
    out.extend(flow.priority.to_be_bytes());
    out.extend([0; 8]);
    out.extend(flow.cookie.to_be_bytes());
    put_match(&mut out, &flow.matches);
    // Statistics without fields.
    out.extend([0, 0, 0, 4, 0, 0, 0, 0]);
    put_instructions(&mut out, &flow.actions);
    wire::set_length(&mut out, 0, 0);
    out
}
