//! The limit of objects of keyed informers, under all keys together.

use std::time::Duration;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{Interest, ReflectorError, ReflectorLimits, WaitError};
use machinery_objects::Capabilities;
use tokio::time::sleep;

use crate::interests::KeyedFixture;
use crate::support::{key, seconds, settled, virtually};

fn full_of(objects: usize, edit_keys: usize, per_key: bool) -> KeyedFixture {
    let mut limits = ReflectorLimits::default();
    (limits.objects, limits.edit_keys) = (objects, edit_keys);
    let rig = KeyedFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
        let builder = builder.limits(limits);
        if per_key { builder.per_key() } else { builder }
    });
    rig.run();
    rig
}

async fn pass(rig: &KeyedFixture, time: Duration) {
    for _ in 0..time.as_secs() / 30 {
        sleep(seconds(30)).await;
        rig.fake.bookmark();
    }
    settled().await;
}

fn has(rig: &KeyedFixture) -> String {
    let read = rig.informers.read();
    let each = |(place, _, thing): (&String, _, &std::sync::Arc<TestObject>)| {
        format!("{}@{place}@{}", thing.key.name(), thing.text)
    };
    let mut has: Vec<_> = read.iter().map(each).collect();
    has.sort_unstable();
    has.join(" ")
}

async fn two(rig: &KeyedFixture) -> [Interest<String, TestObject>; 2] {
    let held = ["p1", "p2"].map(|place| rig.informers.acquire(place.into()).unwrap());
    for interest in &held {
        interest.synced().await.unwrap();
    }
    held
}

#[test]
fn full_keyed_informers_keep_their_state_until_all_fits() {
    for per_key in [false, true] {
        for drops in [false, true] {
            virtually(async {
                let rig = full_of(3, 9, per_key);
                let [first, second] = two(&rig).await;
                // Deletions free capacity; changes and moves need none.
                rig.put("a", "p1", "one");
                rig.put("b", "p1", "one");
                rig.put("c", "p2", "one");
                settled().await;
                rig.fake.delete(&key("default/a"));
                settled().await;
                rig.put("d", "p2", "one");
                rig.put("b", "p1", "two");
                settled().await;
                rig.put("c", "p1", "two");
                settled().await;
                assert_eq!(has(&rig), "b@p1@two c@p1@two d@p2@one");
                assert_eq!(rig.informers.state().trouble, None);
                rig.log.take();
                // One object too many, and the changes after it.
                rig.put("e", "p1", "one");
                let written = rig.fake.put(TestObject::new("default/b").at("p1").with_text("three"));
                settled().await;
                assert_eq!(has(&rig), "b@p1@two c@p1@two d@p2@one", "by a stream each: {per_key}");
                assert_eq!(rig.informers.state().trouble, Some(ReflectorError::Full { limit: 3 }));
                let reached = rig.informers.wait_for(&written, seconds(1)).await;
                assert_eq!(reached, Err(WaitError::Behind { key: key("default/b") }));
                let calls = rig.fake.calls();
                pass(&rig, seconds(600)).await;
                let again = rig.fake.calls();
                assert!((again.lists + again.watches) - (calls.lists + calls.watches) < 60, "{again:?}");
                assert_eq!((has(&rig).as_str(), rig.log.take()), ("b@p1@two c@p1@two d@p2@one", vec![]));
                assert!(rig.informers.state().trouble.is_some());
                if drops {
                    drop(second);
                } else {
                    rig.fake.delete(&key("default/d"));
                }
                pass(&rig, seconds(120)).await;
                assert_eq!(has(&rig), "b@p1@three c@p1@two e@p1@one");
                assert_eq!(rig.informers.state().trouble, None);
                rig.informers.wait_for(&written, Duration::ZERO).await.unwrap();
                let mut log = rig.log.take();
                log.sort_unstable();
                // The other stream has received the deletion; the one stream for all keys was
                // relisted.
                let went = match (drops, per_key) {
                    (true, _) => "left default/d@one",
                    (false, true) => "deleted default/d@one",
                    (false, false) => "vanished default/d@one",
                };
                let mut expected = vec!["added default/e@one", "updated default/b@three", went];
                expected.sort_unstable();
                assert_eq!(log, expected);
                drop(first);
                rig.stop().await;
            });
        }
    }
}

#[test]
fn a_key_beyond_the_limit_never_becomes_complete() {
    for (per_key, edit_keys) in [(false, 9), (false, 1), (true, 9)] {
        virtually(async {
            let rig = full_of(3, edit_keys, per_key);
            for (name, place) in [("a", "p1"), ("b", "p2"), ("x", "p3"), ("y", "p3")] {
                rig.put(name, place, "one");
            }
            let held = two(&rig).await;
            let third = rig.informers.acquire("p3".into()).unwrap();
            for _ in 0..5 {
                pass(&rig, seconds(90)).await;
                let state = rig.informers.state();
                assert!(!third.is_synced() && state.names <= 3 && state.trouble.is_some(), "{state:?}");
                assert!(held.iter().all(Interest::is_synced));
                assert_eq!(rig.informers.read().count(&"p1".to_owned()), 1);
            }
            rig.fake.delete(&key("default/x"));
            pass(&rig, seconds(120)).await;
            assert!(third.is_synced());
            assert_eq!(has(&rig), "a@p1@one b@p2@one y@p3@one");
            assert_eq!(rig.informers.state().trouble, None);
            drop((held, third));
            rig.stop().await;
        });
    }
}

#[test]
fn a_burst_does_not_overfill_keyed_informers() {
    for per_key in [false, true] {
        virtually(async {
            let rig = full_of(3, 9, per_key);
            let held = two(&rig).await;
            (0..500)
                .for_each(|number| rig.put(&format!("o{number}"), &format!("p{}", 1 + number % 2), "one"));
            settled().await;
            assert_eq!(rig.informers.read().len(), 3);
            assert_eq!(rig.informers.state().trouble, Some(ReflectorError::Full { limit: 3 }));
            drop(held);
            rig.stop().await;
        });
    }
}
