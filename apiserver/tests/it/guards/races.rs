//! Two conflicting writers, at the same time.

use std::sync::atomic::Ordering;

use machinery_apiserver::Handle;
use machinery_objects::{Deletion, Preconditions, Revision, WriteError, Writer};
use machinery_store::{Backend, Disk, DiskOptions, Memory, Options, Retention};
use serde_json::json;

use super::subnet::{Auditor, PATH, Subnet, beside, is_in_the_way, key, posted, records, subnet, two};
use crate::client::Client;

#[derive(Clone, Copy, Debug)]
enum RaceShape {
    CreateCreate,
    CreateUpdate,
    UpdateUpdate,
    DeleteCreate,
}

const SHAPES: [RaceShape; 4] =
    [RaceShape::CreateCreate, RaceShape::CreateUpdate, RaceShape::UpdateUpdate, RaceShape::DeleteCreate];

type RaceOutcome = Result<(), WriteError>;

async fn create(handle: Handle<Subnet>, subnet: Subnet) -> RaceOutcome {
    handle.create(&subnet, None).await.map(drop)
}

async fn update(handle: Handle<Subnet>, subnet: Subnet) -> RaceOutcome {
    handle.update(&subnet, &Preconditions::default()).await.map(drop)
}

async fn delete(handle: Handle<Subnet>, name: String) -> RaceOutcome {
    handle.delete(&key(&name), &Deletion::default()).await.map(drop)
}

async fn together(
    first: impl Future<Output = RaceOutcome> + Send + 'static,
    second: impl Future<Output = RaceOutcome> + Send + 'static,
) -> (RaceOutcome, RaceOutcome) {
    let (first, second) = (beside(first), beside(second));
    (first.await.unwrap(), second.await.unwrap())
}

/// Races in a network of its own, one after another. Each of the two would do alone. Returns how
/// many writers were refused.
async fn lane(shape: RaceShape, handles: [Handle<Subnet>; 2], vni: u64, rounds: u64) -> u64 {
    let mut refused = 0;
    let at = |name: &str, from: u64| subnet(&format!("{name}-{vni}"), &[vni], from, from + 10);
    let named = |name: &str, round: u64| format!("{name}{round}");
    let [first, second] = &handles;
    let there: &[(&str, u64)] = match shape {
        RaceShape::CreateCreate => &[],
        RaceShape::CreateUpdate => &[("x", 0)],
        RaceShape::UpdateUpdate => &[("x", 0), ("y", 20)],
        RaceShape::DeleteCreate => &[("x0", 0)],
    };
    for (name, from) in there {
        create(first.clone(), at(name, *from)).await.unwrap();
    }
    for round in 1..=rounds {
        let (a, b) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let ([a, b], from) = ([a.clone(), b.clone()], 40 * round);
        let (x, y) = (named("x", round), named("y", round));
        refused += match shape {
            RaceShape::CreateCreate => {
                let both = together(create(a, at(&x, from)), create(b, at(&y, from + 5))).await;
                let name = if one_won(both) { x } else { y };
                delete(first.clone(), format!("{name}-{vni}")).await.unwrap();
                1
            }
            RaceShape::CreateUpdate => {
                let both = together(update(a, at("x", from)), create(b, at(&y, from + 5))).await;
                if !one_won(both) {
                    delete(second.clone(), format!("{y}-{vni}")).await.unwrap();
                }
                1
            }
            RaceShape::UpdateUpdate => {
                one_won(together(update(a, at("x", from)), update(b, at("y", from + 5))).await);
                1
            }
            RaceShape::DeleteCreate => {
                let (before, from) = (named("x", round - 1), 5 * (round % 2));
                let deleted = delete(a, format!("{before}-{vni}"));
                let (deleted, created) = together(deleted, create(b, at(&x, from))).await;
                // A deletion conflicts with nothing; a creation may have been committed before it.
                deleted.unwrap();
                match created {
                    Ok(()) => 0,
                    created => {
                        is_in_the_way(created);
                        create(first.clone(), at(&x, from)).await.unwrap();
                        1
                    }
                }
            }
        };
    }
    for name in ["x", "y", &named("x", rounds)] {
        match delete(first.clone(), format!("{name}-{vni}")).await {
            Ok(()) | Err(WriteError::NotFound) => {}
            Err(error) => panic!("{error}"),
        }
    }
    refused
}

