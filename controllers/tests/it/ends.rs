//! Promise 7: how it ends.

use crate::stage::{Stage, asks, next, of, part, plane, settings};
use machinery_controllers::{Next, Phase, Run, RunError, Settings};
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

/// A run that never awaits cannot be dropped. Whoever runs the controller again would have two at one key.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn p07_a_run_that_does_not_await_is_waited_for_whatever_the_deadline() {
    let stage = Stage::new();
    let plane = plane();
    plane.put(part("n/a"));
    let settings = Settings { drain: Duration::from_millis(1), ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Arc::new(machinery_sync::Mutex::new(waits));
    let reconcile = move |_: std::sync::Arc<crate::stage::Part>, _: Run| {
        let _ = begun.send(());
        let _ = waits.lock().recv(); // it computes
        async { Ok::<_, std::convert::Infallible>(Next::Done) }
    };
    let stopping = CancellationToken::new();
    let ran = stage.run(&controller, reconcile, &stopping);
    begins.recv().await.unwrap();
    stopping.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!ran.is_finished(), "somebody is at n/a");
    ran.abort();
    let _ = ran.await;
    let again = controller.run(crate::stage::asks().0, CancellationToken::new()).await;
    assert_eq!(again, Err(RunError::Runs), "still, though nobody waits for it");
    drop(goes_on);
    let (reconcile, mut asked) = asks();
    let end = Instant::now() + Duration::from_secs(60);
    let (controller, again) = (controller.clone(), stage.stopping.clone());
    let tasks = stage.tasks.clone();
    tasks.spawn(async move {
        let mut reconcile = Some(reconcile);
        while controller.state().phase != Phase::Idle && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        controller.run(reconcile.take().unwrap(), again).await.unwrap();
    });
    next(&mut asked).await.done();
}

#[tokio::test(start_paused = true)]
async fn p07_who_was_told_to_stop_before_it_began_ends_well() {
    let stage = Stage::new();
    let controller = of(&stage.informer(&plane())).build().unwrap();
    let stopping = CancellationToken::new();
    stopping.cancel();
    let (reconcile, _asked) = asks();
    assert!(controller.run(reconcile, stopping).await.unwrap().dropped.is_empty());
    assert_eq!(controller.state().phase, Phase::Idle);
}
