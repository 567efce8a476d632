//! Promise 4, keyed informers: completion of a key makes a run.

use crate::fixture::{Fixture, controlled, next, silence};
use machinery_controllers::Controller;
use machinery_informers::testing::{FakeSource, Fault, OnEdit, TestObject};
use machinery_informers::{Interest, KeyedInformers};
use machinery_objects::{Capabilities, Event, InterestBy, ListWatch, SourceError, WatchError};
use std::sync::Arc;

fn racks(stage: &Fixture, plane: &FakeSource<TestObject>) -> KeyedInformers<String, TestObject> {
    let source: Arc<dyn ListWatch<TestObject>> = Arc::new(plane.clone());
    let by = InterestBy::Field(TestObject::PLACE.into());
    let racks =
        KeyedInformers::builder(source, by, |thing: &TestObject| Some(thing.place.to_string())).build();
    stage.tasks.spawn(racks.run(stage.stopping.clone()));
    racks
}

fn acquired(racks: &KeyedInformers<String, TestObject>, rack: &str) -> Interest<String, TestObject> {
    racks.acquire(rack.to_owned()).unwrap()
}

/// Regression: the mark was dropped, so a rack without objects never completed.
#[tokio::test(start_paused = true)]
async fn p04_completion_of_a_key_makes_a_run_also_when_it_has_no_objects() {
    let stage = Fixture::new();
    let plane = FakeSource::of_test_objects(Capabilities::ALL);
    let racks = racks(&stage, &plane);
    plane.put(TestObject::new("n/a").at("full"));
    plane.put(TestObject::new("n/b").at("full"));
    let before = acquired(&racks, "before");
    before.synced().await.unwrap();

    let controller = Controller::<String, String>::of_requests("racks")
        .watching_keyed("things", &racks, |_, _: &Event<Arc<TestObject>>| None)
        .when_complete("things", &racks, |rack: &String| {
            assert_ne!(rack, "bad", "on purpose");
            [rack.clone()]
        })
        .build()
        .unwrap();
    let (reconcile, mut started) = controlled();
    let (runs, stopping) = (controller.clone(), stage.stopping.clone());
    stage.tasks.spawn(async move { runs.run(reconcile, stopping).await });
    let run = next(&mut started).await;
    assert_eq!(run.subject, "before", "a late subscriber receives completed keys");
    run.done();

    plane.always(Fault::Edit(OnEdit::Fails(WatchError::Source(SourceError::TimedOut))));
    let (full, empty) = (acquired(&racks, "full"), acquired(&racks, "empty"));
    silence(&mut started).await;
    plane.clear_faults();
    let mut ran = Vec::new();
    for _ in 0..2 {
        let run = next(&mut started).await;
        assert!(format!("{:?}", run.run.causes).contains("things complete"), "{:?}", run.run.causes);
        ran.push(run.subject.clone());
        run.done();
    }
    ran.sort();
    assert_eq!(ran, ["empty", "full"]);
    assert!(full.is_synced() && empty.is_synced());
    assert_eq!(racks.read().len(), 2);
    let bad = acquired(&racks, "bad");
    bad.synced().await.unwrap();
    silence(&mut started).await;
    assert_eq!(controller.state().counts.source_panics, 1);
}
