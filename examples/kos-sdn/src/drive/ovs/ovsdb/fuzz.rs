//! Mutated messages for the decoders of the client.

use serde_json::json;

use super::cache::RowCache;
use super::outcome::ReplyForm;
use super::row_uuid::RowUuid;
use super::session::Session;
use super::tables::Table;
use super::transaction::{RowValues, Transaction};
use crate::drive::ovs::json_rpc::{JsonSplitter, RpcMessage};

/// Decodes bytes as a server's side of a connection; they must not panic.
pub fn fuzz_bytes(bytes: &[u8]) {
    let mut splitter = JsonSplitter::new(1 << 20);
    let mut cache = RowCache::new(1000);
    let (mut session, _) = Session::begin("kos", &cache);
    let mut transaction = Transaction::new().with_next_cfg();
    transaction.insert(Table::Bridge, "b", RowValues::new());
    transaction.update(Table::Root, RowUuid::from_bits(1), RowValues::new());
    let form = ReplyForm::new(&transaction, "kos");
    session.transact();
    for piece in bytes.chunks(61) {
        splitter.push(piece);
        loop {
            let Ok(value) = splitter.next_value() else { return };
            let Some(value) = value else { break };
            let Ok(message) = RpcMessage::from_json(value) else { continue };
            if let RpcMessage::Reply { result, .. } = &message {
                let _ = form.read(result.clone());
                if let Ok(result) = result {
                    let _ = cache.begin(result);
                }
            }
            let _ = session.receive(message, &mut cache);
        }
    }
}

/// Decodes `count` mutations of valid messages; a seed has the same ones each time.
pub fn fuzz_messages(seed: u64, count: u64) {
    let samples = sample_streams();
    let mut random = SplitMix(seed);
    for _ in 0..count {
        let mut bytes = random.pick(&samples).map(Vec::as_slice).unwrap_or_default().to_vec();
        for _ in 0..=random.below(8) {
            mutate(&mut bytes, &mut random, &samples);
        }
        fuzz_bytes(&bytes);
    }
}

/// Returns valid streams of a server.
#[must_use]
pub fn sample_streams() -> Vec<Vec<u8>> {
    let uuid = RowUuid::from_bits(0x1234_5678_9abc).to_string();
    let bridge = json!({"name": "kos", "ports": ["set", [["uuid", uuid], ["uuid", uuid]]],
        "external_ids": ["map", [["kos", "1"], ["a", "b"]]], "fail_mode": "secure"});
    let initial = json!([false, uuid, {"Bridge": {&uuid: {"initial": bridge}},
        "Open_vSwitch": {&uuid: {"initial": {"next_cfg": 7, "bridges": ["uuid", uuid]}}}}]);
    let change = |update| json!({"id": null, "method": "update3", "params": ["kos", uuid, update]});
    let columns = Table::ALL.map(|table| {
        let columns =
            table.columns().iter().map(|column| (column.name.to_owned(), json!({"type": "string"})));
        (table.name().to_owned(), json!({"columns": columns.collect::<serde_json::Map<_, _>>()}))
    });
    let tables: serde_json::Map<_, _> = columns.into_iter().collect();
    let modify = json!({"Bridge": {&uuid: {"modify": {"fail_mode": ["set", []], "ports": ["uuid", uuid],
        "external_ids": ["map", [["a", "b"]]]}}}});
    let streams = [
        vec![json!({"id": 1, "result": {"name": "Open_vSwitch", "tables": tables}, "error": null})],
        vec![
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
    let bytes = |stream: Vec<serde_json::Value>| {
        stream.into_iter().flat_map(|one| one.to_string().into_bytes()).collect()
    };
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

fn mutate(bytes: &mut Vec<u8>, random: &mut SplitMix, samples: &[Vec<u8>]) {
    let place = random.below(bytes.len() as u64 + 1) as usize;
    let end = (place + random.below(16) as usize).min(bytes.len());
    match random.below(5) {
        0 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = random.next() as u8),
        1 => drop(
            bytes.splice(place..place, random.pick(&TOKENS).copied().unwrap_or_default().iter().copied()),
        ),
        2 => drop(bytes.drain(place..end)),
        3 => {
            let copy: Vec<_> = bytes.iter().skip(place).take(end - place).copied().collect();
            drop(bytes.splice(end..end, copy));
        }
        _ => {
            let other = random.pick(samples).map(Vec::as_slice).unwrap_or_default();
            let from = random.below(other.len() as u64 + 1) as usize;
            drop(bytes.splice(place.., other.iter().skip(from).copied()));
        }
    }
}

/// The generator splitmix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutated_messages_do_not_panic() {
        for seed in 0..4 {
            fuzz_messages(seed, 2_000);
        }
    }
}
