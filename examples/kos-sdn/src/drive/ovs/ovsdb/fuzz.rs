//! Mutated messages for the decoders of the client.

use serde_json::{Value, json};

use super::cache::RowCache;
use super::outcome::ReplyForm;
use super::row_uuid::RowUuid;
use super::schema::schema_json;
use super::session::Session;
use super::tables::OvsdbTable;
use super::transaction::{RowValues, Transaction};
use crate::drive::ovs::json_rpc::{JsonSplitter, RpcMessage};
use crate::plan::SplitMix64;

/// Decodes bytes as a server's side of a connection; they must not panic. Returns the number of
/// messages that were well-formed.
pub fn fuzz_bytes(bytes: &[u8]) -> u64 {
    let mut splitter = JsonSplitter::new(1 << 20);
    let mut cache = RowCache::new(1000);
    let (mut session, _) = Session::begin("kos", &cache);
    let mut transaction = Transaction::new().with_next_cfg();
    transaction.insert(OvsdbTable::Bridge, "b", RowValues::new());
    transaction.update(OvsdbTable::Root, RowUuid::from_bits(1), RowValues::new());
    let form = ReplyForm::new(&transaction, "kos");
    session.transact();
    let mut decoded = 0;
    for piece in bytes.chunks(61) {
        splitter.push(piece);
        loop {
            let Ok(value) = splitter.next_value() else { return decoded };
            let Some(value) = value else { break };
            let Ok(message) = RpcMessage::from_json(value) else { continue };
            decoded += 1;
            if let RpcMessage::Reply { result, .. } = &message {
                let _ = form.read(result.clone());
                if let Ok(result) = result {
                    let _ = cache.begin(result);
                }
            }
            let _ = session.receive(message, &mut cache);
        }
    }
    decoded
}

/// Decodes mutated streams of a server until `count` bytes were mutated; returns the number of
/// messages that were well-formed nevertheless. The same seed gives the same streams.
pub fn fuzz_messages(seed: u64, count: u64) -> u64 {
    let samples = sample_streams();
    let mut chance = SplitMix64::new(seed);
    let (mut mutated, mut decoded) = (0, 0);
    while mutated < count {
        let mut bytes = pick(&mut chance, &samples).map(Vec::as_slice).unwrap_or_default().to_vec();
        for _ in 0..=chance.below(8) {
            mutate(&mut bytes, &mut chance, &samples);
            mutated += 1;
        }
        decoded += fuzz_bytes(&bytes);
    }
    decoded
}

/// Returns valid streams of a server.
#[must_use]
pub fn sample_streams() -> Vec<Vec<u8>> {
    let uuid = RowUuid::from_bits(0x1234_5678_9abc).to_string();
    let none = RowUuid::from_bits(0).to_string(); // a standalone server numbers no transactions
    let bridge = json!({"name": "kos", "ports": ["set", [["uuid", uuid], ["uuid", uuid]]],
        "external_ids": ["map", [["kos", "1"], ["a", "b"]]], "fail_mode": "secure"});
    let initial = json!([false, none, {"Bridge": {&uuid: {"initial": bridge}},
        "Open_vSwitch": {&uuid: {"initial": {"next_cfg": 7, "bridges": ["uuid", uuid]}}}}]);
    let change = |update| json!({"id": null, "method": "update3", "params": ["kos", none, update]});
    let schema = json!({"id": 1, "result": schema_json(None), "error": null});
    let modify = json!({"Bridge": {&uuid: {"modify": {"fail_mode": ["set", []], "ports": ["uuid", uuid],
        "external_ids": ["map", [["a", "b"]]]}}}});
    let streams: [Vec<Value>; 4] = [
        vec![
            schema,
            json!({"id": 2, "result": initial, "error": null}),
            change(modify),
            change(json!({"Bridge": {&uuid: {"delete": null}}})),
        ],
        vec![
            json!({"id": 3, "result": {"locked": false}, "error": null}),
            json!({"id": null, "method": "locked", "params": ["kos"]}),
            json!({"id": null, "method": "stolen", "params": ["kos"]}),
            json!({"id": "echo", "method": "echo", "params": []}),
        ],
        vec![
            json!({"id": 4, "error": null, "result": [{}, {"uuid": ["uuid", uuid]}, {"count": 1}, {"count": 1},
            {"rows": [{"next_cfg": 8}]}]}),
        ],
        vec![json!({"id": 4, "error": null, "result": [{}, {"error": "timed out", "details": "x"}, null]})],
    ];
    let bytes =
        |stream: Vec<Value>| stream.into_iter().flat_map(|one| one.to_string().into_bytes()).collect();
    streams.into_iter().map(bytes).collect()
}

/// Bytes with a meaning in JSON.
const TOKENS: [&[u8]; 12] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"null",
    b"-9223372036854775809",
    b"1e999",
    b"\\ud800",
];

fn mutate(bytes: &mut Vec<u8>, chance: &mut SplitMix64, samples: &[Vec<u8>]) {
    let place = chance.below(bytes.len() + 1);
    let end = (place + chance.below(16)).min(bytes.len());
    let [random, ..] = chance.next().to_be_bytes();
    match chance.below(5) {
        0 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = random),
        1 => {
            let token = pick(chance, &TOKENS).copied().unwrap_or_default();
            drop(bytes.splice(place..place, token.iter().copied()));
        }
        2 => drop(bytes.drain(place..end)),
        3 => {
            let copy: Vec<_> = bytes.iter().skip(place).take(end - place).copied().collect();
            drop(bytes.splice(end..end, copy));
        }
        _ => {
            let other = pick(chance, samples).map(Vec::as_slice).unwrap_or_default();
            let from = chance.below(other.len() + 1);
            drop(bytes.splice(place.., other.iter().skip(from).copied()));
        }
    }
}

fn pick<'a, T>(chance: &mut SplitMix64, items: &'a [T]) -> Option<&'a T> {
    items.get(chance.below(items.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutated_messages_do_not_panic() {
        let decoded = fuzz_messages(0xdb, 20_000);
        assert!(decoded > 1_000, "the mutations leave too little to decode: {decoded}");
    }

    #[test]
    fn samples_are_well_formed() {
        for sample in sample_streams() {
            assert!(fuzz_bytes(&sample) > 0, "{}", String::from_utf8_lossy(&sample));
        }
    }

    /// The decoders behind a refused message would not be reached by its mutations.
    #[test]
    fn sample_of_rows_is_accepted() {
        let mut cache = RowCache::new(1000);
        let (mut session, _) = Session::begin("kos", &cache);
        let mut splitter = JsonSplitter::new(1 << 20);
        splitter.push(&sample_streams()[0]);
        while let Some(value) = splitter.next_value().unwrap() {
            session.receive(RpcMessage::from_json(value).unwrap(), &mut cache).unwrap();
        }
        assert!(session.is_monitoring() && cache.rows().bridges.is_empty());
    }
}
