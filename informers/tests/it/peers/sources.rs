//! How sources misbehave.

use machinery_informers::Trouble;
use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, Thing};
use machinery_objects::{Capabilities, ListError, Revision, WatchError};
use tokio::time::sleep;

use super::of;
use crate::support::{Heard, LISTS, Rig, key, seconds, settled, too_many, unavailable, virtually};

/// I8: a list is seen whole, however many pages it has, and what comes after it is not part of the beginning.
#[test]
fn a_list_is_seen_whole_or_not_at_all() {
    virtually(async {
        let plane = of(&["a", "b", "c", "d", "e"], LISTS);
        plane.once(Fault::Page(OnList::Fails(too_many(20).into())));
        let rig = Rig::with(plane, |_| {});
        let heard = Heard::default();
        let _handler = rig.informer.handle(heard.hears()).unwrap();
        rig.pass(seconds(10)).await;
        assert_eq!((rig.has().as_str(), rig.informer.is_synced()), ("", false));
        rig.plane.put(Thing::new("f"));
        rig.pass(seconds(15)).await;
        assert_eq!(rig.has(), "a@ b@ c@ d@ e@ f@");
        let mut heard = heard.take();
        assert_eq!(heard.pop().unwrap(), "added f@");
        assert!(heard.iter().all(|what| what.starts_with("there ")) && heard.len() == 5, "{heard:?}");
        rig.stop().await;
    });
}

/// I9: a list that expires on its way is asked for again at once, and then in one page.
#[test]
fn a_list_that_expires_is_asked_for_whole_in_the_end() {
    virtually(async {
        let plane = of(&["a", "b", "c", "d", "e"], LISTS);
        plane.always(Fault::Page(OnList::Fails(ListError::Expired { rest: None })));
        let rig = Rig::with(plane, |_| {});
        rig.pass(seconds(30)).await;
        assert_eq!(rig.has(), "a@ b@ c@ d@ e@");
        let asked = rig.plane.asked();
        assert_eq!((asked.lists, asked.pages), (3, 2));
        rig.stop().await;
    });
}

/// I9: a watch that has expired, told by an answer or by an event, is listed anew; at once, but not in a loop.
#[test]
fn a_watch_that_has_expired_is_listed_anew_without_a_loop() {
    let expired = || WatchError::Expired;
    let ways = [Fault::Watch(OnWatch::Fails(expired())), Fault::Event(OnEvent::Fails(expired()))];
    for way in ways {
        virtually(async {
            let rig = Rig::synced(of(&["a"], LISTS)).await;
            rig.plane.put(Thing::new("b"));
            settled().await;
            rig.plane.always(way.clone());
            rig.plane.end_watches();
            for round in 0..60 {
                rig.plane.put(Thing::new("b").says(&round.to_string()));
                rig.pass(seconds(10)).await;
            }
            let asked = rig.plane.asked();
            assert!(asked.lists > 5 && asked.lists < 100, "{asked:?}");
            // It gets along with lists alone meanwhile.
            assert!(rig.has().starts_with("a@ b@"));
            rig.plane.behave();
            rig.pass(seconds(40)).await;
            assert_eq!(rig.has(), "a@ b@59");
            rig.stop().await;
        });
    }
}

/// I9: a source that has not come to a version yet is waited for.
#[test]
fn a_replica_that_is_behind_is_not_believed() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = Rig::synced(of(&["a", "b", "c"], can)).await;
            let heard = Heard::default();
            let _handler = rig.informer.handle(heard.hears()).unwrap();
            settled().await;
            heard.take();
            rig.plane.always(Fault::Watch(OnWatch::Behind(2)));
            rig.plane.always(Fault::List(OnList::Behind(2)));
            rig.plane.end_watches();
            rig.informer.renew();
            rig.pass(seconds(100)).await;
            assert_eq!(rig.has(), "a@ b@ c@");
            assert!(matches!(rig.informer.state().trouble, Some(Trouble::Behind { .. })));
            rig.plane.behave();
            rig.pass(seconds(60)).await;
            assert_eq!((heard.take(), rig.informer.state().trouble), (Vec::new(), None));
            rig.stop().await;
        });
    }
}

/// I10: the state of a watch comes in no order, so what breaks in it is not gone on from.
#[test]
fn a_state_that_breaks_on_its_way_begins_anew() {
    virtually(async {
        let plane = of(&["a", "b", "c"], Capabilities::ALL);
        plane.once(Fault::Event(OnEvent::Twice));
        plane.once(Fault::Event(OnEvent::Ends));
        let rig = Rig::with(plane, |_| {});
        settled().await;
        assert_eq!((rig.informer.state().version, rig.has().as_str()), (None, ""));
        rig.pass(seconds(5)).await;
        assert_eq!(rig.informer.state().version, Some(Revision(3).into()));
        assert_eq!(rig.has(), "a@ b@ c@");
        rig.stop().await;
    });
}

