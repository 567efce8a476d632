//! An informer takes no more than it may.

use std::time::Duration;

use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, Plane, Thing};
use machinery_informers::{Builder, Limits, Trouble};
use machinery_objects::Capabilities;

use crate::support::{Heard, LISTS, Rig, key, seconds, settled, unavailable, virtually};

fn three(builder: &mut Builder<Thing>) {
    let mut limits = Limits::default();
    limits.objects = 3;
    builder.limits(limits);
}

#[test]
fn a_cache_that_is_full_stays_as_it_was_until_all_fits_again() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = Rig::with(Plane::of_things(can), three);
            rig.informer.synced().await.unwrap();
            let heard = Heard::default();
            let _handler = rig.informer.handle(heard.hears()).unwrap();
            // What goes makes room, and what changes needs none.
            for name in ["a", "b", "c"] {
                rig.plane.put(Thing::new(name));
            }
            settled().await;
            rig.plane.delete(&key("a"));
            rig.plane.put(Thing::new("d"));
            rig.plane.put(Thing::new("b").says("two"));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("b@two c@ d@", None));
            let full_at = rig.plane.version(rig.plane.revision());
            heard.take();
            // One too many, and all that came with it.
            rig.plane.put(Thing::new("e"));
            rig.plane.put(Thing::new("b").says("three"));
            settled().await;
            let state = rig.informer.state();
            assert_eq!(rig.has(), "b@two c@ d@");
            assert_eq!((state.trouble, state.version), (Some(Trouble::Full { limit: 3 }), Some(full_at)));
            let asked = rig.plane.asked();
            rig.pass(seconds(600)).await;
            let again = rig.plane.asked();
            assert!((again.lists + again.watches) - (asked.lists + asked.watches) < 60, "{again:?}");
            assert_eq!((rig.has().as_str(), heard.take()), ("b@two c@ d@", vec![]));
            assert!(rig.informer.state().trouble.is_some());
            rig.plane.delete(&key("c"));
            rig.pass(seconds(60)).await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("b@three d@ e@", None));
            let mut heard = heard.take();
            heard[1..].sort();
            assert_eq!(heard, ["vanished c@", "added e@", "updated b@three"]);
            rig.stop().await;
        });
    }
}

/// A burst, taken together: not one of it is kept beyond the limit.
#[test]
fn what_comes_at_once_does_not_overfill_a_cache() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), three);
        rig.informer.synced().await.unwrap();
        (0..1000).for_each(|number| drop(rig.plane.put(Thing::new(&format!("thing-{number}")))));
        settled().await;
        assert_eq!(rig.informer.read().len(), 3);
        assert_eq!(rig.informer.state().trouble, Some(Trouble::Full { limit: 3 }));
        rig.stop().await;
    });
}

/// Whoever asks for all anew, again and again, does not do so for the source.
#[test]
fn a_source_that_refuses_is_not_asked_sooner_by_who_wants_all_anew() {
    virtually(async {
        let plane = Plane::of_things(LISTS);
        let rig = Rig::synced(plane).await;
        rig.plane.always(Fault::List(OnList::Fails(unavailable().into())));
        rig.informer.renew();
        settled().await;
        for _ in 0..1000 {
            rig.informer.renew();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let asked = rig.plane.asked();
        assert!(asked.lists < 20, "{asked:?}");
        rig.stop().await;
    });
}

#[test]
fn a_time_without_an_end_is_one() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = Rig::with(Plane::of_things(can), |builder| {
                let mut limits = Limits::default();
                limits.list_time = Duration::MAX;
                limits.answer_time = Duration::MAX;
                limits.watch_time = Duration::MAX;
                limits.silence = Duration::MAX;
                limits.stale_time = Duration::MAX;
                builder.limits(limits).audit(Duration::from_secs(5));
            });
            rig.informer.synced().await.unwrap();
            rig.plane.once(Fault::Watch(OnWatch::Fails(unavailable().into())));
            rig.plane.end_watches();
            rig.plane.put(Thing::new("a"));
            rig.pass(seconds(60)).await;
            rig.plane.once(Fault::Event(OnEvent::Lost));
            let token = rig.plane.put(Thing::new("b"));
            let _ = rig.informer.reached(&token, Duration::from_secs(1)).await;
            rig.pass(seconds(60)).await;
            assert_eq!(rig.has(), "a@ b@");
            rig.stop().await;
        });
    }
}
