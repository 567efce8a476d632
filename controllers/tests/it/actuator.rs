//! An actuator keeps the items of a port as desired.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use futures::future::join_all;
use machinery_controllers::{
    Actuator, ActuatorError, ActuatorSettings, Disturbance, Ensured, ItemFailure, ItemState, PortFailure,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::actuator_fixture::{Bench, FakeError, FakePort, Fault, Found, settings};

#[tokio::test(start_paused = true)]
async fn p40_existing_items_are_adopted_without_changes() {
    let bench = Bench::on(&FakePort::with([(1, "a"), (2, "b")]));
    assert_eq!(bench.actuator.ensure(&1, &"a").await, Ok(Ensured::Existed));
    assert_eq!(bench.actuator.ensure(&3, &"c").await, Ok(Ensured::Created));
    assert_eq!(bench.actuator.state(&2), Some(ItemState::Unclaimed("b")));
    assert_eq!(bench.actuator.ensure(&2, &"b").await, Ok(Ensured::Existed));
    assert_eq!(bench.batches(), [[3]]);
    assert_eq!(bench.actuator.repair().await.unwrap().total(), 0);
    assert_eq!(bench.batches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn p40_an_unclaimed_item_is_kept_until_it_is_disowned() {
    let bench = Bench::on(&FakePort::with([(1, "a"), (2, "b"), (3, "c")]));
    bench.actuator.ensure(&1, &"a").await.unwrap();
    bench.actuator.repair().await.unwrap();
    assert_eq!(bench.port.len(), 3);
    let searching = bench.actuator.delete_orphans(|unclaimed| {
        assert_eq!(
            unclaimed,
            [(2, "b"), (3, "c")]
                .into_iter()
                .filter(|(key, _)| unclaimed.iter().any(|(other, _)| other == key))
                .collect::<Vec<_>>()
        );
        vec![2, 1, 77] // 1 is claimed, and 77 does not exist
    });
    let claiming = async {
        bench.until(|it| it.port.len() == 2).await;
        assert_eq!(bench.actuator.status().unclaimed, 1);
        bench.actuator.ensure(&3, &"c").await.unwrap();
    };
    futures::future::join(searching, claiming).await;
    assert_eq!((bench.port.get(1), bench.port.get(2), bench.port.get(3)), (Some("a"), None, Some("c")));
    assert_eq!((bench.actuator.status().unclaimed, bench.actuator.status().orphans), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn p40_an_orphan_that_cannot_be_deleted_delays_nothing_and_is_reported() {
    let port = FakePort::with([(1, "a"), (2, "b")]);
    port.failing.lock().insert(1);
    port.hanging.lock().insert(2);
    let bench = Bench::on(&port);
    bench.actuator.delete_orphans(|unclaimed| unclaimed.into_iter().map(|(key, _)| key).collect()).await;
    assert_eq!(bench.actuator.status().orphans, 2);
    bench.until(|it| !it.batches().is_empty()).await;
    let began = Instant::now();
    assert_eq!(bench.actuator.ensure(&3, &"c").await, Ok(Ensured::Created));
    assert!(began.elapsed() < settings().time_limit, "{:?}", began.elapsed());
    bench.until(|it| it.actuator.status().broken.len() == 2).await;
    assert!(bench.actuator.status().broken.values().all(|broken| broken.is_leaving));
    port.failing.lock().clear();
    port.hanging.lock().clear();
    bench.until(|it| it.actuator.status().orphans == 0).await;
    assert_eq!(port.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn p40_an_item_that_blocks_a_key_is_replaced() {
    let bench = Bench::on(&FakePort::with([(1, "old")]));
    assert_eq!(bench.actuator.ensure(&1, &"new").await, Ok(Ensured::Created));
    assert_eq!(bench.port.get(1), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn p41_a_key_has_one_item_and_the_limit_holds() {
    let bench = Bench::with(&FakePort::default(), ActuatorSettings { items: 2, ..settings() });
    bench.actuator.ensure(&1, &"a").await.unwrap();
    assert_eq!(bench.actuator.ensure(&1, &"b").await, Err(ActuatorError::Taken { by: "a" }));
    bench.actuator.remove(&1, &"b").await.unwrap();
    assert_eq!(bench.port.get(1), Some("a"), "another item of the key stays");
    bench.actuator.remove(&7, &"x").await.unwrap();
    bench.actuator.ensure(&2, &"b").await.unwrap();
    assert_eq!(bench.actuator.ensure(&3, &"c").await, Err(ActuatorError::Full { limit: 2 }));
    bench.actuator.remove(&1, &"a").await.unwrap();
    bench.actuator.ensure(&3, &"c").await.unwrap();
    assert_eq!(*bench.port.items.lock(), [(2, "b"), (3, "c")].into());
}

#[tokio::test(start_paused = true)]
async fn p41_an_item_is_created_for_one_caller() {
    let bench = Bench::on(&FakePort::with([(1, "a")]));
    assert_eq!(bench.actuator.create(&1, &"a").await, Ok(Ensured::Existed));
    assert_eq!(bench.actuator.create(&1, &"a").await, Err(ActuatorError::Taken { by: "a" }));
    assert_eq!(bench.actuator.ensure(&1, &"a").await, Ok(Ensured::Existed), "that is for many");
}

#[tokio::test(start_paused = true)]
async fn p41_one_of_concurrent_claims_succeeds() {
    let bench = Bench::on(&FakePort::default());
    let claims = join_all(["a", "b", "c"].map(|item| {
        let actuator = bench.actuator.clone();
        async move { actuator.ensure(&1, &item).await }
    }));
    assert_eq!(claims.await.iter().filter(|claim| claim.is_ok()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn p42_changes_that_are_due_share_a_batch() {
    let bench = Bench::on(&FakePort::default());
    bench.actuator.loaded().await.unwrap();
    join_all((0..500).map(|key| {
        let actuator = bench.actuator.clone();
        async move { actuator.ensure(&key, &"x").await.unwrap() }
    }))
    .await;
    assert!(bench.batches().len() <= 2, "{}", bench.batches().len());
    assert_eq!(bench.port.len(), 500);
}

#[tokio::test(start_paused = true)]
async fn p43_a_failing_item_fails_alone_and_leaves_nothing() {
    let bench = Bench::on(&FakePort::default());
    bench.port.failing.lock().insert(1);
    let (failed, created) =
        futures::future::join(bench.actuator.ensure(&1, &"a"), bench.actuator.ensure(&2, &"b")).await;
    assert_eq!(failed, Err(ActuatorError::Item(ItemFailure::Failed(FakeError("it is refused")))));
    assert_eq!(created, Ok(Ensured::Created));
    bench.port.failing.lock().clear();
    bench.until(|it| it.actuator.state(&1).is_none()).await;
    assert_eq!(*bench.port.items.lock(), [(2, "b")].into());
    assert_eq!(bench.actuator.ensure(&1, &"a").await, Ok(Ensured::Created));
}

#[tokio::test(start_paused = true)]
async fn p43_an_item_that_is_set_is_retried_and_reported_until_it_exists() {
    let bench = Bench::on(&FakePort::default());
    bench.port.failing.lock().insert(1);
    let mut changes = bench.actuator.changes();
    bench.actuator.set(&1, &"a").await.unwrap();
    bench.until(|it| it.actuator.status().broken.contains_key(&1)).await;
    assert!(changes.has_changed().unwrap());
    let broken = bench.actuator.status().broken[&1].clone();
    assert_eq!((broken.item, broken.is_leaving), ("a", false));
    assert_eq!(broken.failure, ItemFailure::Failed(FakeError("it is refused")));
    bench.port.failing.lock().clear();
    changes.borrow_and_update();
    bench.until(|it| it.is_ready(1)).await;
    assert!(changes.has_changed().unwrap(), "its repair is reported, too");
    assert!(bench.actuator.status().broken.is_empty());
}

#[tokio::test(start_paused = true)]
async fn p44_a_stuck_item_delays_no_other() {
    let bench = Bench::on(&FakePort::default());
    bench.port.reports.store(true, SeqCst);
    bench.port.hanging.lock().insert(5);
    bench.actuator.set(&5, &"stuck").await.unwrap();
    let began = Instant::now();
    bench.until(|it| !it.batches().is_empty()).await;
    assert_eq!(bench.actuator.ensure(&6, &"x").await, Ok(Ensured::Created));
    assert!(began.elapsed() <= settings().slow_after * 2, "{:?}", began.elapsed());
    let limit = settings().time_limit;
    bench
        .until(|it| matches!(it.actuator.state(&5), Some(ItemState::Broken(ItemFailure::TimedOut { .. }))))
        .await;
    assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
    for _ in 0..20 {
        let began = Instant::now();
        join_all((10..20).map(|key| {
            let actuator = bench.actuator.clone();
            async move { actuator.ensure(&key, &"x").await.unwrap() }
        }))
        .await;
        assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
        join_all((10..20).map(|key| {
            let actuator = bench.actuator.clone();
            async move { actuator.remove(&key, &"x").await.unwrap() }
        }))
        .await;
        sleep(Duration::from_secs(3)).await;
    }
    bench.port.hanging.lock().clear();
    bench.until(|it| it.is_ready(5)).await;
}

#[tokio::test(start_paused = true)]
async fn p44_the_cause_of_a_hung_or_panicked_batch_is_found() {
    for panics in [false, true] {
        let bench = Bench::on(&FakePort::default());
        let faults = if panics { &bench.port.panicking } else { &bench.port.hanging };
        faults.lock().insert(3);
        bench.actuator.loaded().await.unwrap();
        let results = join_all((0..8).map(|key| {
            let actuator = bench.actuator.clone();
            async move { actuator.ensure(&key, &"x").await }
        }))
        .await;
        for (key, result) in results.into_iter().enumerate() {
            match (key, result) {
                (3, Err(ActuatorError::Item(ItemFailure::Panicked { text }))) if panics => {
                    assert_eq!(&*text, "3 panics")
                }
                (3, Err(ActuatorError::Item(ItemFailure::TimedOut { .. }))) if !panics => {}
                (_, result) => assert_eq!((key, result), (key, Ok(Ensured::Created))),
            }
        }
        assert_eq!(bench.port.len(), 7);
    }
}

#[tokio::test(start_paused = true)]
async fn p45_drift_is_repaired_after_an_event() {
    let bench = Bench::on(&FakePort::default());
    for (key, item) in [(1, "a"), (2, "b")] {
        bench.actuator.ensure(&key, &item).await.unwrap();
    }
    for disturbance in [Disturbance::Changed, Disturbance::Restarted] {
        let began = Instant::now();
        *bench.port.items.lock() = [(2, "changed"), (9, "foreign")].into();
        bench.port.disturb(disturbance);
        bench.until(|it| *it.port.items.lock() == [(1, "a"), (2, "b")].into()).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
    assert_eq!(bench.actuator.status().repairs, [("changed", 2), ("missing", 2), ("undesired", 2)].into());
}

#[tokio::test(start_paused = true)]
async fn p45_drift_is_repaired_by_the_timer() {
    let interval = Duration::from_secs(60);
    let bench = Bench::with(&FakePort::default(), ActuatorSettings { interval, ..settings() });
    bench.actuator.ensure(&1, &"a").await.unwrap();
    bench.port.items.lock().clear();
    sleep(interval / 2).await;
    assert_eq!(bench.port.get(1), None, "nothing reports it");
    bench.until(|it| it.port.get(1) == Some("a")).await;
}

#[tokio::test(start_paused = true)]
async fn p45_an_item_that_others_keep_changing_is_reported_and_slowed() {
    let bench = Bench::on(&FakePort::default());
    bench.port.ignored.lock().insert(1);
    bench.actuator.ensure(&1, &"a").await.unwrap();
    bench.actuator.ensure(&2, &"b").await.unwrap();
    for _ in 0..20 {
        bench.port.disturb(Disturbance::Changed);
        sleep(Duration::from_millis(300)).await;
    }
    assert!(matches!(bench.actuator.state(&1), Some(ItemState::Broken(ItemFailure::Unstable { .. }))));
    let attempts = bench.batches().into_iter().filter(|batch| batch.contains(&1)).count();
    assert!(attempts <= 8, "{attempts} attempts in 6 seconds");
    bench.port.ignored.lock().clear();
    bench.until(|it| it.port.get(1) == Some("a")).await;
    bench.actuator.repair().await.unwrap();
    assert!(bench.is_ready(1));
}

#[tokio::test(start_paused = true)]
async fn p46_a_degraded_port_backs_off_alone() {
    let (broken, sound) = (Bench::on(&FakePort::default()), Bench::on(&FakePort::default()));
    broken.actuator.ensure(&1, &"a").await.unwrap();
    broken.port.set_down(true);
    let down = ActuatorError::Port(PortFailure::Failed(FakeError("it is down")));
    assert_eq!(broken.actuator.ensure(&2, &"b").await, Err(down.clone()));
    assert_eq!(broken.actuator.status().failure, Some(PortFailure::Failed(FakeError("it is down"))));
    let before = (broken.port.lists.load(SeqCst), broken.batches().len());
    for key in 0..1000 {
        let _ = broken.actuator.ensure(&key, &"x").await;
        sound.actuator.ensure(&key, &"x").await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
    let (lists, batches) = (broken.port.lists.load(SeqCst) - before.0, broken.batches().len() - before.1);
    assert!(lists + batches <= 30, "{lists} lists and {batches} batches in 50 seconds of failure");
    broken.port.set_down(false);
    broken.port.disturb(Disturbance::Restarted);
    let began = Instant::now();
    broken.until(|it| it.actuator.failure().is_none()).await;
    assert!(began.elapsed() < Duration::from_secs(1), "an event ends the back-off");
    broken.until(|it| it.port.len() == 1).await;
    broken.actuator.ensure(&2, &"b").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p46_a_port_that_fails_at_start_is_retried() {
    for fault in [Fault::Down, Fault::ListPanics, Fault::ListHangs] {
        let port = FakePort::with([(1, "a")]);
        port.fault(fault).store(true, SeqCst);
        let bench = Bench::on(&port);
        let error = bench.actuator.ensure(&1, &"a").await.unwrap_err();
        assert!(matches!(error, ActuatorError::Port(_)), "{error}");
        port.fault(fault).store(false, SeqCst);
        bench.until(|it| it.actuator.status().is_loaded).await;
        assert_eq!(bench.actuator.ensure(&1, &"a").await, Ok(Ensured::Existed));
        assert_eq!(bench.actuator.failure(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn p47_a_port_that_lists_nonsense_affects_the_items_concerned_only() {
    let port = FakePort::with([(1, "a"), (2, "b")]);
    port.nonsense
        .lock()
        .extend([Found::whole(1, "twice"), Found { key: 4, item: "d", error: Some(FakeError("half made")) }]);
    let bench = Bench::on(&port);
    assert_eq!(bench.actuator.ensure(&2, &"b").await, Ok(Ensured::Existed));
    assert_eq!(bench.actuator.state(&1), Some(ItemState::Broken(ItemFailure::Ambiguous)));
    assert_eq!(
        bench.actuator.state(&4),
        Some(ItemState::Broken(ItemFailure::Failed(FakeError("half made"))))
    );
    port.nonsense.lock().clear();
    assert_eq!(bench.actuator.ensure(&1, &"a").await, Ok(Ensured::Existed));
    assert_eq!(bench.actuator.ensure(&4, &"d").await, Ok(Ensured::Existed));
    assert_eq!(port.get(4), Some("d"), "a broken item is repaired when it is claimed");
}

#[tokio::test(start_paused = true)]
async fn p47_more_items_than_the_limit_are_a_named_failure() {
    let bench = Bench::with(
        &FakePort::with([(1, "a"), (2, "b"), (3, "c")]),
        ActuatorSettings { items: 2, ..settings() },
    );
    let error = bench.actuator.loaded().await.unwrap_err();
    assert_eq!(error, ActuatorError::Port(PortFailure::TooMany { found: 3, limit: 2 }));
    bench.port.items.lock().remove(&3);
    bench.until(|it| it.actuator.status().is_loaded).await;
}

#[tokio::test(start_paused = true)]
async fn p47_endless_or_panicking_disturbances_cost_little() {
    for fault in [Fault::AlwaysDisturbed, Fault::DisturbedPanics] {
        let port = FakePort::default();
        port.fault(fault).store(true, SeqCst);
        let bench = Bench::on(&port);
        bench.actuator.ensure(&1, &"a").await.unwrap();
        sleep(Duration::from_secs(10)).await;
        let lists = port.lists.load(SeqCst);
        assert!(lists <= 2200, "{lists} lists in 10 seconds");
        port.fault(fault).store(false, SeqCst);
        sleep(Duration::from_secs(11)).await;
        port.items.lock().clear();
        port.disturb(Disturbance::Changed);
        bench.until(|it| it.port.get(1) == Some("a")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p48_a_dropped_run_ends_the_calls_and_tasks_of_the_port() {
    let port = FakePort::default();
    let bench = Bench::on(&port);
    bench.actuator.ensure(&1, &"a").await.unwrap();
    assert!(port.runs.load(SeqCst));
    port.hanging.lock().insert(2);
    bench.actuator.set(&2, &"b").await.unwrap();
    sleep(Duration::from_millis(5)).await;
    let actuator = bench.actuator.clone();
    let weak = Arc::downgrade(actuator.port());
    bench.crash().await;
    assert!(!port.runs.load(SeqCst));
    assert!(matches!(actuator.ensure(&3, &"c").await, Err(ActuatorError::Stopped { .. })));
    drop(actuator);
    assert!(weak.upgrade().is_none(), "nothing keeps the port");
}

#[tokio::test(start_paused = true)]
async fn p48_an_actuator_runs_again_and_keeps_its_items() {
    let port = FakePort::default();
    let bench = Bench::on(&port);
    bench.actuator.ensure(&1, &"a").await.unwrap();
    assert!(bench.actuator.run(CancellationToken::new()).await.is_err(), "it runs already");
    let actuator = bench.actuator.clone();
    bench.stopping.cancel();
    bench.running.await.unwrap();
    *port.items.lock() = [(2, "b")].into();
    let stopping = CancellationToken::new();
    let again = Bench { running: spawn(&actuator, &stopping), port, actuator, stopping };
    again.until(|it| it.port.get(1) == Some("a")).await;
    assert_eq!(again.actuator.state(&2), Some(ItemState::Unclaimed("b")));
}

#[expect(clippy::disallowed_methods, reason = "the bench aborts it")]
fn spawn(actuator: &Actuator<FakePort>, stopping: &CancellationToken) -> tokio::task::JoinHandle<()> {
    let (actuator, stopping) = (actuator.clone(), stopping.clone());
    tokio::spawn(async move { actuator.run(stopping).await.unwrap() })
}
