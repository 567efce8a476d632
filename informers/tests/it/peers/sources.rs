//! Known misbehaviour of sources.

use machinery_informers::ReflectorError;
use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, TestObject};
use machinery_objects::{Capabilities, ListError, Revision, WatchError};
use tokio::time::sleep;

use super::of;
use crate::support::{
    EventLog, InformerFixture, LISTS, key, seconds, settled, too_many, unavailable, virtually,
};

/// I8: a list of any number of pages is applied atomically, and later changes are not part of it.
#[test]
fn a_list_is_applied_atomically() {
    virtually(async {
        let fake = of(&["a", "b", "c", "d", "e"], LISTS);
        fake.once(Fault::Page(OnList::Fails(too_many(20).into())));
        let rig = InformerFixture::with(fake, |_| {});
        let log = EventLog::default();
        let _handler = rig.informer.add_handler(log.recorder()).unwrap();
        rig.pass(seconds(10)).await;
        assert_eq!((rig.has().as_str(), rig.informer.is_synced()), ("", false));
        rig.fake.put(TestObject::new("f"));
        rig.pass(seconds(15)).await;
        assert_eq!(rig.has(), "a@ b@ c@ d@ e@ f@");
        let mut log = log.take();
        assert_eq!(log.pop().unwrap(), "added f@");
        assert!(log.iter().all(|what| what.starts_with("there ")) && log.len() == 5, "{log:?}");
        rig.stop().await;
    });
}

/// I9: an expired list is retried at once, and then unpaged.
#[test]
fn a_list_that_keeps_expiring_is_finally_unpaged() {
    virtually(async {
        let fake = of(&["a", "b", "c", "d", "e"], LISTS);
        fake.always(Fault::Page(OnList::Fails(ListError::Expired { rest: None })));
        let rig = InformerFixture::with(fake, |_| {});
        rig.pass(seconds(30)).await;
        assert_eq!(rig.has(), "a@ b@ c@ d@ e@");
        let calls = rig.fake.calls();
        assert_eq!((calls.lists, calls.pages), (3, 2));
        rig.stop().await;
    });
}

/// I9: a watch that expires, by its response or an event, causes a relist at once, without a hot
/// loop.
#[test]
fn an_expired_watch_relists_without_a_hot_loop() {
    let expired = || WatchError::Expired;
    let ways = [Fault::Watch(OnWatch::Fails(expired())), Fault::Event(OnEvent::Fails(expired()))];
    for way in ways {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a"], LISTS)).await;
            rig.fake.put(TestObject::new("b"));
            settled().await;
            rig.fake.always(way.clone());
            rig.fake.end_watches();
            for round in 0..60 {
                rig.fake.put(TestObject::new("b").with_text(&round.to_string()));
                rig.pass(seconds(10)).await;
            }
            let calls = rig.fake.calls();
            assert!(calls.lists > 5 && calls.lists < 100, "{calls:?}");
            // Lists alone keep it up to date meanwhile.
            assert!(rig.has().starts_with("a@ b@"));
            rig.fake.clear_faults();
            rig.pass(seconds(40)).await;
            assert_eq!(rig.has(), "a@ b@59");
            rig.stop().await;
        });
    }
}

/// I9: a source that has not reached a version is waited for.
#[test]
fn a_replica_that_is_behind_is_rejected() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a", "b", "c"], can)).await;
            let log = EventLog::default();
            let _handler = rig.informer.add_handler(log.recorder()).unwrap();
            settled().await;
            log.take();
            rig.fake.always(Fault::Watch(OnWatch::Behind(2)));
            rig.fake.always(Fault::List(OnList::Behind(2)));
            rig.fake.end_watches();
            rig.informer.relist();
            rig.pass(seconds(100)).await;
            assert_eq!(rig.has(), "a@ b@ c@");
            assert!(matches!(rig.informer.state().trouble, Some(ReflectorError::Behind { .. })));
            rig.fake.clear_faults();
            rig.pass(seconds(60)).await;
            assert_eq!((log.take(), rig.informer.state().trouble), (Vec::new(), None));
            rig.stop().await;
        });
    }
}

/// I10: a streamed state is unordered, so it cannot be resumed.
#[test]
fn a_broken_state_stream_restarts() {
    virtually(async {
        let fake = of(&["a", "b", "c"], Capabilities::ALL);
        fake.once(Fault::Event(OnEvent::Twice));
        fake.once(Fault::Event(OnEvent::Ends));
        let rig = InformerFixture::with(fake, |_| {});
        settled().await;
        assert_eq!((rig.informer.state().version, rig.has().as_str()), (None, ""));
        rig.pass(seconds(5)).await;
        assert_eq!(rig.informer.state().version, Some(Revision(3).into()));
        assert_eq!(rig.has(), "a@ b@ c@");
        rig.stop().await;
    });
}

