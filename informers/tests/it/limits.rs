//! The limits of an informer.

use std::time::Duration;

use machinery_informers::testing::{FakeSource, Fault, OnEvent, OnList, OnWatch, TestObject};
use machinery_informers::{Builder, ReflectorError, ReflectorLimits};
use machinery_objects::Capabilities;

use crate::support::{EventLog, InformerFixture, LISTS, key, seconds, settled, unavailable, virtually};

fn three(builder: &mut Builder<TestObject>) {
    let mut limits = ReflectorLimits::default();
    limits.objects = 3;
    builder.limits(limits);
}

#[test]
fn a_full_cache_keeps_its_state_until_all_fits() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = InformerFixture::with(FakeSource::of_test_objects(can), three);
            rig.informer.synced().await.unwrap();
            let log = EventLog::default();
            let _handler = rig.informer.add_handler(log.recorder()).unwrap();
            // Deletions free capacity; changes need none.
            for name in ["a", "b", "c"] {
                rig.fake.put(TestObject::new(name));
            }
            settled().await;
            rig.fake.delete(&key("a"));
            rig.fake.put(TestObject::new("d"));
            rig.fake.put(TestObject::new("b").with_text("two"));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("b@two c@ d@", None));
            let full_at = rig.fake.version(rig.fake.revision());
            log.take();
            // One object too many, and the rest of its batch.
            rig.fake.put(TestObject::new("e"));
            rig.fake.put(TestObject::new("b").with_text("three"));
            settled().await;
            let state = rig.informer.state();
            assert_eq!(rig.has(), "b@two c@ d@");
            assert_eq!(
                (state.trouble, state.version),
                (Some(ReflectorError::Full { limit: 3 }), Some(full_at))
            );
            let calls = rig.fake.calls();
            rig.pass(seconds(600)).await;
            let again = rig.fake.calls();
            assert!((again.lists + again.watches) - (calls.lists + calls.watches) < 60, "{again:?}");
            assert_eq!((rig.has().as_str(), log.take()), ("b@two c@ d@", vec![]));
            assert!(rig.informer.state().trouble.is_some());
            rig.fake.delete(&key("c"));
            rig.pass(seconds(60)).await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("b@three d@ e@", None));
            let mut log = log.take();
            log[1..].sort();
            assert_eq!(log, ["vanished c@", "added e@", "updated b@three"]);
            rig.stop().await;
        });
    }
}

/// A burst in one batch: none of it exceeds the limit.
#[test]
fn a_burst_does_not_overfill_a_cache() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), three);
        rig.informer.synced().await.unwrap();
        (0..1000).for_each(|number| drop(rig.fake.put(TestObject::new(&format!("thing-{number}")))));
        settled().await;
        assert_eq!(rig.informer.read().len(), 3);
        assert_eq!(rig.informer.state().trouble, Some(ReflectorError::Full { limit: 3 }));
        rig.stop().await;
    });
}

/// Frequent requests for a relist do not become requests to the source.
#[test]
fn requested_relists_do_not_shorten_the_backoff() {
    virtually(async {
        let fake = FakeSource::of_test_objects(LISTS);
        let rig = InformerFixture::synced(fake).await;
        rig.fake.always(Fault::List(OnList::Fails(unavailable().into())));
        rig.informer.relist();
        settled().await;
        for _ in 0..1000 {
            rig.informer.relist();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let calls = rig.fake.calls();
        assert!(calls.lists < 20, "{calls:?}");
        rig.stop().await;
    });
}

#[test]
fn unbounded_limits_are_accepted() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = InformerFixture::with(FakeSource::of_test_objects(can), |builder| {
                let mut limits = ReflectorLimits::default();
                limits.list_time = Duration::MAX;
                limits.answer_time = Duration::MAX;
                limits.watch_time = Duration::MAX;
                limits.silence = Duration::MAX;
                limits.stale_time = Duration::MAX;
                builder.limits(limits).drift_check(Duration::from_secs(5));
            });
            rig.informer.synced().await.unwrap();
            rig.fake.once(Fault::Watch(OnWatch::Fails(unavailable().into())));
            rig.fake.end_watches();
            rig.fake.put(TestObject::new("a"));
            rig.pass(seconds(60)).await;
            rig.fake.once(Fault::Event(OnEvent::Lost));
            let token = rig.fake.put(TestObject::new("b"));
            let _ = rig.informer.wait_for(&token, Duration::from_secs(1)).await;
            rig.pass(seconds(60)).await;
            assert_eq!(rig.has(), "a@ b@");
            rig.stop().await;
        });
    }
}
