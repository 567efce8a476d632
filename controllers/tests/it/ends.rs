//! Promise 7: how it ends.

use crate::stage::{Stage, asks, next, of, part, plane, settings};
use machinery_controllers::{Phase, Settings};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[tokio::test(start_paused = true)]
async fn p07_nothing_new_is_begun_and_what_is_under_way_ends() {
    let stage = Stage::new();
    let plane = plane();
    for name in ["n/a", "n/b", "n/c"] {
        plane.put(part(name));
    }
    let controller =
        of(&stage.informer(&plane)).settings(Settings { workers: 1, ..settings() }).build().unwrap();
    let ((reconcile, mut asked), stopping) = (asks(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut asked).await;
    assert!(!first.run.stopping().is_cancelled());
    stopping.cancel();
    tokio::time::sleep(settings().drain / 2).await;
    assert!(!ran.is_finished() && first.run.stopping().is_cancelled());
    assert_eq!(controller.state().phase, Phase::Draining);
    first.done();
    assert!(ran.await.unwrap().unwrap().dropped.is_empty());
    assert!(asked.recv().await.is_none(), "no other run was begun");
    assert_eq!(controller.state().counts.done, 1);
    assert!(!controller.request("n/a".parse().unwrap(), &"too late").await);
}

#[tokio::test(start_paused = true)]
async fn p07_what_does_not_end_in_time_is_dropped_and_named() {
    let stage = Stage::new();
    let plane = plane();
    plane.put(part("n/a"));
    plane.put(part("n/b"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let ((reconcile, mut asked), stopping) = (asks(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let (first, second) = (next(&mut asked).await, next(&mut asked).await);
    let (hangs, ends) = if first.subject.key.name() == "a" { (first, second) } else { (second, first) };
    let began = Instant::now();
    stopping.cancel();
    ends.done();
    let ended = ran.await.unwrap().unwrap();
    assert_eq!(ended.dropped, std::slice::from_ref(&hangs.subject.key));
    let took = began.elapsed();
    assert!(took >= settings().drain && took < settings().drain + Duration::from_secs(1), "{took:?}");
    assert_eq!(controller.state().counts.dropped, 1);
}

#[tokio::test(start_paused = true)]
async fn p07_whoever_waits_for_a_cache_does_not_hold_up_the_end() {
    let stage = Stage::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let ((reconcile, mut asked), stopping) = (asks(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut asked).await;
    let elsewhere = crate::stage::plane();
    for _ in 0..9 {
        elsewhere.put(part("n/a"));
    }
    first.run.wrote(&elsewhere.put(part("n/a")), &parts);
    first.done();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stopping.cancel();
    let began = Instant::now();
    ran.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
}