/// I11 (`TestNoRelistOnTooManyRequests`): a server that is busy, or not there, is asked for the rest and not for all.
#[test]
fn a_busy_server_is_not_listed_again() {
    for error in [too_many(45), unavailable()] {
        virtually(async {
            let rig = Rig::synced(of(&["a"], LISTS)).await;
            let asked = rig.plane.asked();
            rig.plane.once(Fault::Watch(OnWatch::Fails(error.clone().into())));
            rig.plane.end_watches();
            sleep(seconds(44)).await;
            let waits = u64::from(error.retry_after().is_some());
            assert_eq!(rig.plane.asked().watches, asked.watches + 2 - waits);
            rig.plane.put(Thing::new("b"));
            sleep(seconds(20)).await;
            assert_eq!(rig.has(), "a@ b@");
            assert_eq!((rig.plane.asked().lists, rig.informer.state().trouble), (asked.lists, None));
            rig.stop().await;
        });
    }
}

/// I11: a server, or what is before it, that ends each watch at once is not asked in a loop.
#[test]
fn watches_that_end_at_once_are_not_a_loop() {
    virtually(async {
        let rig = Rig::synced(of(&["a"], LISTS)).await;
        rig.plane.always(Fault::Watch(OnWatch::EndsAtOnce));
        rig.plane.end_watches();
        rig.pass(seconds(600)).await;
        let asked = rig.plane.asked();
        assert!(asked.watches < 60 && asked.lists == 1, "{asked:?}");
        assert_eq!(rig.informer.state().trouble, Some(Trouble::Short));
        rig.plane.behave();
        rig.pass(seconds(40)).await;
        assert_eq!(rig.informer.state().trouble, None);
        rig.stop().await;
    });
}

/// client-go trusts TCP to find a dead connection: a watch that is silent for ever is one here.
#[test]
fn a_watch_that_is_silent_is_begun_again_and_nothing_is_lost() {
    virtually(async {
        let rig = Rig::synced(of(&["a"], Capabilities::ALL)).await;
        rig.plane.once(Fault::Event(OnEvent::Silent));
        rig.plane.put(Thing::new("b"));
        rig.plane.delete(&key("a"));
        rig.pass(seconds(140)).await;
        assert_eq!(rig.has(), "a@");
        rig.pass(seconds(20)).await;
        assert_eq!((rig.has().as_str(), rig.plane.asked().lists), ("b@", 0));
        rig.stop().await;
    });
}

/// I12, kubernetes#120984: who cannot have the state from a watch lists, whatever the source says of itself.
#[test]
fn a_source_that_lies_about_the_state_is_listed() {
    let unsupported = || machinery_objects::SourceError::Unsupported { what: "state" };
    for fault in [
        OnWatch::NoEnd,
        OnWatch::Fails(unsupported().into()),
        OnWatch::Fails(unavailable().into()),
        OnWatch::EndsAtOnce,
        OnWatch::NoAnswer,
    ] {
        virtually(async {
            let plane = of(&["a", "b", "c"], Capabilities::ALL);
            // What only the watch of the state gets wrong.
            (0..2).for_each(|_| plane.once(Fault::Watch(fault.clone())));
            let rig = Rig::with(plane, |_| {});
            rig.pass(seconds(180)).await;
            assert_eq!((rig.has().as_str(), rig.plane.asked().lists), ("a@ b@ c@", 1), "{fault:?}");
            rig.plane.behave();
            rig.plane.put(Thing::new("d"));
            rig.pass(seconds(60)).await;
            assert_eq!(
                (rig.has().as_str(), rig.informer.state().trouble),
                ("a@ b@ c@ d@", None),
                "{fault:?}"
            );
            rig.stop().await;
        });
    }
}

/// I12: the state comes beside what is there, and takes its place whole.
#[test]
fn what_is_there_stays_until_the_state_is_whole() {
    virtually(async {
        let rig = Rig::synced(of(&["a", "b"], Capabilities::ALL)).await;
        rig.plane.once(Fault::Watch(OnWatch::NoEnd));
        rig.plane.end_watches();
        rig.plane.delete(&key("a"));
        rig.plane.put(Thing::new("c"));
        rig.plane.compact();
        rig.informer.renew();
        settled().await;
        assert_eq!(rig.has(), "a@ b@");
        rig.pass(seconds(120)).await;
        assert_eq!(rig.has(), "b@ c@");
        rig.stop().await;
    });
}

/// I9 (`TestReflectorFullListIfTooLarge`): the version that is waited for never comes where a backup was restored.
#[test]
fn a_source_that_was_restored_is_believed_in_the_end() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = Rig::synced(of(&["a", "b", "c", "d"], can)).await;
            rig.plane.restore(2);
            rig.pass(seconds(200)).await;
            assert_eq!(rig.has(), "a@ b@ c@ d@", "it may be a replica that is behind");
            rig.plane.put(Thing::new("e"));
            rig.pass(seconds(200)).await;
            assert_eq!(rig.has(), "a@ b@ e@");
            rig.plane.put(Thing::new("e").says("more"));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@ b@ e@more", None));
            rig.stop().await;
        });
    }
}
