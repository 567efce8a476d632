//! Promise 11: expected creations and deletions.

use crate::fixture::{Fixture, Part, part, plane};
use machinery_controllers::{Expectations, ExpectationsFull};
use machinery_informers::testing::{Fault, OnEvent};
use machinery_objects::{Event, LeaveReason, Object, ObjectKey, Uid};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::advance;

const PATIENCE: Duration = Duration::from_secs(300);

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn with_uid(name: &str, uid: &str) -> Arc<Part> {
    Arc::new(Part { uid: uid.into(), ..part(name) })
}

fn added(object: Arc<Part>) -> Event<Arc<Part>> {
    Event::Added { object, initial: false }
}

fn deleted(last: Arc<Part>) -> Event<Arc<Part>> {
    Event::Deleted { last, final_state_known: true }
}

#[tokio::test(start_paused = true)]
async fn p11_a_parent_waits_for_each_expected_creation() {
    let expects = Expectations::new(PATIENCE, 10);
    assert_eq!(expects.pending(&"a"), None);
    for child in ["n/x", "n/y", "n/z"] {
        expects.expect_creation(&"a", &key(child)).unwrap();
    }
    expects.observed(&"b", &added(with_uid("n/x", "1")));
    expects.observed(&"a", &added(with_uid("n/x", "1")));
    expects.failed(&"a", &key("n/y"));
    assert_eq!((expects.pending(&"a"), expects.pending(&"b")), (Some(PATIENCE), None));
    // It was created and deleted between two reads.
    expects.observed(&"a", &deleted(with_uid("n/z", "3")));
    assert!(expects.pending(&"a").is_none() && expects.is_empty());
}

/// The cache is ahead of event delivery: the deletion of the predecessor is delivered after the new
/// child is expected.
#[tokio::test(start_paused = true)]
async fn p11_a_late_event_of_a_predecessor_does_not_fulfil_the_expectation() {
    let stage = Fixture::new();
    let plane = plane();
    let parts = stage.informer(&plane);
    parts.synced().await.unwrap();
    plane.always(Fault::Event(OnEvent::Silent));
    let expects = Expectations::new(PATIENCE, 10);
    expects.expect_creation(&"a", &key("n/x")).unwrap();
    let token = plane.put(part("n/x"));
    let made = token.uid.clone().unwrap();
    expects.wrote(&"a", &token, &parts);
    expects.observed(&"a", &deleted(with_uid("n/x", "another")));
    assert!(expects.pending(&"a").is_some(), "it is not there yet");
    expects.observed(&"a", &added(with_uid("n/x", made.as_str())));
    assert_eq!(expects.pending(&"a"), None);
}

#[tokio::test(start_paused = true)]
async fn p11_an_expected_deletion_is_matched_by_uid() {
    let expects = Expectations::new(PATIENCE, 10);
    let uid = Uid::new("1").unwrap();
    let gone_by = |event: Event<Arc<Part>>| {
        expects.expect_deletion(&"a", &key("n/x"), &uid).unwrap();
        expects.observed(&"a", &event);
        let gone = expects.pending(&"a").is_none();
        expects.forget(&"a");
        gone
    };
    let (it, another) = (with_uid("n/x", "1"), with_uid("n/x", "2"));
    assert!(!gone_by(added(it.clone())), "it is there still");
    assert!(
        !gone_by(Event::Updated { old: it.clone(), object: it.clone() }),
        "it may be marked, and is there still"
    );
    assert!(!gone_by(added(with_uid("n/y", "1"))), "that is another one");
    assert!(gone_by(deleted(it.clone())));
    assert!(
        gone_by(Event::Left { last: it.clone(), because: LeaveReason::Changed }),
        "it is counted no more"
    );
    assert!(gone_by(Event::Updated { old: it, object: another }), "another one has its name");
}

#[tokio::test(start_paused = true)]
async fn p11_expectations_expire() {
    let expects = Expectations::new(PATIENCE, 10);
    expects.expect_creation(&"a", &key("n/x")).unwrap();
    advance(PATIENCE / 2).await;
    expects.expect_creation(&"a", &key("n/y")).unwrap();
    advance(PATIENCE / 2).await;
    assert_eq!(expects.pending(&"a"), Some(PATIENCE / 2), "of n/y");
    advance(PATIENCE / 2).await;
    assert!(expects.pending(&"a").is_none() && expects.is_empty());
    expects.expect_creation(&"a", &key("n/x")).unwrap();
    assert!(
        Expectations::new(Duration::MAX, 1).expect_creation(&"a", &part("n/x").key()).is_ok(),
        "no time is too long"
    );
}

#[tokio::test(start_paused = true)]
async fn p11_the_number_of_parents_is_bounded_and_expired_ones_are_evicted() {
    let expects = Expectations::new(PATIENCE, 2);
    expects.expect_creation(&1, &key("n/x")).unwrap();
    expects.expect_creation(&2, &key("n/x")).unwrap();
    assert_eq!(expects.expect_creation(&3, &key("n/x")), Err(ExpectationsFull::Parents { limit: 2 }));
    expects.expect_creation(&2, &key("n/y")).unwrap();
    advance(PATIENCE).await;
    expects.expect_creation(&3, &key("n/x")).unwrap();
    assert_eq!(expects.len(), 1);
}

/// Regression: created and deleted before the cache saw it, so no event came and the parent waited
/// for minutes.
#[tokio::test(start_paused = true)]
async fn p11_a_child_deleted_before_its_event_is_expected_until_the_cache_caught_up() {
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/other"));
    let parts = stage.informer(&plane);
    parts.synced().await.unwrap();
    let expects = Expectations::new(PATIENCE, 10);
    plane.always(Fault::Event(OnEvent::Silent));
    expects.expect_creation(&"a", &key("n/x")).unwrap();
    let made = plane.put(part("n/x"));
    expects.wrote(&"a", &made, &parts);
    expects.expect_deletion(&"a", &key("n/x"), made.uid.as_ref().unwrap()).unwrap();
    let gone = plane.delete(&key("n/x")).unwrap();
    let look = Some(Duration::from_secs(1));
    assert_eq!(expects.pending(&"a"), look, "nobody tells that the cache is past it");
    expects.wrote(&"a", &gone, &parts);
    expects.expect_creation(&"b", &key("n/y")).unwrap();
    assert_eq!(expects.pending(&"b"), Some(PATIENCE), "its answer was lost");

    plane.clear_faults();
    plane.end_watches();
    parts.wait_for(&gone, PATIENCE).await.unwrap();
    assert_eq!(expects.pending(&"a"), None);
    assert_eq!(expects.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn p11_the_number_of_children_of_a_parent_is_bounded() {
    let expects = Expectations::new(PATIENCE, 10).children(2);
    expects.expect_creation(&1, &key("n/x")).unwrap();
    expects.expect_deletion(&1, &key("n/y"), &Uid::new("1").unwrap()).unwrap();
    let full = ExpectationsFull::Children { limit: 2 };
    assert_eq!(expects.expect_creation(&1, &key("n/z")), Err(full));
    assert!(
        expects.expect_creation(&1, &key("n/x")).is_ok() && expects.expect_creation(&2, &key("n/z")).is_ok()
    );
    expects.observed(&1, &added(with_uid("n/x", "1")));
    expects.expect_creation(&1, &key("n/z")).unwrap();
    assert_eq!(
        Expectations::new(PATIENCE, 10).children(0).expect_creation(&1, &key("n/x")),
        Err(ExpectationsFull::Children { limit: 0 })
    );
}
