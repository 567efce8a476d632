//! Promise 7: shutdown.

use crate::fixture::{Fixture, controlled, next, of, part, plane, settings, silence};
use machinery_controllers::{Controller, Next, Outcome, Phase, Run, RunError, Settings, ShutdownReport};
use machinery_workqueue::Config;
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[tokio::test(start_paused = true)]
async fn p07_shutdown_starts_no_run_and_drains_active_runs() {
    let stage = Fixture::new();
    let plane = plane();
    for name in ["n/a", "n/b", "n/c"] {
        plane.put(part(name));
    }
    let controller =
        of(&stage.informer(&plane)).settings(Settings { workers: 1, ..settings() }).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut started).await;
    assert!(!first.run.stopping().is_cancelled());
    stopping.cancel();
    tokio::time::sleep(settings().drain / 2).await;
    assert!(!ran.is_finished() && first.run.stopping().is_cancelled());
    assert_eq!(controller.state().phase, Phase::Draining);
    first.done();
    assert!(ran.await.unwrap().unwrap().dropped.is_empty());
    assert!(started.recv().await.is_none(), "no other run was begun");
    assert_eq!(controller.state().counts.done, 1);
    assert!(!controller.request("n/a".parse().unwrap(), &"too late").await);
}

#[tokio::test(start_paused = true)]
async fn p07_runs_exceeding_the_drain_timeout_are_dropped_and_reported() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    plane.put(part("n/b"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let (first, second) = (next(&mut started).await, next(&mut started).await);
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
async fn p07_a_held_key_does_not_delay_shutdown() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut started).await;
    let elsewhere = crate::fixture::plane();
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

/// A run that never awaits cannot be dropped; a restart must not run its key concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn p07_a_blocking_run_is_waited_for_beyond_the_deadline() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let settings = Settings { drain: Duration::from_millis(1), ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Arc::new(machinery_sync::Mutex::new(waits));
    let reconcile = move |_: std::sync::Arc<crate::fixture::Part>, _: Run| {
        let _ = begun.send(());
        let _ = waits.lock().recv(); // blocks the thread
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
    let again = controller.run(crate::fixture::controlled().0, CancellationToken::new()).await;
    assert_eq!(again, Err(RunError::Runs), "still, though nobody waits for it");
    drop(goes_on);
    let (reconcile, mut started) = controlled();
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
    next(&mut started).await.done();
}

/// Regression: no informer repeats an explicit request, which was lost.
#[tokio::test(start_paused = true)]
async fn p07_queued_keys_are_reported_and_requeued_at_the_next_start() {
    let stage = Fixture::new();
    let settings = Settings { workers: 1, ..settings() };
    let controller = Controller::of_requests("numbers").settings(settings).build().unwrap();
    assert!(controller.last_shutdown().is_none());
    let ((reconcile, mut started), stopping) = (controlled::<u32>(), CancellationToken::new());
    let ran = runs(&stage, &controller, reconcile, &stopping);
    while !controller.request(0, &"asked for").await {
        tokio::task::yield_now().await;
    }
    let first = next(&mut started).await;
    for number in 1..2000 {
        assert!(controller.request(number, &"asked for").await);
    }
    first.answers(Ok(Next::After(Duration::from_secs(100))));
    let hangs = next(&mut started).await;
    let was_told = Instant::now();
    stopping.cancel();
    let ended = ran.await.unwrap().unwrap();
    assert_eq!((ended.dropped.len(), ended.queued.len(), ended.queued_count), (1, 1024, 2000));
    assert_eq!(controller.last_shutdown(), Some(ended));
    let last = controller.explain(&hangs.subject).last.unwrap();
    assert_eq!((last.outcome, last.attempts), (Outcome::Dropped, 0));
    assert_eq!(format!("{:?}", last.causes), r#"["asked for 0 (×1)"]"#);

    // Dropping the future loses nothing either.
    let (reconcile, mut started) = controlled::<u32>();
    let ran = runs(&stage, &controller, reconcile, &stage.stopping);
    let run = next(&mut started).await;
    assert_eq!(format!("{:?}", run.run.causes), r#"["left before 0 (×1)"]"#);
    ran.abort();
    let _ = ran.await;
    while controller.state().phase != Phase::Idle {
        tokio::task::yield_now().await;
    }
    let ended = controller.last_shutdown().unwrap();
    assert_eq!((ended.dropped, ended.queued_count), (vec![run.subject], 2000));

    let (reconcile, mut started) = controlled::<u32>();
    runs(&stage, &controller, reconcile, &stage.stopping);
    let mut seen = BTreeSet::new();
    while seen.len() < 2000 {
        let run = next(&mut started).await;
        if run.subject == 0 {
            assert!(was_told.elapsed() >= Duration::from_secs(99), "it was to come later");
        }
        seen.insert(run.subject);
        run.done();
    }
    silence(&mut started).await;
}

/// Regression: the drop at shutdown was the last allowed failure, and the request was lost.
#[tokio::test(start_paused = true)]
async fn p07_a_key_dropped_in_its_last_attempt_is_reported_and_requeued() {
    let stage = Fixture::new();
    let once = || Config { max_tries: NonZeroU16::new(1), ..Config::default() };
    let controller = Controller::of_requests("numbers").settings(settings()).queue(once).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled::<u32>(), CancellationToken::new());
    let ran = runs(&stage, &controller, reconcile, &stopping);
    while !controller.request(7, &"asked for").await {
        tokio::task::yield_now().await;
    }
    let hangs = next(&mut started).await;
    stopping.cancel();
    let ended = ran.await.unwrap().unwrap();
    assert_eq!((ended.dropped, ended.queued, ended.queued_count), (vec![7], vec![7], 1));
    drop(hangs);
    let (reconcile, mut started) = controlled::<u32>();
    runs(&stage, &controller, reconcile, &stage.stopping);
    assert_eq!(next(&mut started).await.subject, 7);
}

/// Also if a source stops before the controller.
#[tokio::test(start_paused = true)]
async fn p07_dropped_keys_are_reported_also_when_a_source_stops() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let informer_stops = CancellationToken::new();
    let source: Arc<dyn machinery_objects::ListWatch<_>> = Arc::new(plane);
    let parts = machinery_informers::Informer::builder(source).build();
    stage.tasks.spawn(parts.run(informer_stops.clone()));
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    let ran = stage.run(&controller, reconcile, &stage.stopping);
    let hangs = next(&mut started).await;
    informer_stops.cancel();
    assert_eq!(ran.await.unwrap(), Err(RunError::SourceEnded { source_name: "parts".into() }));
    let ended = controller.last_shutdown().unwrap();
    assert_eq!((ended.dropped, ended.queued_count), (vec![hangs.subject.key.clone()], 1));
}

fn runs(
    stage: &Fixture,
    controller: &Controller<u32, u32>,
    reconcile: crate::fixture::ControlledReconcile<u32>,
    stopping: &CancellationToken,
) -> JoinHandle<Result<ShutdownReport<u32>, RunError>> {
    let (controller, stopping) = (controller.clone(), stopping.clone());
    stage.tasks.spawn(async move { controller.run(reconcile, stopping).await })
}

#[tokio::test(start_paused = true)]
async fn p07_a_controller_cancelled_before_its_start_returns_ok() {
    let stage = Fixture::new();
    let controller = of(&stage.informer(&plane())).build().unwrap();
    let stopping = CancellationToken::new();
    stopping.cancel();
    let (reconcile, _asked) = controlled();
    assert!(controller.run(reconcile, stopping).await.unwrap().dropped.is_empty());
    assert_eq!(controller.state().phase, Phase::Idle);

    // Also beside a run that has not returned: the caller could not remedy an error.
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    while controller.state().phase == Phase::Idle {
        tokio::task::yield_now().await;
    }
    assert!(started.try_recv().is_err());
    let (stopping, (reconcile, _asked)) = (CancellationToken::new(), controlled());
    assert_eq!(controller.run(reconcile, stopping.clone()).await, Err(RunError::Runs));
    stopping.cancel();
    let (reconcile, _asked) = controlled();
    assert!(controller.run(reconcile, stopping).await.is_ok());
}
