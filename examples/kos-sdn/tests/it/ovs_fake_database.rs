//! The simulated database decides like the genuine one.

use std::collections::BTreeSet;

use kos::drive::ovs::ovsdb::fake::FakeDatabase;
use kos::drive::ovs::ovsdb::{
    Committed, Condition, Database, Datum, Mutation, OvsdbTable, RowOperation, RowUuid, RowValues, Rows,
    TransactError, Transaction,
};
use kos::plan::SplitMix64;
use machinery::tokio;

use crate::ovs_daemons::OvsDaemons;

const TRANSACTIONS: u64 = 600;

#[tokio::test(crate = "machinery::tokio")]
async fn simulated_database_decides_like_the_genuine_one() {
    let Some(daemons) = OvsDaemons::start() else { return };
    let client = daemons.client();
    client.initialise().await;
    let fake = FakeDatabase::new();
    fake.stop_switch();
    let simulated = fake.client("kos_test");
    let mut committed = 0;
    for seed in 0..TRANSACTIONS {
        let genuine = &client.database;
        let planned = (planned(&genuine.snapshot().rows, seed), planned(&simulated.snapshot().rows, seed));
        let text = format!("seed {seed}: {:?}", planned.1);
        let results = (genuine.transact(planned.0).await, simulated.transact(planned.1).await);
        committed += u64::from(results.0.is_ok());
        assert_eq!(decision(&results.0), decision(&results.1), "{text}: {results:?}");
        assert_eq!(by_name(&genuine.snapshot().rows), by_name(&simulated.snapshot().rows), "{text}");
    }
    assert!((TRANSACTIONS / 4..TRANSACTIONS * 9 / 10).contains(&committed), "{committed} were committed");
}

/// Returns the part of a result that is the same in each database.
fn decision(result: &Result<Committed, TransactError>) -> String {
    match result {
        Ok(committed) => format!("committed {} {:?}", committed.results.len(), committed.next_cfg),
        Err(TransactError::RowsChanged { operation }) => format!("changed {operation}"),
        Err(TransactError::Refused { .. }) => "refused".to_owned(),
        Err(other) => panic!("{other}"),
    }
}

/// Returns the rows with names instead of UUIDs.
fn by_name(rows: &Rows) -> BTreeSet<String> {
    let ports = |bridge: &kos::drive::ovs::ovsdb::BridgeRow| {
        rows.ports_of(bridge).map(|port| port.name.clone()).collect::<BTreeSet<_>>()
    };
    let bridges = rows.bridges.values().map(|row| {
        let attached = rows.root().is_some_and(|root| root.bridges.contains(&row.uuid));
        format!("{} {attached} {:?} {:?} {:?}", row.name, row.fail_mode, row.external_ids, ports(row))
    });
    let ports = rows.ports.values().map(|row| {
        let interfaces: BTreeSet<_> = rows.interfaces_of(row).map(|it| it.name.clone()).collect();
        format!("{} {:?} {:?} {interfaces:?}", row.name, row.tag, row.external_ids)
    });
    let interfaces =
        rows.interfaces.values().map(|row| format!("{} {} {:?}", row.name, row.kind, row.options));
    bridges.chain(ports).chain(interfaces).collect()
}

/// Plans a transaction for rows, which may be wrong in many ways.
fn planned(rows: &Rows, seed: u64) -> Transaction {
    let mut chance = SplitMix64::new(seed);
    let mut transaction = Transaction::new();
    for number in 0..=chance.below(3) {
        push_random(&mut transaction, rows, &mut chance, number);
    }
    if chance.below(2) == 0 { transaction.with_next_cfg() } else { transaction }
}

fn push_random(transaction: &mut Transaction, rows: &Rows, chance: &mut SplitMix64, number: usize) {
    let missing = RowUuid::from_bits(7);
    let bridge_name = ["b1", "b2"][chance.below(2)];
    let port_name = ["p1", "p2", "p3", "p4", "p5"][chance.below(5)];
    let bridge = rows.bridge(bridge_name).map_or(missing, |row| row.uuid);
    let port = rows.port(port_name).map_or(missing, |row| row.uuid);
    let root = rows.root().map_or(missing, |row| row.uuid);
    let text = ["secure", "standalone"][chance.below(2)];
    let marks = Datum::map([(["a", "b", "c"][chance.below(3)], text)]);
    match chance.below(16) {
        0..=3 => {
            let row = RowValues::new().with("name", port_name).with("type", "internal");
            let interface = transaction.insert(OvsdbTable::Interface, format!("i{number}"), row);
            let row = RowValues::new().with("name", port_name).with("interfaces", interface);
            let port =
                transaction.insert(OvsdbTable::Port, format!("p{number}"), row.with("external_ids", marks));
            transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::insert("ports", port)]);
        }
        4 | 5 => {
            let row = RowValues::new().with("name", bridge_name).with("external_ids", marks);
            let bridge = transaction.insert(OvsdbTable::Bridge, format!("b{number}"), row);
            transaction.mutate(OvsdbTable::Root, root, vec![Mutation::insert("bridges", bridge)]);
        }
        6 => transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::delete("ports", port)]),
        7 => transaction.update(OvsdbTable::Bridge, bridge, RowValues::new().with("fail_mode", text)),
        8 => transaction.update(OvsdbTable::Port, port, RowValues::new().with("external_ids", marks)),
        9 => transaction.mutate(OvsdbTable::Port, port, vec![Mutation::insert("external_ids", marks)]),
        10 => {
            let removed = if chance.below(2) == 0 { marks } else { Datum::set(["a", "c"]) };
            transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::delete("external_ids", removed)]);
        }
        11 => transaction.expect_row(OvsdbTable::Bridge, bridge, RowValues::new().with("fail_mode", text)),
        12 => transaction.expect_none(OvsdbTable::Port, Condition::equal("name", port_name)),
        13 => {
            let conditions = vec![Condition::includes("external_ids", marks)];
            let row = RowValues::new().with("tag", 7);
            transaction.push(RowOperation::Update { table: OvsdbTable::Port, conditions, row });
        }
        14 => {
            let conditions = vec![Condition::uuid(port)];
            transaction.push(RowOperation::Delete { table: OvsdbTable::Port, conditions });
        }
        _ => match chance.below(3) {
            0 => transaction.update(OvsdbTable::Bridge, bridge, RowValues::new().with("name", "other")),
            1 => transaction.mutate(OvsdbTable::Root, root, vec![Mutation::delete("bridges", bridge)]),
            _ => transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::insert("ports", missing)]),
        },
    }
}
