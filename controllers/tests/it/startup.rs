//! Promises 1, 2, 8 and 10: start, concurrency, restart and back-pressure.

use crate::fixture::{Fixture, Part, controlled, next, of, part, plane, settings, silence};
use machinery_controllers::{Controller, Next, Phase, Run, RunError, Settings, changed};
use machinery_informers::ReflectorError;
use machinery_informers::testing::{FakeSource, Fault, OnList, OnWatch};
use machinery_objects::{Event, ObjectKey, SourceError, WatchError};
use machinery_workqueue::Config;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The source never responds.
fn never(plane: &FakeSource<Part>) {
    plane.always(Fault::List(OnList::NoAnswer));
    plane.always(Fault::Watch(OnWatch::NoAnswer));
}

#[tokio::test(start_paused = true)]
async fn p01_no_run_starts_before_all_sources_have_synced() {
    let stage = Fixture::new();
    let (ready, late) = (plane(), plane());
    ready.put(part("n/a"));
    late.put(part("n/b"));
    never(&late);
    let (parts, others) = (stage.informer(&ready), stage.informer(&late));
    let controller = of(&parts).watching("others", &others, |_| None).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    parts.synced().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(started.try_recv().is_err(), "one of two is not there");
    let state = controller.state();
    assert_eq!((state.phase, state.waits_for), (Phase::Syncing, vec!["others".to_owned()]));
    late.clear_faults();
    let first = next(&mut started).await;
    assert_eq!(first.subject.key.as_str(), "n/a");
    assert_eq!(controller.state().phase, Phase::Working);
    first.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p01_a_source_that_does_not_sync_is_a_named_error() {
    let stage = Fixture::new();
    let plane = plane();
    never(&plane);
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let ran = stage.run(
        &controller,
        |_: Arc<_>, _: Run| async { Ok::<_, Infallible>(Next::Done) },
        &stage.stopping,
    );
    let error = ran.await.unwrap().unwrap_err();
    let after = settings().sync_time;
    let trouble = Some(ReflectorError::Watch(WatchError::Source(SourceError::TimedOut)));
    assert_eq!(error, RunError::NotSynced { source_name: "parts".into(), after, trouble });
    let text = error.to_string();
    assert!(text.starts_with("parts did not sync within 120s: the source did not answer"), "{text}");
    assert_eq!(controller.state().phase, Phase::Idle);
}

/// Regression: a queue smaller than the initial list ended the sync before the caches were
/// complete.
#[tokio::test(start_paused = true)]
async fn p01_with_a_full_queue_all_caches_are_complete_before_the_first_run() {
    let stage = Fixture::new();
    let (ready, late) = (plane(), plane());
    for number in 0..50 {
        ready.put(part(&format!("n/a{number}")));
        late.put(part(&format!("n/b{number}")));
    }
    never(&late);
    let (parts, others) = (stage.informer(&ready), stage.informer(&late));
    let controller = of(&parts)
        .watching("others", &others, |event: &Event<Arc<Part>>| Some(event.object().key.clone()))
        .queue(|| Config::<ObjectKey> { capacity: 4, ..Config::default() })
        .build()
        .unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(started.try_recv().is_err(), "one of two is not there");
    late.clear_faults();
    let first = next(&mut started).await;
    assert_eq!((parts.read().len(), others.read().len()), (50, 50));
    first.done();
}

#[tokio::test(start_paused = true)]
async fn p01_an_empty_source_counts_as_synced() {
    let stage = Fixture::new();
    let plane = plane();
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    while controller.state().phase != Phase::Working {
        tokio::task::yield_now().await;
    }
    plane.put(part("n/a"));
    next(&mut started).await.done();
}

#[tokio::test(start_paused = true)]
async fn p01_a_stopped_source_is_a_named_error() {
    let stage = Fixture::new();
    let informer_stops = CancellationToken::new();
    let informer = stage.informer(&plane());
    let other =
        machinery_informers::Informer::builder(Arc::new(plane()) as Arc<dyn machinery_objects::ListWatch<_>>)
            .build();
    stage.tasks.spawn(other.run(informer_stops.clone()));
    let controller = of(&informer)
        .watching("others", &other, |_: &machinery_objects::Event<Arc<Part>>| None)
        .build()
        .unwrap();
    let (reconcile, _asked) = controlled();
    let ran = stage.run(&controller, reconcile, &stage.stopping);
    while controller.state().phase != Phase::Working {
        tokio::task::yield_now().await;
    }
    informer_stops.cancel();
    assert_eq!(ran.await.unwrap(), Err(RunError::SourceEnded { source_name: "others".into() }));
}

#[tokio::test(start_paused = true)]
async fn p02_a_key_runs_once_at_a_time_and_again_for_events_during_its_run() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a").says("0"));
    let parts = stage.informer(&plane);
    let settings = Settings { run_time: Duration::MAX, ..settings() };
    let controller = of(&parts).settings(settings).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    for text in ["1", "2", "3"] {
        let token = plane.put(part("n/a").says(text));
        parts.wait_for(&token, Duration::from_secs(1)).await.unwrap();
    }
    silence(&mut started).await;
    first.done();
    let second = next(&mut started).await;
    assert_eq!(second.subject.text, "3", "as it is, and not how it came to that");
    second.done();
    silence(&mut started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p02_concurrency_is_the_worker_count_and_no_key_runs_twice_at_once() {
    let stage = Fixture::new();
    let plane = plane();
    for i in 0..40 {
        plane.put(part(&format!("n/p{i}")));
    }
    let settings = Settings { workers: 3, ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let (now, most, all) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (now.clone(), most.clone(), all.clone());
    let reconcile = move |_: Arc<Part>, _: Run| {
        let (now, most, all) = counts.clone();
        async move {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            now.fetch_sub(1, SeqCst);
            all.fetch_add(1, SeqCst);
            Ok::<_, Infallible>(Next::Done)
        }
    };
    stage.run(&controller, reconcile, &stage.stopping);
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    while all.load(SeqCst) < 40 && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((all.load(SeqCst), most.load(SeqCst)), (40, 3));
}

#[tokio::test(start_paused = true)]
async fn p04_filtered_events_make_no_run() {
    let stage = Fixture::new();
    let plane = plane();
    let parts = stage.informer(&plane);
    let is_news = changed(|part: &Part| part.text.len());
    let controller = Controller::of_filtered("parts", &parts, is_news).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    plane.put(part("n/a").says("x"));
    next(&mut started).await.done();
    plane.put(part("n/a").says("y"));
    silence(&mut started).await;
    plane.put(part("n/a").says("yy"));
    assert_eq!(next(&mut started).await.subject.text, "yy");
}

#[tokio::test(start_paused = true)]
async fn p08_a_restart_reconciles_all_objects_and_runs_never_overlap() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    for _ in 0..3 {
        let (stopping, (reconcile, mut started)) = (CancellationToken::new(), controlled());
        let ran = stage.run(&controller, reconcile, &stopping);
        let first = next(&mut started).await;
        let again = controller.run(controlled().0, stopping.clone()).await;
        assert_eq!(again, Err(RunError::Runs));
        first.done();
        silence(&mut started).await;
        stopping.cancel();
        assert!(ran.await.unwrap().unwrap().dropped.is_empty());
        assert_eq!(controller.state().phase, Phase::Idle);
    }
    assert_eq!(controller.explain(&"n/a".parse().unwrap()).last.unwrap().runs, 3);
}

#[tokio::test(start_paused = true)]
async fn p08_a_dropped_run_future_does_not_prevent_a_restart() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let (reconcile, mut started) = controlled();
    let ran = stage.run(&controller, reconcile, &stage.stopping);
    let _first = next(&mut started).await;
    ran.abort();
    assert!(ran.await.unwrap_err().is_cancelled());
    while controller.state().phase != Phase::Idle {
        tokio::task::yield_now().await;
    }
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    next(&mut started).await.done();
}

#[tokio::test(start_paused = true)]
async fn p10_a_full_queue_loses_nothing() {
    let stage = Fixture::new();
    let plane = plane();
    for i in 0..50 {
        plane.put(part(&format!("n/p{i}")));
    }
    let controller = of(&stage.informer(&plane))
        .queue(|| Config::<ObjectKey> { capacity: 4, ..Config::default() })
        .settings(Settings { workers: 1, sync_time: Duration::MAX, ..settings() })
        .build()
        .unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 50 {
        let started = next(&mut started).await;
        seen.insert(started.subject.key.clone());
        started.done();
    }
    assert!(controller.state().counts.queue_full_waits > 0);
}
