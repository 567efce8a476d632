//! Reading what one wrote.

use std::time::Duration;

use machinery_informers::NotReached;
use machinery_informers::testing::{Fault, OnEvent, OnList, Plane, Thing};
use machinery_objects::{Capabilities, Filter, SourceError, WriteToken, Wrote};
use tokio::time::Instant;

use crate::support::{Rig, key, seconds, settled, virtually};

const PATIENCE: Duration = Duration::from_secs(5);

const UNORDERED: Capabilities = {
    let mut can = Capabilities::ALL;
    can.versions_are_ordered = false;
    can
};

fn only_web() -> Filter {
    Filter { labels: "app=web".parse().unwrap(), ..Filter::default() }
}

fn web(key: &str) -> Thing {
    Thing::new(key).labeled("app", "web")
}

/// One that has only what is labeled so.
async fn of_web(can: Capabilities) -> Rig {
    let rig = Rig::with(Plane::of_things(can), |builder| {
        builder.filter(only_web());
    });
    rig.informer.synced().await.unwrap();
    rig
}

/// What comes of waiting, and for how long that took.
async fn waited(rig: &Rig, token: &WriteToken) -> (Result<(), NotReached>, Duration) {
    let began = Instant::now();
    let reached = rig.informer.reached(token, PATIENCE).await;
    (reached, began.elapsed())
}

async fn at_once(rig: &Rig, token: &WriteToken) {
    assert_eq!(waited(rig, token).await, (Ok(()), Duration::ZERO));
}

#[test]
fn a_write_is_reached_when_the_cache_shows_it() {
    for can in [Capabilities::ALL, UNORDERED, Capabilities::LEAST] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.plane.put(web("a").says("one"))).await;
            assert_eq!(rig.has(), "a@one");
            at_once(&rig, &rig.plane.put(web("a").says("two"))).await;
            assert_eq!(rig.has(), "a@two");
            let deleted = rig.plane.delete(&key("a")).unwrap();
            settled().await;
            at_once(&rig, &deleted).await;
            assert_eq!(rig.has(), "");
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_that_does_not_come_is_not_reached() {
    for can in [Capabilities::ALL, UNORDERED] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.plane.put(web("a"))).await;
            rig.plane.once(Fault::Event(OnEvent::Silent));
            let token = rig.plane.put(web("a").says("two"));
            let behind = NotReached::Behind { key: key("a") };
            assert_eq!(waited(&rig, &token).await, (Err(behind.clone()), PATIENCE));
            let token = rig.plane.delete(&key("a")).unwrap();
            assert_eq!(waited(&rig, &token).await, (Err(behind), PATIENCE));
            // Once the dead watch is found out it comes.
            rig.pass(seconds(200)).await;
            at_once(&rig, &token).await;
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_that_makes_an_object_leave_is_reached() {
    for (can, time) in [(Capabilities::ALL, Duration::ZERO), (UNORDERED, PATIENCE)] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.plane.put(web("a"))).await;
            let token = rig.plane.put(Thing::new("a"));
            assert_eq!(waited(&rig, &token).await, (Ok(()), time));
            assert_eq!(rig.has(), "");
            rig.stop().await;
        });
    }
}

#[test]
fn a_write_of_what_is_not_selected_is_reached_by_a_bookmark_or_by_asking() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        let token = rig.plane.put(Thing::new("a"));
        let lists = rig.plane.asked().lists;
        assert_eq!(waited(&rig, &token).await, (Ok(()), PATIENCE));
        assert_eq!(rig.plane.asked().lists, lists + 1);
        let token = rig.plane.put(Thing::new("a").says("two"));
        rig.plane.bookmark();
        at_once(&rig, &token).await;
        rig.stop().await;
        // Where there are no bookmarks it is asked for in the end.
        let rig = of_web(Capabilities::LEAST).await;
        let token = rig.plane.put(Thing::new("a"));
        rig.plane.bookmark();
        assert_eq!(waited(&rig, &token).await, (Ok(()), PATIENCE));
        rig.stop().await;
    });
}

#[test]
fn a_write_that_another_replaced_is_reached() {
    for (can, time) in [(Capabilities::ALL, Duration::ZERO), (UNORDERED, PATIENCE)] {
        virtually(async {
            let rig = of_web(can).await;
            let token = rig.plane.put(web("a").says("one"));
            rig.plane.put(web("a").says("two"));
            assert_eq!(waited(&rig, &token).await, (Ok(()), time));
            assert_eq!(rig.has(), "a@two");
            rig.stop().await;
        });
    }
}

#[test]
fn a_delete_is_reached_also_where_the_name_is_taken_again() {
    for can in [Capabilities::ALL, UNORDERED] {
        virtually(async {
            let rig = of_web(can).await;
            at_once(&rig, &rig.plane.put(web("a").says("one"))).await;
            let mut token = rig.plane.delete(&key("a")).unwrap();
            rig.plane.put(web("a").says("another"));
            at_once(&rig, &token).await;
            assert_eq!(rig.has(), "a@another");
            // Also where the source does not say at which version it went.
            token.wrote = Wrote::Removed(None);
            at_once(&rig, &token).await;
            rig.stop().await;
        });
    }
}

#[test]
fn an_object_that_came_and_went_is_reached() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        let created = rig.plane.put(web("a"));
        rig.plane.delete(&key("a")).unwrap();
        at_once(&rig, &created).await;
        rig.stop().await;
    });
}

#[test]
fn who_waits_for_a_stopped_informer_is_told_so() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        rig.plane.once(Fault::Event(OnEvent::Silent));
        let token = rig.plane.put(web("a"));
        let informer = rig.informer.clone();
        let (reached, ()) = tokio::join!(informer.reached(&token, PATIENCE), rig.stop());
        assert_eq!(reached, Err(NotReached::Closed));
    });
}

#[test]
fn a_source_that_cannot_be_asked_is_not_waited_for_for_ever() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        rig.plane.once(Fault::Event(OnEvent::Silent));
        rig.plane.once(Fault::List(OnList::NoAnswer));
        let token = rig.plane.put(web("a"));
        let unknown = NotReached::Unknown { key: key("a"), error: SourceError::TimedOut };
        assert_eq!(waited(&rig, &token).await, (Err(unknown), PATIENCE + seconds(60)));
        rig.stop().await;
    });
}

/// A cache of a source that goes back shows what never was, until it believes that. A write of the new time that has a smaller version than what is
/// shown is not in it.
#[test]
fn of_a_source_that_shows_less_nothing_is_reached_by_its_version() {
    virtually(async {
        let rig = of_web(Capabilities::ALL).await;
        for text in ["1", "2", "3", "4", "5"] {
            rig.plane.put(web("a").says(text));
        }
        settled().await;
        rig.plane.restore(3);
        settled().await;
        let new = rig.plane.put(web("b").says("new"));
        assert!(rig.informer.state().trouble.is_some(), "it has heard of less");
        let (reached, _) = waited(&rig, &new).await;
        assert_eq!((reached, &*rig.has()), (Err(NotReached::Behind { key: key("b") }), "a@5"));
        tokio::time::sleep(seconds(600)).await;
        at_once(&rig, &new).await;
        assert_eq!(rig.has(), "a@2 b@new");
        at_once(&rig, &rig.plane.put(web("b").says("newer"))).await;
    });
}