/// I11 (`TestNoRelistOnTooManyRequests`): a busy or unavailable server is resumed, not relisted.
#[test]
fn a_busy_server_is_not_relisted() {
    for error in [too_many(45), unavailable()] {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a"], LISTS)).await;
            let calls = rig.fake.calls();
            rig.fake.once(Fault::Watch(OnWatch::Fails(error.clone().into())));
            rig.fake.end_watches();
            sleep(seconds(44)).await;
            let waits = u64::from(error.retry_after().is_some());
            assert_eq!(rig.fake.calls().watches, calls.watches + 2 - waits);
            rig.fake.put(TestObject::new("b"));
            sleep(seconds(20)).await;
            assert_eq!(rig.has(), "a@ b@");
            assert_eq!((rig.fake.calls().lists, rig.informer.state().trouble), (calls.lists, None));
            rig.stop().await;
        });
    }
}

/// I11: a server or proxy that ends each watch at once causes no hot loop.
#[test]
fn watches_that_end_at_once_cause_no_hot_loop() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a"], LISTS)).await;
        rig.fake.always(Fault::Watch(OnWatch::EndsAtOnce));
        rig.fake.end_watches();
        rig.pass(seconds(600)).await;
        let calls = rig.fake.calls();
        assert!(calls.watches < 60 && calls.lists == 1, "{calls:?}");
        assert_eq!(rig.informer.state().trouble, Some(ReflectorError::Short));
        rig.fake.clear_faults();
        rig.pass(seconds(40)).await;
        assert_eq!(rig.informer.state().trouble, None);
        rig.stop().await;
    });
}

/// client-go relies on TCP to detect dead connections: a silent watch hangs there.
#[test]
fn a_silent_watch_is_restarted_without_loss() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a"], Capabilities::ALL)).await;
        rig.fake.once(Fault::Event(OnEvent::Silent));
        rig.fake.put(TestObject::new("b"));
        rig.fake.delete(&key("a"));
        rig.pass(seconds(140)).await;
        assert_eq!(rig.has(), "a@");
        rig.pass(seconds(20)).await;
        assert_eq!((rig.has().as_str(), rig.fake.calls().lists), ("b@", 0));
        rig.stop().await;
    });
}

/// I12, kubernetes#120984: if streaming the state fails, it is listed, whatever the source claims.
#[test]
fn a_source_with_a_broken_state_stream_is_listed() {
    let unsupported = || machinery_objects::SourceError::Unsupported { what: "state" };
    for fault in [
        OnWatch::NoEnd,
        OnWatch::Fails(unsupported().into()),
        OnWatch::Fails(unavailable().into()),
        OnWatch::EndsAtOnce,
        OnWatch::NoAnswer,
    ] {
        virtually(async {
            let fake = of(&["a", "b", "c"], Capabilities::ALL);
            // Faults of streaming the state only.
            (0..2).for_each(|_| fake.once(Fault::Watch(fault.clone())));
            let rig = InformerFixture::with(fake, |_| {});
            rig.pass(seconds(180)).await;
            assert_eq!((rig.has().as_str(), rig.fake.calls().lists), ("a@ b@ c@", 1), "{fault:?}");
            rig.fake.clear_faults();
            rig.fake.put(TestObject::new("d"));
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

/// I12: a streamed state is collected beside the cache, and replaces it atomically.
#[test]
fn cached_objects_stay_until_the_state_is_complete() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a", "b"], Capabilities::ALL)).await;
        rig.fake.once(Fault::Watch(OnWatch::NoEnd));
        rig.fake.end_watches();
        rig.fake.delete(&key("a"));
        rig.fake.put(TestObject::new("c"));
        rig.fake.compact();
        rig.informer.relist();
        settled().await;
        assert_eq!(rig.has(), "a@ b@");
        rig.pass(seconds(120)).await;
        assert_eq!(rig.has(), "b@ c@");
        rig.stop().await;
    });
}

/// I9 (`TestReflectorFullListIfTooLarge`): after the restore of a backup the version never comes.
#[test]
fn a_restored_source_is_eventually_accepted() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a", "b", "c", "d"], can)).await;
            rig.fake.restore(2);
            rig.pass(seconds(200)).await;
            assert_eq!(rig.has(), "a@ b@ c@ d@", "it may be a replica that is behind");
            rig.fake.put(TestObject::new("e"));
            rig.pass(seconds(200)).await;
            assert_eq!(rig.has(), "a@ b@ e@");
            rig.fake.put(TestObject::new("e").with_text("more"));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@ b@ e@more", None));
            rig.stop().await;
        });
    }
}
