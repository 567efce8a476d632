//! Promise 35 for other objects that a run writes: their events are own ones, and changes of them
//! by anybody else request a run.

use crate::fixture::{Fixture, Part, PendingRun, controlled, next, part, plane, silence};
use machinery_controllers::{Controller, Next};
use machinery_informers::Informer;
use machinery_informers::testing::FakeSource;
use machinery_objects::{Event, ObjectKey};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

type FamilyRuns = UnboundedReceiver<PendingRun<ObjectKey>>;

const PAUSE: Duration = Duration::from_millis(20);

fn child() -> ObjectKey {
    "n/child".parse().unwrap()
}

/// A controller of a whole whose parts request its runs.
struct FamilyFixture {
    stage: Fixture,
    plane: FakeSource<Part>,
    parts: Informer<Part>,
    started: FamilyRuns,
}

impl FamilyFixture {
    /// Returns the fixture, and the first run.
    async fn new() -> (Self, PendingRun<ObjectKey>) {
        let (stage, plane) = (Fixture::new(), plane());
        plane.put(part("n/other"));
        let parts = stage.informer(&plane);
        let whole = |_: &Event<Arc<Part>>| ["n/whole".parse::<ObjectKey>().unwrap()];
        let controller = Controller::<ObjectKey, ObjectKey>::of_requests("wholes")
            .watching("parts", &parts, whole)
            .build()
            .unwrap();
        let (reconcile, mut started) = controlled();
        stage.run(&controller, reconcile, &stage.stopping);
        let first = next(&mut started).await;
        (Self { stage, plane, parts, started }, first)
    }

    fn create(&self, run: &PendingRun<ObjectKey>) {
        run.run.wrote(&self.plane.put(part("n/child")), &self.parts);
    }
}

#[tokio::test(start_paused = true)]
async fn p35_a_created_child_requests_no_run_and_its_status_by_others_does() {
    let (mut it, first) = FamilyFixture::new().await;
    it.create(&first);
    first.done();
    silence(&mut it.started).await;
    assert!(it.parts.get(&child()).is_some());
    it.plane.put(part("n/child").says("ready"));
    next(&mut it.started).await.done();
    silence(&mut it.started).await;
}

#[tokio::test(start_paused = true)]
async fn p35_a_status_of_a_child_during_the_run_that_creates_it_requests_a_run() {
    // With a pause the source delivers two events, without one they may be coalesced.
    for (before, after) in [(Duration::ZERO, Duration::ZERO), (PAUSE, Duration::ZERO), (PAUSE, PAUSE)] {
        let (mut it, first) = FamilyFixture::new().await;
        it.create(&first);
        sleep(before).await;
        it.plane.put(part("n/child").says("ready"));
        sleep(after).await;
        first.done();
        next(&mut it.started).await.done();
        silence(&mut it.started).await;
        assert_eq!(it.parts.get(&child()).unwrap().text, "ready");
    }
}

#[tokio::test(start_paused = true)]
async fn p35_a_child_deleted_by_others_requests_a_run_and_one_deleted_by_the_run_none() {
    let (mut it, first) = FamilyFixture::new().await;
    it.create(&first);
    first.done();
    silence(&mut it.started).await;
    it.plane.delete(&child()).unwrap();
    let second = next(&mut it.started).await;
    it.create(&second);
    second.done();
    silence(&mut it.started).await;
    it.plane.put(part("n/other").says("changed"));
    let third = next(&mut it.started).await;
    third.run.wrote(&it.plane.delete(&child()).unwrap(), &it.parts);
    third.done();
    silence(&mut it.started).await;
    // Deleted in a run, and created by somebody else: two objects of one name.
    it.plane.put(part("n/other").says("again"));
    let fourth = next(&mut it.started).await;
    it.create(&fourth);
    fourth.run.wrote(&it.plane.delete(&child()).unwrap(), &it.parts);
    it.plane.put(part("n/child").says("foreign"));
    fourth.done();
    next(&mut it.started).await.done();
    silence(&mut it.started).await;
}

/// The run after an own write is requested by its result, and sees the write.
#[tokio::test(start_paused = true)]
async fn p35_a_run_that_asks_for_another_one_finds_its_children_in_the_cache() {
    let (mut it, first) = FamilyFixture::new().await;
    it.create(&first);
    assert!(it.parts.get(&child()).is_none(), "the cache lags");
    first.answers(Ok(Next::After(Duration::ZERO)));
    let second = next(&mut it.started).await;
    assert!(it.parts.get(&child()).is_some());
    second.done();
    silence(&mut it.started).await;
    drop(it.stage);
}
