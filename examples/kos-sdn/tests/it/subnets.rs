//! The guard: subnets of a network are disjoint and in one namespace.

use kos::model::Subnet;
use machinery::objects::{Conflict, Deletion, WriteError, Writer as _};
use machinery::store::{Memory, Options};
use tokio_util::task::TaskTracker;

use crate::server::{ServerFixture, key};

#[track_caller]
fn guard_reason<T: std::fmt::Debug>(found: Result<T, WriteError>) -> String {
    match found {
        Err(WriteError::Conflict(Conflict::Guard { guard, reason })) if guard == "disjoint" => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn overlapping_subnets_are_rejected() {
    let fixture = ServerFixture::new().await;
    fixture.subnets.create(&Subnet::new("n", "a", 1, "10.0.0.0/24"), None).await.unwrap();
    fixture.subnets.create(&Subnet::new("n", "next", 1, "10.0.1.0/24"), None).await.unwrap();
    fixture.subnets.create(&Subnet::new("m", "other", 2, "10.0.0.0/24"), None).await.unwrap();

    let overlaps = fixture.subnets.create(&Subnet::new("n", "b", 1, "10.0.0.128/25"), None).await;
    let reason = guard_reason(overlaps);
    let why = "spec.ipv4: Forbidden: subnets with same VNI must have disjoint CIDRs, but 10.0.0.128/25 overlaps with n/a's";
    assert!(reason.contains(why), "{reason}");

    let elsewhere = fixture.subnets.create(&Subnet::new("m", "b", 1, "10.9.0.0/24"), None).await;
    let reason = guard_reason(elsewhere);
    for rival in ["n/a", "n/next"] {
        let why = format!(
            "spec.vni: Forbidden: subnets with same VNI must be within same namespace, but {rival} has the same VNI and a \
             different namespace"
        );
        assert!(reason.contains(&why), "{reason}");
    }
}

/// The original checked a cache that could still contain the deleted subnet.
#[tokio::test]
async fn recreated_subnet_is_never_rejected() {
    let fixture = ServerFixture::new().await;
    for round in 0..50 {
        let block = if round % 2 == 0 { "10.0.0.0/24" } else { "10.0.0.0/16" };
        fixture.subnets.create(&Subnet::new("n", "a", 1, block), None).await.unwrap();
        fixture.subnets.delete(&key("n", "a"), &Deletion::default()).await.unwrap();
    }
}

#[tokio::test]
async fn one_of_concurrent_conflicting_subnets_is_created() {
    let store = Memory::new(Options::default());
    let fixtures = [ServerFixture::on(store.clone()).await, ServerFixture::on(store).await];
    let tasks = TaskTracker::new();
    for round in 1..=20 {
        let attempts =
            [(0, "a", "n"), (1, "b", "n"), (0, "c", "m"), (1, "d", "m")].map(|(fixture, name, namespace)| {
                let fixture: &ServerFixture = &fixtures[fixture];
                let subnets = fixture.subnets.clone();
                let subnet = Subnet::new(namespace, &format!("{name}{round}"), round, "10.0.0.0/24");
                tasks.spawn(async move { subnets.create(&subnet, None).await })
            });
        let mut made = 0;
        for attempt in attempts {
            match attempt.await.unwrap() {
                Ok(_) => made += 1,
                refused => drop(guard_reason(refused)),
            }
        }
        assert_eq!(made, 1);
    }
    let [one, other] = fixtures;
    one.server.stop().await;
    other.server.stop().await;
}
