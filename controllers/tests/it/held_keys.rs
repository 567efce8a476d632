//! Promise 5: the next run of a key sees the writes of the last one.

use crate::fixture::{Fixture, controlled, next, of, part, plane, settings};
use machinery_controllers::Settings;
use machinery_informers::testing::{Fault, OnEvent};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[tokio::test(start_paused = true)]
async fn p05_the_next_run_sees_the_last_write_and_other_keys_do_not_wait() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    plane.put(part("n/b"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let (first, second) = (next(&mut started).await, next(&mut started).await);
    let (a, b) = if first.subject.key.name() == "a" { (first, second) } else { (second, first) };
    b.done();

    // The source delivers nothing, so the cache is stale.
    plane.always(Fault::Event(OnEvent::Silent));
    a.run.wrote(&plane.put(part("n/a").says("written")), &parts);
    a.done();
    assert!(controller.request("n/a".parse().unwrap(), &"somebody is in a hurry").await);
    assert!(controller.request("n/b".parse().unwrap(), &"somebody is in a hurry").await);
    let other = next(&mut started).await;
    assert_eq!(other.subject.key.as_str(), "n/b");
    other.done();
    tokio::time::sleep(settings().cache_timeout / 2).await;
    assert!(started.try_recv().is_err(), "it is held");

    plane.clear_faults();
    plane.end_watches();
    let again = next(&mut started).await;
    assert_eq!((again.subject.key.as_str(), again.subject.text.as_str()), ("n/a", "written"));
    assert_eq!(controller.state().counts.cache_timeouts, 0);
}

#[tokio::test(start_paused = true)]
async fn p05_a_key_is_held_no_longer_than_cache_timeout() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    plane.always(Fault::Event(OnEvent::Silent));
    for text in ["one", "two"] {
        first.run.wrote(&plane.put(part("n/a").says(text)), &parts);
    }
    first.done();
    assert!(controller.request("n/a".parse().unwrap(), &"again").await);
    let began = Instant::now();
    let again = next(&mut started).await;
    let (waited, cache_timeout) = (began.elapsed(), settings().cache_timeout);
    assert!(waited >= cache_timeout && waited < cache_timeout + Duration::from_secs(1), "{waited:?}");
    assert_eq!(again.subject.text, "");
    assert_eq!(controller.state().counts.cache_timeouts, 1);
}

/// Regression: a held key looked like an active run, and its work as slow as the cache.
#[tokio::test(start_paused = true)]
async fn p05_a_held_key_reports_its_pending_writes_and_occupies_no_worker() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    plane.always(Fault::Event(OnEvent::Silent));
    let token = plane.put(part("n/a").says("written"));
    first.run.wrote(&token, &parts);
    first.done();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let key = "n/a".parse().unwrap();
    let explained = controller.explain(&key);
    let held = explained.held.unwrap();
    assert_eq!((held.time.as_secs(), held.writes), (2, vec![token]));
    assert!(explained.running.is_none());
    let page = controller.diagnostics().explain("n/a").unwrap();
    assert_eq!(page["held"]["writes"], serde_json::json!(["n/a at 2"]));
    let queue = controller.state().queue.unwrap();
    assert_eq!((queue.in_flight, queue.held, queue.unfinished_us), (0, 1, 0));

    assert!(controller.request(key.clone(), &"somebody is in a hurry").await);
    plane.clear_faults();
    plane.end_watches();
    next(&mut started).await.done();
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(controller.explain(&key).held.is_none());
    let queue = controller.state().queue.unwrap();
    assert!(queue.worked.sum_us() < 1_000_000 && queue.was_held.sum_us() >= 2_000_000, "{queue:?}");
}

#[tokio::test(start_paused = true)]
async fn p05_a_key_stays_held_across_a_restart() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut started).await;
    plane.always(Fault::Event(OnEvent::Silent));
    first.run.wrote(&plane.put(part("n/a").says("written")), &parts);
    first.done();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stopping.cancel();
    ran.await.unwrap().unwrap();

    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(started.try_recv().is_err(), "the cache is as it was");
    plane.clear_faults();
    plane.end_watches();
    assert_eq!(next(&mut started).await.subject.text, "written");
}

/// A second stop while the key is held: nothing runs on a stale cache, then or after the next
/// start.
#[tokio::test(start_paused = true)]
async fn p05_a_second_restart_keeps_the_key_held_and_runs_nothing() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    for round in 0..3 {
        let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
        let ran = stage.run(&controller, reconcile, &stopping);
        if round == 0 {
            let first = next(&mut started).await;
            plane.always(Fault::Event(OnEvent::Silent));
            first.run.wrote(&plane.put(part("n/a").says("written")), &parts);
            first.done();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        stopping.cancel();
        ran.await.unwrap().unwrap();
        assert!(started.recv().await.is_none(), "the cache is as it was");
    }
    assert_eq!(controller.state().counts.done, 1);
}

#[tokio::test(start_paused = true)]
async fn p05_the_longest_cache_timeout_does_not_overflow() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let settings = Settings { cache_timeout: Duration::MAX, ..settings() };
    let controller = of(&parts).settings(settings).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    first.run.wrote(&plane.put(part("n/a").says("written")), &parts);
    first.done();
    assert!(controller.request("n/a".parse().unwrap(), &"again").await);
    let second = next(&mut started).await;
    assert_eq!((second.subject.text.as_str(), second.run.attempts), ("written", 0));
}

/// Regression: a held key occupied a worker, and finally all of them.
#[tokio::test(start_paused = true)]
async fn p05_keys_held_across_a_restart_do_not_block_workers() {
    let stage = Fixture::new();
    let plane = plane();
    for name in ["n/a", "n/b"] {
        plane.put(part(name));
    }
    let parts = stage.informer(&plane);
    let controller = of(&parts).settings(Settings { workers: 1, ..settings() }).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let first = next(&mut started).await;
    let held = first.subject.key.clone();
    plane.always(Fault::Event(OnEvent::Silent));
    first.run.wrote(&plane.put(part(held.as_str()).says("written")), &parts);
    first.done();
    next(&mut started).await.done();
    stopping.cancel();
    ran.await.unwrap().unwrap();

    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let began = Instant::now();
    let other = next(&mut started).await;
    assert_ne!(other.subject.key, held);
    assert!(began.elapsed() < Duration::from_secs(1), "it waited for what is not its own");
    other.done();
    plane.clear_faults();
    plane.end_watches();
    let again = next(&mut started).await;
    assert_eq!((again.subject.text.as_str(), again.run.attempts), ("written", 0));
    assert!(format!("{:?}", again.run.causes).contains("parts"), "{:?}", again.run.causes);
}

/// Regression: writes of a run that hung and was dropped were forgotten.
#[tokio::test(start_paused = true)]
async fn p05_writes_of_a_dropped_run_hold_its_key() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let ((reconcile, mut started), stopping) = (controlled(), CancellationToken::new());
    let ran = stage.run(&controller, reconcile, &stopping);
    let hangs = next(&mut started).await;
    plane.always(Fault::Event(OnEvent::Silent));
    hangs.run.wrote(&plane.put(part("n/a").says("written")), &parts);
    stopping.cancel();
    assert_eq!(ran.await.unwrap().unwrap().dropped.len(), 1);

    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(started.try_recv().is_err(), "the cache is as it was");
    plane.clear_faults();
    plane.end_watches();
    assert_eq!(next(&mut started).await.subject.text, "written");
}
