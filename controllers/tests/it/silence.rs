//! Promises 50 and 51: silent owners.

use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::{Awaiting, SilenceDetector};
use machinery_informers::Informer;
use machinery_informers::testing::{FakeSource, Fault, OnList, OnWatch};
use machinery_objects::{ListError, ListWatch, ObjectKey, SourceError, WatchError};
use tokio::time::{Instant, sleep};

use crate::fixture::{Fixture, Part, controlled, next, of, part, plane, settings, silence};

const TIMEOUT: Duration = Duration::from_secs(8);

/// Parts whose text names the owner that should respond; a response makes it empty.
fn detector(stage: &Fixture, plane: &FakeSource<Part>) -> (Informer<Part>, SilenceDetector<Part, String>) {
    let source: Arc<dyn ListWatch<Part>> = Arc::new(plane.clone());
    let mut builder = Informer::builder(source);
    let awaiting =
        Awaiting::index(&mut builder, |part: &Part| (!part.text.is_empty()).then(|| part.text.clone()));
    let parts = builder.build();
    stage.tasks.spawn(parts.run(stage.stopping.clone()));
    let detector = SilenceDetector::new(&parts, awaiting, TIMEOUT).unwrap();
    (parts, detector)
}

#[tokio::test(start_paused = true)]
async fn p50_objects_of_a_silent_owner_are_reconciled_after_the_timeout() {
    let (stage, plane) = (Fixture::new(), plane());
    let (parts, detector) = detector(&stage, &plane);
    let controller = of(&parts).settings(settings()).build().unwrap();
    let (reconcile, mut started) = controlled();
    let _running = stage.run(&controller, reconcile, &stage.stopping);
    let (requesting, stopping) = (detector.clone(), stage.stopping.clone());
    stage.tasks.spawn(async move {
        requesting.request(&controller, stopping, |change| change.overdue).await;
    });
    let begun = Instant::now();
    plane.put(part("n/a").says("node-1"));
    plane.put(part("n/b").says("node-2"));
    for _ in 0..2 {
        next(&mut started).await.done();
    }
    // The second owner responds in time.
    sleep(TIMEOUT / 2).await;
    plane.put(part("n/b"));
    next(&mut started).await.done();

    let overdue = next(&mut started).await;
    let took = begun.elapsed();
    assert!((TIMEOUT..=TIMEOUT + TIMEOUT / 2).contains(&took), "{took:?}");
    assert_eq!(overdue.subject.key, "n/a".parse::<ObjectKey>().unwrap());
    assert!(
        format!("{:?}", overdue.run.causes).contains("an owner does not respond"),
        "{:?}",
        overdue.run.causes
    );
    assert!(detector.is_overdue(&overdue.subject) && detector.is_silent(&"node-1".to_owned()));
    assert!(!detector.is_silent(&"node-2".to_owned()));
    assert_eq!(detector.silent(), [("node-1".to_owned(), 1)]);
    overdue.done();
    silence(&mut started).await;

    plane.put(part("n/a"));
    next(&mut started).await.done();
    sleep(TIMEOUT).await;
    let counts = detector.counts();
    assert_eq!((counts.awaited, counts.overdue, counts.silent, counts.detected), (0, 0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn p50_an_object_under_the_key_of_another_one_has_a_wait_of_its_own() {
    let (stage, plane) = (Fixture::new(), plane());
    let (parts, detector) = detector(&stage, &plane);
    let (running, stopping) = (detector.clone(), stage.stopping.clone());
    stage.tasks.spawn(async move { running.run(stopping, |_| async {}).await });
    parts.synced().await.unwrap();
    plane.put(part("n/a").says("node-1"));
    sleep(TIMEOUT * 3 / 4).await;
    plane.delete(&"n/a".parse().unwrap());
    plane.put(part("n/a").says("node-1"));
    sleep(TIMEOUT * 3 / 4).await;
    assert_eq!(detector.counts().overdue, 0);
    sleep(TIMEOUT).await;
    assert_eq!(detector.counts().overdue, 1);
}

#[tokio::test(start_paused = true)]
async fn p51_no_owner_is_silent_while_the_source_is_unreachable() {
    let (stage, plane) = (Fixture::new(), plane());
    let (parts, detector) = detector(&stage, &plane);
    let (running, stopping) = (detector.clone(), stage.stopping.clone());
    stage.tasks.spawn(async move { running.run(stopping, |_| async {}).await });
    plane.put(part("n/a").says("node-1"));
    parts.synced().await.unwrap();
    sleep(TIMEOUT / 2).await;
    plane.always(Fault::Watch(OnWatch::Fails(WatchError::Source(SourceError::TimedOut))));
    plane.always(Fault::List(OnList::Fails(ListError::Source(SourceError::TimedOut))));
    plane.end_watches();
    sleep(TIMEOUT * 10).await;
    assert!(parts.state().trouble.is_some());
    assert_eq!(detector.counts().overdue, 0);
    // The response arrives with the relist.
    plane.put(part("n/a"));
    plane.clear_faults();
    sleep(TIMEOUT * 10).await;
    assert_eq!((detector.counts().overdue, detector.counts().detected), (0, 0));
}

#[test]
fn p50_a_timeout_below_the_interval_of_checks_is_refused() {
    let source: Arc<dyn ListWatch<Part>> = Arc::new(plane());
    let mut builder = Informer::builder(source);
    let awaiting = Awaiting::index(&mut builder, |_: &Part| None::<String>);
    let error = SilenceDetector::new(&builder.build(), awaiting, Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("use seconds"), "{error}");
}
