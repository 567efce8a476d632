//! Promise 29: processes that crash and resume race for the members of two overlapping pools, while
//! clients create, delete and move owners. `cargo xtask races` runs more rounds.

use crate::allocator_checker::checker;
use crate::allocator_fixture::{AllocatorFixture, CrashGate, port_of};
use crate::locks_fixture::{doc, key};
use crate::locks_race::Dice;
use machinery_objects::{Deletion, Freshness, ListWatch, Writer};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const PROCESSES: usize = 3;
const HOSTS: usize = 24;
/// Ports of both pools: fewer than hosts.
const PORTS: u16 = 16;
const STEPS: usize = if cfg!(debug_assertions) { 150 } else { 3000 };
/// One crash in this many effects, of which each has two points.
const CRASHES: usize = 60;

/// Creates, deletes or moves a random host.
async fn act(fixture: &AllocatorFixture, dice: &Dice) {
    let name = format!("host-{}", dice.below(HOSTS));
    let pool = if dice.below(2) == 0 { "p" } else { "q" };
    match fixture.get(&name).await {
        None => fixture.attach(&name, pool).await,
        Some(_) if dice.below(3) == 0 => fixture.edit(&name, "pool", pool).await,
        Some(_) if dice.below(2) == 0 => fixture.detach(&name).await,
        Some(_) => {
            // A lock by hand, of a port that is free at this moment.
            let port = key(&(1 + dice.below(PORTS.into())).to_string());
            if fixture.plane.names.create(&doc(&port), None).await.is_ok() {
                sleep(pause(dice.below(3))).await;
                fixture.plane.names.delete(&port, &Deletion::default()).await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p29_processes_that_crash_allocate_exclusively() {
    let fixture = AllocatorFixture::new(&[("p", 1, 10), ("q", 7, PORTS)]).await;
    let checked = checker(&fixture.plane.hosts, &fixture.plane.tasks).await;
    let dice = Arc::new(Dice(AtomicU64::new(7)));
    let gates: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let dice = dice.clone();
            CrashGate::new(move |_, _| dice.below(2 * CRASHES) == 0)
        })
        .collect();
    gates.iter().for_each(|gate| fixture.spawn(gate.clone()));
    for _ in 0..STEPS {
        act(&fixture, &dice).await;
        sleep(pause(dice.below(4))).await;
    }
    for number in 0..HOSTS {
        let name = format!("host-{number}");
        if fixture.get(&name).await.is_none() {
            fixture.attach(&name, if number % 2 == 0 { "p" } else { "q" }).await;
        }
    }
    let settled = timeout(Duration::from_secs(60), settled(&fixture)).await;
    assert!(settled.is_ok(), "{:?}", fixture.locked().await);
    let crashes: usize = gates.iter().map(|gate| gate.crashed()).sum();
    fixture.attach("the-end", "none").await;
    let commits = checked.await.unwrap();
    println!("{crashes} crashes, {commits} commits");
    assert!(crashes > 3 && commits > STEPS, "{crashes} crashes, {commits} commits");
    fixture.plane.stopping.cancel();
    fixture.plane.tasks.close();
    fixture.plane.tasks.wait().await;
}

fn pause(ms: usize) -> Duration {
    Duration::from_millis(ms.try_into().unwrap())
}

/// Waits until each host has a port or waits, and each pool with waiters is full.
async fn settled(fixture: &AllocatorFixture) {
    loop {
        let (mut ports, mut waiting) = (Vec::new(), Vec::new());
        for number in 0..HOSTS {
            let host = fixture.plane.hosts.get(&key(&format!("host-{number}")), Freshness::Newest).await;
            let host = host.unwrap().unwrap();
            match port_of(&host) {
                Some(port) => ports.push(port.to_string()),
                None if host.spec.contains_key("since") => waiting.push(host.spec["pool"].clone()),
                None => {}
            }
        }
        ports.sort();
        let has = |range: std::ops::RangeInclusive<u16>| {
            range.into_iter().all(|port| ports.contains(&port.to_string()))
        };
        let is_full = |pool: &String| if *pool == "p" { has(1..=10) } else { has(7..=PORTS) };
        let mut locks = fixture.locked().await;
        locks.sort();
        let all = ports.len() + waiting.len();
        if all == HOSTS && waiting.iter().all(is_full) && locks == ports {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}
