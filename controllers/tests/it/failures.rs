//! Promise 3: a failure affects its own key only.

use crate::fixture::{Fixture, Part, PendingRun, controlled, next, of, part, plane, settings, silence};
use machinery_controllers::{Controller, Next, Outcome, Run, Settings};
use machinery_objects::{Event, ObjectKey};
use machinery_sync::Mutex;
use machinery_workqueue::limiter::Exponential;
use machinery_workqueue::{Config, KeyState};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::time::Instant;

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn p03_back_off_grows_until_success() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let (mut waits, mut last) = (Vec::new(), Instant::now());
    for attempt in 0..6 {
        let started = next(&mut started).await;
        assert_eq!(started.run.attempts, attempt);
        waits.push(last.elapsed());
        last = Instant::now();
        started.answers(Err("the switch does not answer".into()));
    }
    assert!(waits[5] > 3 * waits[2], "{waits:?}");
    let last_run = next(&mut started).await;
    assert!(format!("{:?}", last_run.run.causes).contains("retry 6"), "{:?}", last_run.run.causes);
    last_run.done();
    silence(&mut started).await;
    plane.put(part("n/a").says("x"));
    assert_eq!(next(&mut started).await.run.attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn p03_errors_panics_and_timeouts_are_retried_while_other_keys_run() {
    let stage = Fixture::new();
    let plane = plane();
    for bad in ["errs", "hangs", "panics", "panics-at-once", "well"] {
        plane.put(part(&format!("n/{bad}")));
    }
    let settings = Settings { workers: 2, run_time: Duration::from_secs(10), ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let wells = runs.clone();
    let reconcile = move |part: Arc<Part>, _: Run| {
        assert!(part.key.name() != "panics-at-once", "there is no future yet");
        let wells = wells.clone();
        async move {
            match part.key.name() {
                "errs" => Err("no"),
                "hangs" => std::future::pending().await,
                "panics" => panic!("on purpose: {}", part.key),
                _ => {
                    wells.fetch_add(1, SeqCst);
                    Ok(Next::After(Duration::from_secs(1)))
                }
            }
        }
    };
    stage.run(&controller, reconcile, &stage.stopping);
    tokio::time::sleep(Duration::from_secs(300)).await;
    let last = |name: &str| controller.explain(&key(name)).last.unwrap().outcome;
    assert_eq!(last("n/errs"), Outcome::Failed("no".into()));
    assert_eq!(last("n/hangs"), Outcome::TimedOut);
    assert_eq!(last("n/panics"), Outcome::Panicked("on purpose: n/panics".into()));
    assert_eq!(last("n/panics-at-once"), Outcome::Panicked("there is no future yet".into()));
    assert_eq!(last("n/well"), Outcome::After(Duration::from_secs(1)));
    assert!(runs.load(SeqCst) > 100, "{}", runs.load(SeqCst));
    let counts = controller.state().counts;
    assert!([counts.failed, counts.panicked, counts.timed_out].iter().all(|count| *count >= 3), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn p03_retries_can_be_limited_until_the_next_event() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let queue = || Config { max_tries: NonZeroU16::new(3), ..Config::default() };
    let controller = of(&stage.informer(&plane)).queue(queue).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    for _ in 0..3 {
        next(&mut started).await.answers(Err("never".into()));
    }
    silence(&mut started).await;
    plane.put(part("n/a").says("x"));
    assert_eq!(next(&mut started).await.run.attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn p03_a_panicking_map_function_loses_only_its_event() {
    let stage = Fixture::new();
    let (parts, others) = (plane(), plane());
    let others_known = stage.informer(&others);
    let whom = |event: &Event<Arc<Part>>| {
        assert!(event.object().text != "bad", "on purpose");
        Some(event.object().key.clone())
    };
    parts.put(part("n/a"));
    let controller = of(&stage.informer(&parts)).watching("others", &others_known, whom).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    next(&mut started).await.done();
    others.put(part("n/b").says("bad"));
    silence(&mut started).await;
    others.put(part("n/a"));
    next(&mut started).await.done();
    assert_eq!(controller.state().counts.source_panics, 1);
}

/// Regression: a panic of the predicate lost the event.
#[tokio::test(start_paused = true)]
async fn p03_a_panicking_predicate_lets_the_event_through() {
    let stage = Fixture::new();
    let plane = plane();
    let is_news = |event: &Event<Arc<Part>>| {
        assert!(event.object().text != "bad", "on purpose");
        event.object().text == "news"
    };
    let controller = Controller::of_filtered("parts", &stage.informer(&plane), is_news).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    plane.put(part("n/a").says("bad"));
    next(&mut started).await.done();
    plane.put(part("n/b").says("none"));
    silence(&mut started).await;
    plane.put(part("n/c").says("news"));
    next(&mut started).await.done();
    assert_eq!(controller.state().counts.source_panics, 1);
}

#[tokio::test(start_paused = true)]
async fn p03_back_off_of_a_permanent_failure_is_capped_and_visible() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/bad"));
    plane.put(part("n/well"));
    let longest = Duration::from_secs(60);
    let backoff = Exponential::new(Duration::from_millis(5), longest).unwrap();
    let queue = move || Config { backoff: Box::new(backoff.clone()), ..Config::default() };
    let settings = Settings { workers: 1, ..settings() };
    let controller = of(&stage.informer(&plane)).queue(queue).settings(settings).build().unwrap();
    let runs = Arc::new(Mutex::new((Vec::new(), 0_u32)));
    let ran = runs.clone();
    let reconcile = move |part: Arc<Part>, _: Run| {
        let (mut ran, is_bad) = (ran.lock(), part.key.name() == "bad");
        if is_bad {
            ran.0.push(Instant::now());
        } else {
            ran.1 += 1;
        }
        let next = if is_bad { Err("never") } else { Ok(Next::After(Duration::from_secs(1))) };
        std::future::ready(next)
    };
    stage.run(&controller, reconcile, &stage.stopping);
    let day = Duration::from_secs(24 * 3600);
    tokio::time::sleep(day).await;
    let (failed, well) = runs.lock().clone();
    let waits: Vec<_> = failed.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(
        failed.len() > 1440 && waits.iter().all(|wait| *wait <= longest + Duration::from_millis(1)),
        "{:?}",
        waits.iter().max()
    );
    assert!(well > 86_000, "the other one goes on: {well}");

    let explained = controller.explain(&key("n/bad"));
    let queued = explained.queued.unwrap();
    assert_eq!(usize::from(queued.attempts), failed.len());
    assert!(
        matches!(queued.state, KeyState::Delayed { next } if next <= longest + Duration::from_millis(1)),
        "{queued:?}"
    );
    assert_eq!(explained.last.unwrap().outcome, Outcome::Failed("never".into()));
    let state = controller.state();
    assert_eq!(state.counts.failed, failed.len() as u64);
    assert_eq!(state.queue.unwrap().retries, failed.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn p03_back_off_is_configured_by_the_queue() {
    let stage = Fixture::new();
    let seven = Duration::from_secs(7);
    let always_seven = Exponential::new(seven, seven).unwrap().jitter(0.0).unwrap();
    let queue = move || Config { backoff: Box::new(always_seven.clone()), ..Config::default() };
    let controller = Controller::of_requests("numbers").queue(queue).build().unwrap();
    let (reconcile, mut started) = controlled::<u32>();
    let (runs, stopping) = (controller.clone(), stage.stopping.clone());
    stage.tasks.spawn(async move { runs.run(reconcile, stopping).await });
    while !controller.request(7, &"asked for").await {
        tokio::task::yield_now().await;
    }
    let first: PendingRun<u32> = next(&mut started).await;
    let failed = Instant::now();
    first.answers(Err("no".into()));
    next(&mut started).await.done();
    assert_eq!(failed.elapsed(), seven);
}
