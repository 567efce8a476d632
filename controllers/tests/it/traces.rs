//! Promise 28: trace contexts of runs.

use crate::fixture::{Fixture, controlled, next, of, part, plane, plane_that};
use crate::spans::{noted, noting};
use machinery_controllers::{Next, Run};
use machinery_objects::{Capabilities, SpanIds, Traceparent, traced};
use machinery_workqueue::Config;
use std::time::Duration;
use tokio::task::yield_now;
use tracing::subscriber::{NoSubscriber, set_default};

fn of_run(run: &Run) -> Traceparent {
    run.traceparent().expect("somebody records it")
}

#[tokio::test(start_paused = true)]
async fn p28_a_run_is_a_child_of_the_newest_change_that_caused_it() {
    noting();
    let (stage, plane, ids) = (Fixture::new(), plane(), SpanIds::seeded(1));
    let (parts, (reconcile, mut started)) = (stage.informer(&plane), controlled());
    let controller = of(&parts).owning("parts of wholes", &parts, &crate::fixture::whole()).build().unwrap();
    stage.run(&controller, reconcile, &stage.stopping);
    let [first, second, owned] = [ids.root(), ids.root(), ids.root()];
    plane.put(part("n/a").in_trace(first));
    let run = next(&mut started).await;
    let own = of_run(&run.run);
    assert_eq!(own.trace(), first.trace());
    assert_ne!(own.span(), first.span());
    noted();
    // Both changes occur during the run.
    plane.put(part("n/b").of("a").in_trace(owned));
    next(&mut started).await.done(); // of b
    plane.put(part("n/a").says("more").in_trace(second));
    yield_now().await;
    noted();
    run.done();
    let run = next(&mut started).await;
    assert_eq!(of_run(&run.run).trace(), second.trace());
    run.done();
    yield_now().await;
    let said = noted();
    assert!(said.contains(&format!("then parent_id={}", second.span())), "{said:?}");
    assert!(said.contains(&format!(r#"then links="{owned}""#)), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn p28_each_retry_is_a_child_of_the_first_cause() {
    noting();
    let (stage, plane, ids) = (Fixture::new(), plane(), SpanIds::seeded(1));
    let (reconcile, mut started) = controlled();
    let controller = of(&stage.informer(&plane)).build().unwrap();
    stage.run(&controller, reconcile, &stage.stopping);
    let cause = ids.root();
    plane.put(part("n/a").in_trace(cause));
    let mut spans = Vec::new();
    for answer in [Err("no".into()), Err("no".into()), Ok(Next::After(Duration::from_secs(60)))] {
        let run = next(&mut started).await;
        assert_eq!(of_run(&run.run).trace(), cause.trace());
        spans.push(of_run(&run.run).span());
        run.answers(answer);
    }
    spans.dedup();
    assert_eq!(spans.len(), 3);
    let by_itself = next(&mut started).await;
    assert_ne!(of_run(&by_itself.run).trace(), cause.trace());
    by_itself.done();
}

#[tokio::test(start_paused = true)]
async fn p28_an_outdated_traceparent_causes_nothing() {
    noting();
    let mut untold = Capabilities::ALL;
    untold.carries_traces = false;
    for (plane, is_last) in [(plane(), true), (plane_that(untold), false)] {
        let (stage, cause) = (Fixture::new(), SpanIds::seeded(1).root());
        let (reconcile, mut started) = controlled();
        let controller = of(&stage.informer(&plane)).build().unwrap();
        stage.run(&controller, reconcile, &stage.stopping);
        plane.put(part("n/a").in_trace(cause));
        let run = next(&mut started).await;
        assert_eq!(of_run(&run.run).trace(), cause.trace());
        run.done();
        // A foreign writer kept the old annotation.
        plane.put(part("n/a").says("more").in_trace(cause));
        let run = next(&mut started).await;
        assert_eq!(of_run(&run.run).trace() == cause.trace(), is_last);
        run.done();
        plane.put(part("n/a").says("no trace"));
        let run = next(&mut started).await;
        assert_ne!(of_run(&run.run).trace(), cause.trace());
        run.done();
    }
}

#[tokio::test(start_paused = true)]
async fn p28_without_a_subscriber_the_parent_trace_is_passed_on() {
    let _nobody = set_default(NoSubscriber::default());
    let (stage, plane, cause) = (Fixture::new(), plane(), SpanIds::seeded(1).root());
    let (reconcile, mut started) = controlled();
    let controller = of(&stage.informer(&plane)).build().unwrap();
    stage.run(&controller, reconcile, &stage.stopping);
    plane.put(part("n/a").in_trace(cause));
    let run = next(&mut started).await;
    assert_eq!(run.run.traceparent(), Some(cause));
    run.done();
    plane.put(part("n/b"));
    let run = next(&mut started).await;
    assert_eq!(run.run.traceparent(), None);
    run.done();
}

#[tokio::test(start_paused = true)]
async fn p28_a_reconcile_is_in_the_trace_of_its_run_and_its_tasks_are_not() {
    noting();
    let (stage, plane) = (Fixture::new(), plane());
    let (says, mut said) = tokio::sync::mpsc::unbounded_channel();
    let tasks = stage.tasks.clone();
    let reconcile = move |_, run: Run| {
        let (says, tasks) = (says.clone(), tasks.clone());
        async move {
            yield_now().await;
            let other = SpanIds::seeded(9).root();
            let own = Traceparent::current();
            let spawned = tasks.spawn(async { Traceparent::current() }).await.unwrap();
            let elsewhere = traced(Some(other), async { Traceparent::current() }).await;
            says.send((own == run.traceparent(), own.is_some(), spawned, elsewhere == Some(other))).unwrap();
            Ok::<_, String>(Next::Done)
        }
    };
    let controller = of(&stage.informer(&plane)).build().unwrap();
    stage.run(&controller, reconcile, &stage.stopping);
    plane.put(part("n/a"));
    assert_eq!(said.recv().await, Some((true, true, None, true)));
    assert_eq!(Traceparent::current(), None);
}

#[tokio::test(start_paused = true)]
async fn p28_span_ids_derive_from_seed_and_controller_name() {
    noting();
    let mut seen = Vec::new();
    for name in ["one", "one", "other"] {
        let (stage, plane) = (Fixture::new(), plane());
        let (reconcile, mut started) = controlled();
        let seeded = || Config { seed: Some(7), ..Config::default() };
        let parts = stage.informer(&plane);
        let controller = machinery_controllers::Controller::of(name, &parts).queue(seeded).build().unwrap();
        stage.run(&controller, reconcile, &stage.stopping);
        plane.put(part("n/a"));
        let run = next(&mut started).await;
        seen.push(of_run(&run.run));
        run.done();
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0].trace(), seen[2].trace());
}
