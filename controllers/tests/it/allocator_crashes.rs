//! Promise 34: a crash before or after any effect loses no member and no order.

use crate::allocator_checker::checker;
use crate::allocator_fixture::{AllocatorFixture, CrashGate, port_of};
use crate::locks_fixture::FaultPoint;
use std::time::Duration;

/// The most effects that the scenario has, with a margin: fewer is the normal end.
const EFFECTS: usize = 60;

/// Two ports, waiters, a release, a move, a recreation and a grown pool. Returns whether the
/// process crashed.
async fn scenario(at: usize, point: FaultPoint) -> bool {
    let fixture = AllocatorFixture::new(&[("p", 1, 2), ("q", 7, 7)]).await;
    let checked = checker(&fixture.plane.hosts, &fixture.plane.tasks).await;
    let gate = CrashGate::at(at, point);
    fixture.spawn(gate.clone());
    for name in ["a", "b"] {
        fixture.attach(name, "p").await;
        fixture.has_port(name).await;
    }
    for name in ["z", "y", "x"] {
        fixture.attach(name, "p").await;
        fixture.waits(name).await;
    }
    fixture.detach("a").await;
    fixture.has_port("z").await;
    fixture.edit("b", "pool", "q").await;
    assert_eq!(fixture.until("b", |host| port_of(host) == Some(7)).await.spec["pool"], "q");
    fixture.has_port("y").await;
    assert!(port_of(&fixture.get("x").await.unwrap()).is_none());
    fixture.detach("z").await;
    fixture.attach("z", "p").await;
    fixture.has_port("x").await;
    fixture.waits("z").await;
    fixture.pools.lock().insert("p".into(), (1, 3));
    fixture.edit("z", "step", "grown").await;
    assert_eq!(fixture.has_port("z").await, 3);
    let settled = async {
        while fixture.locked().await != ["1", "2", "3", "7"] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("no lock is leaked");
    fixture.attach("the-end", "none").await;
    assert!(checked.await.unwrap() > 15);
    fixture.plane.stopping.cancel();
    gate.crashed() > 0
}

async fn crash_at_each_effect(point: FaultPoint) {
    let mut crashes = 0;
    for at in 1..EFFECTS {
        if !scenario(at, point).await {
            break;
        }
        crashes = at;
    }
    assert!((15..EFFECTS - 1).contains(&crashes), "{crashes} crashes");
}

#[tokio::test(start_paused = true)]
async fn p34_a_crash_before_any_effect_loses_nothing() {
    crash_at_each_effect(FaultPoint::Before).await;
}

#[tokio::test(start_paused = true)]
async fn p34_a_crash_after_any_effect_loses_nothing() {
    crash_at_each_effect(FaultPoint::After).await;
}
