//! Promise 35: the event of a run's own write requests no run of its key, unless somebody else
//! wrote in between.

use crate::fixture::{Fixture, PendingRun, controlled, next, of, part, plane, silence};
use machinery_controllers::{Controller, Next, OwnWrites, Settings, report_write};
use machinery_informers::testing::{Fault, OnEvent};
use machinery_objects::ObjectKey;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

type PartRuns = UnboundedReceiver<PendingRun<Arc<crate::fixture::Part>>>;

const PAUSE: Duration = Duration::from_millis(20);

/// Returns the next run, of an object with this text.
async fn sees(started: &mut PartRuns, text: &str) -> PendingRun<Arc<crate::fixture::Part>> {
    let run = next(started).await;
    assert_eq!(run.subject.text, text);
    run
}

#[tokio::test(start_paused = true)]
async fn p35_an_own_write_requests_no_run_in_every_order_of_event_and_response() {
    for (event_first, foreign) in [(false, None), (true, None), (false, Some("after")), (true, Some("after"))]
    {
        let stage = Fixture::new();
        let plane = plane();
        plane.put(part("n/a"));
        let parts = stage.informer(&plane);
        let controller = of(&parts).build().unwrap();
        let (reconcile, mut started) = controlled();
        stage.run(&controller, reconcile, &stage.stopping);
        let run = sees(&mut started, "").await;
        let token = plane.put(part("n/a").says("own"));
        if event_first {
            sleep(PAUSE).await;
        }
        run.run.wrote(&token, &parts);
        run.run.wrote(&token, &parts);
        if let Some(text) = foreign {
            plane.put(part("n/a").says(text));
        }
        run.done();
        if let Some(text) = foreign {
            sees(&mut started, text).await.done();
        }
        silence(&mut started).await;
        let counts = controller.state().counts;
        assert_eq!((counts.done, counts.cache_timeouts), (1 + u64::from(foreign.is_some()), 0));
        assert!(foreign.is_some() || counts.own_events == 1, "{counts:?}");
        plane.put(part("n/a").says("later"));
        sees(&mut started, "later").await.done();
        silence(&mut started).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p35_a_foreign_write_before_the_own_one_requests_a_run() {
    for pause in [Duration::ZERO, PAUSE] {
        let stage = Fixture::new();
        let plane = plane();
        plane.put(part("n/a"));
        let parts = stage.informer(&plane);
        let controller = of(&parts).build().unwrap();
        let (reconcile, mut started) = controlled();
        stage.run(&controller, reconcile, &stage.stopping);
        let run = sees(&mut started, "").await;
        plane.put(part("n/a").says("foreign"));
        sleep(pause).await;
        run.run.wrote(&plane.put(part("n/a").says("own")), &parts);
        run.done();
        sees(&mut started, "own").await.done();
        silence(&mut started).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p35_a_write_without_a_response_requests_a_run() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let run = sees(&mut started, "").await;
    plane.put(part("n/a").says("own"));
    sleep(PAUSE).await;
    run.done();
    sees(&mut started, "own").await.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p35_a_failed_run_keeps_its_back_off_after_an_own_write() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let run = sees(&mut started, "").await;
    run.run.wrote(&plane.put(part("n/a").says("own")), &parts);
    run.answers(Err("on purpose".into()));
    let retried = sees(&mut started, "own").await;
    assert_eq!(retried.run.attempts, 1);
    assert!(format!("{:?}", retried.run.causes).contains("retry"), "{:?}", retried.run.causes);
    assert!(!format!("{:?}", retried.run.causes).contains("updated"), "{:?}", retried.run.causes);
    retried.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p35_other_keys_receive_the_event_of_the_write() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let both = |_: &machinery_objects::Event<Arc<crate::fixture::Part>>| {
        ["n/a", "n/b"].map(|key| key.parse::<ObjectKey>().unwrap())
    };
    let controller = Controller::<ObjectKey, ObjectKey>::of_requests("both")
        .watching("parts", &parts, both)
        .build()
        .unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let (first, second) = (next(&mut started).await, next(&mut started).await);
    let (a, b) = if first.subject.name() == "a" { (first, second) } else { (second, first) };
    b.done();
    a.run.wrote(&plane.put(part("n/a").says("own")), &parts);
    a.done();
    let other = next(&mut started).await;
    assert_eq!(other.subject.as_str(), "n/b");
    other.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p35_a_relist_requests_a_run_as_it_may_hide_a_foreign_write() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let run = sees(&mut started, "").await;
    plane.always(Fault::Event(OnEvent::Silent));
    plane.put(part("n/a").says("foreign"));
    run.run.wrote(&plane.put(part("n/a").says("own")), &parts);
    plane.compact();
    plane.clear_faults();
    plane.end_watches();
    run.done();
    sees(&mut started, "own").await.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p35_a_writer_reports_to_the_run_that_is_polled() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let controller = of(&parts).build().unwrap();
    let (writes, shows) = (plane.clone(), parts.clone());
    let reconcile = move |it: Arc<crate::fixture::Part>, _| {
        let (writes, shows) = (writes.clone(), shows.clone());
        async move {
            if it.text.is_empty() {
                let token = writes.put(part("n/a").says("own"));
                tokio::task::yield_now().await;
                report_write(&token, &shows);
            }
            Ok::<_, String>(Next::Done)
        }
    };
    stage.run(&controller, reconcile, &stage.stopping);
    sleep(Duration::from_secs(60)).await;
    let counts = controller.state().counts;
    assert_eq!((counts.done, counts.own_events), (1, 1));
    report_write(&plane.put(part("n/a").says("outside of a run")), &parts);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(controller.state().counts.done, 2);
}

#[tokio::test(start_paused = true)]
async fn p35_own_writes_request_runs_on_request() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let parts = stage.informer(&plane);
    let settings = Settings { own_writes: OwnWrites::Reconcile, ..Settings::default() };
    let controller = of(&parts).settings(settings).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let run = sees(&mut started, "").await;
    run.run.wrote(&plane.put(part("n/a").says("own")), &parts);
    run.done();
    sees(&mut started, "own").await.done();
    silence(&mut started).await;
}
