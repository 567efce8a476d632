//! Promises 6 and 9: stuck runs, explanations, diagnostics and metrics.

use crate::fixture::{Fixture, Part, controlled, next, of, part, plane, settings};
use machinery_controllers::{Next, Outcome, Run, Settings};
use machinery_sync::Mutex;
use machinery_workqueue::KeyState;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn p06_a_stuck_run_is_reported_once_with_its_key() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let settings = Settings { stuck_after: Duration::from_secs(8), ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let hangs = next(&mut started).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    let running = controller.state().running;
    assert!(running.len() == 1 && !running[0].is_stuck, "{running:?}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let state = controller.state();
    let [running] = &*state.running else { panic!("{state:?}") };
    assert_eq!((running.key.as_str(), running.is_stuck, state.counts.stuck), ("n/a", true, 1));
    assert!(running.time >= Duration::from_secs(27));
    assert_eq!(controller.explain(&running.key).running, Some(running.time));
    hangs.done();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let state = controller.state();
    assert!(state.running.is_empty() && state.counts.stuck == 1, "{state:?}");
}

/// A run that never awaits cannot report itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn p06_a_blocking_run_is_reported_and_other_keys_run() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/computes"));
    let settings = Settings { stuck_after: Duration::from_millis(20), workers: 2, ..settings() };
    let controller = of(&stage.informer(&plane)).settings(settings).build().unwrap();
    let (ends, waits) = std::sync::mpsc::channel::<()>();
    let (waits, well) = (Mutex::new(waits), Arc::new(AtomicUsize::new(0)));
    let ran = well.clone();
    let reconcile = move |part: Arc<Part>, _: Run| {
        if part.key.name() == "computes" {
            let _ = waits.lock().recv();
        } else {
            ran.fetch_add(1, SeqCst);
        }
        std::future::ready(Ok::<_, Infallible>(Next::Done))
    };
    stage.run(&controller, reconcile, &stage.stopping);
    until(|| controller.state().running.iter().any(|running| running.is_stuck)).await;
    for number in 0..50 {
        plane.put(part(&format!("n/p{number}")));
    }
    until(|| well.load(SeqCst) == 50).await;
    let state = controller.state();
    assert_eq!((state.counts.stuck, state.running.len()), (1, 1), "{state:?}");
    assert_eq!(state.running[0].key.name(), "computes");
    drop(ends);
    until(|| controller.state().running.is_empty()).await;
}

async fn until(is_so: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    while !is_so() && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(is_so());
}

#[tokio::test(start_paused = true)]
async fn p09_explain_has_causes_outcome_and_next_run() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let key = "n/a".parse().unwrap();
    assert!(controller.explain(&key).last.is_none());
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    assert!(matches!(controller.explain(&key).queued.unwrap().state, KeyState::InFlight { .. }));
    tokio::time::sleep(Duration::from_secs(3)).await;
    first.answers(Ok(Next::After(Duration::from_secs(40))));
    tokio::time::sleep(Duration::from_secs(10)).await;
    let explained = controller.explain(&key);
    let last = explained.last.unwrap();
    assert_eq!(
        (last.outcome, last.took.as_secs(), last.attempts, last.runs),
        (Outcome::After(Duration::from_secs(40)), 3, 0, 1)
    );
    assert_eq!(format!("{:?}", last.causes), r#"["parts added 1 (×1)"]"#);
    let KeyState::Delayed { next: in_ } = explained.queued.unwrap().state else { panic!("it waits") };
    assert_eq!(in_.as_secs(), 30);

    next(&mut started).await.answers(Err("x".repeat(9000)));
    tokio::time::sleep(Duration::from_micros(1)).await;
    let last = controller.explain(&key).last.unwrap();
    assert_eq!(format!("{:?}", last.causes), r#"["after 0 (×1)"]"#);
    assert!(matches!(last.outcome, Outcome::Failed(error) if error.len() < 1100));
}

#[tokio::test(start_paused = true)]
async fn p09_diagnostics_are_readable_without_type_parameters() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let diagnostics = controller.diagnostics();
    assert_eq!(diagnostics.overview().unwrap()["phase"], "idle");
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    let overview = diagnostics.overview().unwrap();
    assert_eq!((&overview["phase"], &overview["running"][0]["object"]), (&json!("working"), &json!("n/a")));
    first.answers(Err("no port is free".into()));
    tokio::time::sleep(Duration::from_micros(1)).await;
    let mut explained = diagnostics.explain("n/a").unwrap();
    let next_in = explained["nextInSeconds"].take();
    assert!(next_in.as_f64().is_some_and(|seconds| seconds > 0.0 && seconds < 0.01), "{next_in}");
    explained["last"]["secondsAgo"].take();
    let expected = json!({
        "object": "n/a", "runningSeconds": null, "held": null, "writeFights": [], "failuresInARow": 1,
        "nextInSeconds": null, "nextCauses": ["parts added 1 (×1)", "retry 1 (×1)"],
        "last": {
            "secondsAgo": null, "took": 0.0, "attempt": 0, "causes": ["parts added 1 (×1)"], "result": "failed",
            "says": "no port is free", "runs": 1,
        },
    });
    assert_eq!(explained, expected);
    assert!(diagnostics.explain("n/b").is_none());
    drop(stage);
}

#[cfg(feature = "prometheus")]
#[tokio::test(start_paused = true)]
async fn p09_metrics_start_at_zero_and_include_the_queue_while_running() {
    use machinery_controllers::Metrics;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let metrics = Metrics::new();
    metrics.watch(&controller).unwrap();
    assert!(metrics.watch(&controller).is_err(), "each has its own name");
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics.clone()));
    let page = || {
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        page
    };
    let has = |line: &str| page().lines().any(|is| is == line);
    for result in ["done", "failed", "panicked", "timed_out"] {
        assert!(
            has(&format!(r#"machinery_controller_runs_total{{name="parts",result="{result}"}} 0"#)),
            "{}",
            page()
        );
    }
    assert!(!page().contains("workqueue_depth{"));
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    next(&mut started).await.answers(Err("no".into()));
    let second = next(&mut started).await;
    for line in [
        r#"machinery_controller_runs_total{name="parts",result="failed"} 1"#,
        r#"machinery_controller_working{name="parts"} 1"#,
        r#"machinery_controller_running{name="parts"} 1"#,
        r#"workqueue_retries_total{name="parts"} 1"#,
    ] {
        assert!(has(line), "{line} in {}", page());
    }
    second.done();
    drop((controller, stage));
}
