//! Read your writes.

use std::time::Duration;

use machinery_informers::WaitError;
use machinery_informers::testing::{FakeSource, Fault, OnEvent, OnList, TestObject};
use machinery_objects::{Capabilities, Filter, SourceError, WriteOutcome, WriteToken};
use tokio::time::Instant;

use crate::support::{InformerFixture, key, seconds, settled, virtually};

const PATIENCE: Duration = Duration::from_secs(5);

const UNORDERED: Capabilities = {
    let mut can = Capabilities::ALL;
    can.versions_are_ordered = false;
    can
};

fn only_web() -> Filter {
    Filter { labels: "app=web".parse().unwrap(), ..Filter::default() }
}

fn web(key: &str) -> TestObject {
    TestObject::new(key).labeled("app", "web")
}

/// Returns an informer that selects objects by a label.
async fn of_web(can: Capabilities) -> InformerFixture {
    let rig = InformerFixture::with(FakeSource::of_test_objects(can), |builder| {
        builder.filter(only_web());
    });
    rig.informer.synced().await.unwrap();
    rig
}

/// Returns the result of a wait, and its duration.
async fn waited(rig: &InformerFixture, token: &WriteToken) -> (Result<(), WaitError>, Duration) {
    let began = Instant::now();
    let reached = rig.informer.wait_for(token, PATIENCE).await;
    (reached, began.elapsed())
}

async fn at_once(rig: &InformerFixture, token: &WriteToken) {
    assert_eq!(waited(rig, token).await, (Ok(()), Duration::ZERO));
}

#[test]
fn wait_for_returns_once_the_cache_shows_the_write() {
    for can in [Capabilities::ALL, UNORDERED, Capabilities::LEAST] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.fake.put(web("a").with_text("one"))).await;
            assert_eq!(rig.has(), "a@one");
            at_once(&rig, &rig.fake.put(web("a").with_text("two"))).await;
            assert_eq!(rig.has(), "a@two");
            let deleted = rig.fake.delete(&key("a")).unwrap();
            settled().await;
            at_once(&rig, &deleted).await;
            assert_eq!(rig.has(), "");
            rig.stop().await;
        });
    }
}

#[test]
fn wait_for_times_out_on_a_missing_write() {
    for can in [Capabilities::ALL, UNORDERED] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.fake.put(web("a"))).await;
            rig.fake.once(Fault::Event(OnEvent::Silent));
            let token = rig.fake.put(web("a").with_text("two"));
            let behind = WaitError::Behind { key: key("a") };
            assert_eq!(waited(&rig, &token).await, (Err(behind.clone()), PATIENCE));
            let token = rig.fake.delete(&key("a")).unwrap();
            assert_eq!(waited(&rig, &token).await, (Err(behind), PATIENCE));
            // It arrives once the dead watch is noticed.
            rig.pass(seconds(200)).await;
            at_once(&rig, &token).await;
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_that_leaves_the_filter_is_reached() {
    for (can, time) in [(Capabilities::ALL, Duration::ZERO), (UNORDERED, PATIENCE)] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.fake.put(web("a"))).await;
            let token = rig.fake.put(TestObject::new("a"));
            assert_eq!(waited(&rig, &token).await, (Ok(()), time));
            assert_eq!(rig.has(), "");
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_outside_the_filter_is_reached_by_a_bookmark_or_a_live_read() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        let token = rig.fake.put(TestObject::new("a"));
        let lists = rig.fake.calls().lists;
        assert_eq!(waited(&rig, &token).await, (Ok(()), PATIENCE));
        assert_eq!(rig.fake.calls().lists, lists + 1);
        let token = rig.fake.put(TestObject::new("a").with_text("two"));
        rig.fake.bookmark();
        at_once(&rig, &token).await;
        rig.stop().await;
        // Without bookmarks the source is read in the end.
        let rig = of_web(Capabilities::LEAST).await;
        let token = rig.fake.put(TestObject::new("a"));
        rig.fake.bookmark();
        assert_eq!(waited(&rig, &token).await, (Ok(()), PATIENCE));
        rig.stop().await;
    });
}

#[test]
fn an_overwritten_write_is_reached() {
    for (can, time) in [(Capabilities::ALL, Duration::ZERO), (UNORDERED, PATIENCE)] {
        virtually(async {
            let rig = of_web(can).await;
            let token = rig.fake.put(web("a").with_text("one"));
            rig.fake.put(web("a").with_text("two"));
            assert_eq!(waited(&rig, &token).await, (Ok(()), time));
            assert_eq!(rig.has(), "a@two");
            rig.stop().await;
        });
    }
}

#[test]
fn a_delete_is_reached_after_the_name_is_reused() {
    for can in [Capabilities::ALL, UNORDERED] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.fake.put(web("a").with_text("one"))).await;
            let mut token = rig.fake.delete(&key("a")).unwrap();
            rig.fake.put(web("a").with_text("another"));
            at_once(&rig, &token).await;
            assert_eq!(rig.has(), "a@another");
            // Also if the source does not return the version of the deletion.
            token.wrote = WriteOutcome::Removed(None);
            at_once(&rig, &token).await;
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_of_an_object_deleted_since_is_reached() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        let created = rig.fake.put(web("a"));
        rig.fake.delete(&key("a")).unwrap();
        at_once(&rig, &created).await;
        rig.stop().await;
    });
}

#[test]
fn wait_for_fails_when_the_informer_stops() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        rig.fake.once(Fault::Event(OnEvent::Silent));
        let token = rig.fake.put(web("a"));
        let informer = rig.informer.clone();
        let (reached, ()) = tokio::join!(informer.wait_for(&token, PATIENCE), rig.stop());
        assert_eq!(reached, Err(WaitError::Closed));
    });
}

#[test]
fn an_unreachable_source_does_not_block_wait_for() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        rig.fake.once(Fault::Event(OnEvent::Silent));
        rig.fake.once(Fault::List(OnList::NoAnswer));
        let token = rig.fake.put(web("a"));
        let unknown = WaitError::Unknown { key: key("a"), error: SourceError::TimedOut };
        assert_eq!(waited(&rig, &token).await, (Err(unknown), PATIENCE + seconds(60)));
        rig.stop().await;
    });
}

/// Until a restore is accepted, the cache shows objects of a lost history. A later write with a
/// smaller version is not among them.
#[test]
fn a_source_that_is_behind_confirms_no_write_by_version() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        for text in ["1", "2", "3", "4", "5"] {
            rig.fake.put(web("a").with_text(text));
        }
        settled().await;
        rig.fake.restore(3);
        settled().await;
        let new = rig.fake.put(web("b").with_text("new"));
        assert!(rig.informer.state().trouble.is_some(), "it is behind");
        let (reached, _) = waited(&rig, &new).await;
        assert_eq!((reached, &*rig.has()), (Err(WaitError::Behind { key: key("b") }), "a@5"));
        tokio::time::sleep(seconds(600)).await;
        at_once(&rig, &new).await;
        assert_eq!(rig.has(), "a@2 b@new");
        at_once(&rig, &rig.fake.put(web("b").with_text("newer"))).await;
    });
}