/// Returns whether it was the first.
fn one_won(both: (RaceOutcome, RaceOutcome)) -> bool {
    match both {
        (Ok(()), lost) => {
            is_in_the_way(lost);
            true
        }
        (lost, Ok(())) => {
            is_in_the_way(lost);
            false
        }
        (first, second) => panic!("nobody won: {first:?} {second:?}"),
    }
}

/// Races of each shape, some of which are at the same time, too.
async fn races(store: &(impl Backend + Clone), rounds: u64) {
    const LANES: u64 = 4;
    let (servers, handles, asked) = two(store).await;
    let (mut auditor, mut at) = (Auditor::default(), Revision(1));
    for shape in SHAPES {
        let before = asked.load(Ordering::Relaxed);
        let lanes = [0, 1, 2, 3].map(|vni| beside(lane(shape, handles.clone(), vni, rounds / LANES)));
        let mut refused = 0;
        for lane in lanes {
            refused += lane.await.unwrap();
        }
        at = auditor.audit(store, at).await;
        let checks = (asked.load(Ordering::Relaxed) - before) as u64;
        println!("{shape:?}: {rounds} races, {refused} refused, {checks} checks");
        match shape {
            // On a disk the creation always precedes the other writer's commit, in memory it
            // sometimes follows.
            RaceShape::DeleteCreate => assert!(refused > 0, "some of the writers met"),
            _ => {
                assert_eq!(refused, rounds, "{shape:?}");
                assert!(
                    checks > 2 * rounds + 2 * LANES,
                    "{shape:?}: some of the writers met, and looked twice"
                );
            }
        }
    }
    assert!(auditor.seen as u64 >= 4 * rounds, "it has looked at every revision");
    assert_eq!(records(store).await, 0, "a record goes with the last object");
    for server in servers {
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_conflicting_writers_exactly_one_wins() {
    let options = Options { retention: Retention::MANUAL, ..Options::default() };
    // Unoptimized, the whole takes minutes.
    let rounds = if cfg!(debug_assertions) { 2_500 } else { 10_000 };
    races(&Memory::new(options), rounds).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk_it_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = Disk::open(directory.path().join("store"), DiskOptions::default()).unwrap();
    races(&store, 200).await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_the_losing_writer_gets_the_reason() {
    let store = Memory::new(Options::default());
    let (servers, ..) = two(&store).await;
    let post = |server: usize, name: String, from: u64, vni: u64| {
        let client = Client::of(&servers[server]);
        let object = posted(&subnet(&name, &[vni], from, from + 10));
        beside(async move { client.post(PATH, &object).await })
    };
    for vni in 0..300 {
        let (first, second) = (post(0, format!("x{vni}"), 0, vni), post(1, format!("y{vni}"), 5, vni));
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        let (won, lost, names) = match (first.code, second.code) {
            (201, _) => (first, second, ["x", "y"]),
            _ => (second, first, ["y", "x"]),
        };
        assert_eq!(won.code, 201, "{lost:?}");
        let from = if names[1] == "x" { 0 } else { 5 };
        let why = format!("Invalid value: {from}: it overlaps {}{vni}", names[0]);
        let message = format!("Subnet.example.com \"{}{vni}\" is invalid: spec.from: {why}", names[1]);
        assert_eq!(lost.refused(), (422, "Invalid", message.as_str()));
        let causes = json!([
            {"reason": "FieldValueInvalid", "message": why, "field": "spec.from"},
            {"reason": "GuardRefused", "message": "disjoint"},
        ]);
        assert_eq!(lost.body["details"]["causes"], causes);
    }
    Auditor::default().audit(&store, Revision(1)).await;
}
