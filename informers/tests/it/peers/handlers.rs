//! Known defects of event handlers elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_informers::deliver::Delivery;
use machinery_informers::testing::{FakeSource, Fault, OnEvent, OnList, TestObject};
use machinery_objects::{Bookmark, Capabilities, Event, Filter, Revision, WatchError};
use tokio::time::{Instant, sleep};

use super::of;
use crate::support::{
    EventLog, InformerFixture, LISTS, event_text, key, seconds, settled, too_many, virtually,
};

/// I2: an empty source syncs at once.
#[test]
fn an_empty_source_syncs() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = InformerFixture::with(of(&[], can), |_| {});
            let handler = rig.informer.add_handler(|_| {}).unwrap();
            let began = Instant::now();
            rig.informer.synced().await.unwrap();
            handler.synced().await.unwrap();
            assert!(began.elapsed() < seconds(1));
            rig.stop().await;
        });
    }
}

/// I2: a handler is synced once it has handled the initial objects, not once they are queued.
#[test]
fn a_handler_is_synced_after_handling_the_initial_list() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a", "b", "c"], Capabilities::ALL)).await;
        let mut events = rig.informer.events().unwrap();
        for name in ["a", "b", "c"] {
            assert!(!events.is_synced());
            let Some(Delivery::Event(_, event)) = events.next().await else {
                panic!("it was to be delivered")
            };
            assert_eq!(event_text(&event), format!("there {name}@"));
        }
        assert!(!events.is_synced());
        assert_eq!(events.next().await, Some(Delivery::Mark(Bookmark::Synced)));
        assert!(events.is_synced());
        rig.stop().await;
    });
}

/// I2: an object deleted during the initial list prevents no sync.
#[test]
fn objects_deleted_during_the_initial_list_are_never_delivered() {
    virtually(async {
        let fake = of(&["a", "b", "c"], LISTS);
        fake.once(Fault::Page(OnList::Fails(too_many(30).into())));
        let rig = InformerFixture::with(fake, |_| {});
        let log = EventLog::default();
        let handler = rig.informer.add_handler(log.recorder()).unwrap();
        settled().await;
        rig.fake.delete(&key("a"));
        rig.fake.compact(); // so that the rest of the list has another version
        handler.synced().await.unwrap();
        assert_eq!(log.take(), ["there b@", "there c@"]);
        rig.stop().await;
    });
}

/// I3, kube#1630: a late handler receives the cached objects and then all changes, without gap or
/// repetition.
#[test]
fn a_late_handler_starts_with_the_cached_objects() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a", "b"], Capabilities::ALL)).await;
        rig.fake.put(TestObject::new("a").with_text("two"));
        settled().await;
        let log = EventLog::default();
        rig.fake.put(TestObject::new("b").with_text("two")); // in flight while the handler is added
        let handler = rig.informer.add_handler(log.recorder()).unwrap();
        rig.fake.put(TestObject::new("c"));
        settled().await;
        assert!(handler.is_synced());
        let log = log.take();
        let first: BTreeSet<_> = log[..2].iter().map(String::as_str).collect();
        assert!(first.contains("there a@two"), "{log:?}");
        // The handler receives `b` before and after the change, or only after it.
        let rest: Vec<_> = log.iter().filter(|what| what.contains(" b@")).map(String::as_str).collect();
        assert!(rest == ["there b@", "updated b@two"] || rest == ["there b@two"], "{log:?}");
        assert_eq!(log.last().unwrap(), "added c@");
        rig.stop().await;
    });
}

/// I5: a relist delivers vanished objects before new ones, with their last state.
#[test]
fn a_relist_delivers_deletions_before_additions() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a", "c", "d"], can)).await;
            let (one, other) = (EventLog::default(), EventLog::default());
            let handlers = [&one, &other].map(|log| rig.informer.add_handler(log.recorder()).unwrap());
            settled().await;
            one.take();
            other.take();
            rig.fake.always(Fault::Event(OnEvent::Fails(WatchError::Expired)));
            rig.fake.put(TestObject::new("b"));
            rig.fake.put(TestObject::new("c").with_text("two"));
            rig.fake.delete(&key("d"));
            rig.fake.delete(&key("a"));
            rig.fake.clear_faults();
            rig.fake.compact();
            rig.pass(seconds(60)).await;
            // kube-rs replaces its store without notification of vanished objects (I18).
            for log in [one.take(), other.take()] {
                let (gone, arrived) = log.split_at(2);
                assert_eq!(
                    BTreeSet::from_iter(gone),
                    BTreeSet::from_iter(&["vanished a@".to_owned(), "vanished d@".into()])
                );
                assert_eq!(arrived, ["added b@", "updated c@two"]);
            }
            drop(handlers);
            rig.stop().await;
        });
    }
}

/// I5, kubernetes#115658: the deletion of an object that was only in a handler's queue was never
/// delivered.
#[test]
fn an_object_deleted_before_a_slow_handler_saw_it_is_never_delivered() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a"], Capabilities::ALL)).await;
        let mut slow = rig.informer.events().unwrap();
        rig.fake.put(TestObject::new("b"));
        settled().await;
        assert_eq!(rig.has(), "a@ b@");
        rig.fake.end_watches();
        rig.fake.delete(&key("b"));
        rig.fake.delete(&key("a"));
        rig.fake.compact();
        rig.pass(seconds(60)).await;
        assert_eq!(rig.has(), "");
        let mut there = BTreeSet::new();
        while let Ok(Some(next)) = tokio::time::timeout(seconds(1), slow.next()).await {
            let Delivery::Event(key, event) = next else { continue };
            if event.is_present() {
                there.insert(key)
            } else {
                there.remove(&key)
            };
        }
        assert_eq!(there, BTreeSet::new());
        rig.stop().await;
    });
}

/// I18: a subscriber of kube-rs that looked up a deleted object was not woken again, and its full
/// queue stalled the watch of all (kubernetes#137314: in client-go the queue grows).
#[test]
fn a_slow_handler_receives_later_events_and_blocks_no_other() {
    virtually(async {
        let rig = InformerFixture::synced(of(&[], Capabilities::ALL)).await;
        let slow = EventLog::default();
        let mut recorder = slow.recorder();
        let mut events = rig.informer.events().unwrap();
        let hearing = rig.tasks.spawn(async move {
            while let Some(delivered) = events.next().await {
                let Delivery::Event(_, event) = delivered else { continue };
                recorder(event);
                sleep(seconds(60)).await;
            }
        });
        settled().await;
        rig.fake.put(TestObject::new("foo"));
        rig.fake.delete(&key("foo"));
        for number in 0..30 {
            rig.fake.put(TestObject::new(&format!("thing-{number}")));
        }
        settled().await;
        assert_eq!(rig.informer.read().len(), 30, "the slow handler blocks no other");
        assert_eq!(rig.informer.state().lag.due, 29);
        rig.pass(seconds(60 * 31)).await;
        assert_eq!(slow.take().len(), 30);
        assert_eq!(rig.informer.state().lag.due, 0);
        rig.stop().await;
        hearing.await.unwrap();
    });
}

/// I6: the deletion of an unknown object is not delivered.
#[test]
fn the_deletion_of_an_unknown_object_is_not_delivered() {
    virtually(async {
        let rig = InformerFixture::synced(of(&[], Capabilities::ALL)).await;
        let log = EventLog::default();
        let _handler = rig.informer.add_handler(log.recorder()).unwrap();
        rig.fake.once(Fault::Event(OnEvent::Lost));
        rig.fake.put(TestObject::new("a"));
        settled().await;
        rig.fake.delete(&key("a"));
        settled().await;
        assert_eq!(log.take(), Vec::<String>::new());
        rig.stop().await;
    });
}

/// I13: a bookmark is delivered in order, and advances the version of the cache.
#[test]
fn a_bookmark_is_delivered_after_earlier_events() {
    virtually(async {
        let rig = InformerFixture::synced(of(&[], Capabilities::ALL)).await;
        let mut events = rig.informer.events().unwrap();
        assert_eq!(events.next().await, Some(Delivery::Mark(Bookmark::Synced)));
        let filtered = rig.fake.put(TestObject::new("a"));
        settled().await;
        rig.fake.bookmark();
        settled().await;
        assert!(matches!(events.next().await, Some(Delivery::Event(key, _)) if key == filtered.key));
        assert_eq!(events.next().await, Some(Delivery::Mark(Bookmark::Progress(Revision(1).into()))));
        assert_eq!(rig.informer.state().version, Some(Revision(1).into()));
        rig.stop().await;
    });
}

/// Elsewhere leaving a filter looks like a deletion, and handlers destroy existing resources.
#[test]
fn leaving_the_filter_differs_from_deletion() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            builder.filter(Filter { labels: "app=web".parse().unwrap(), ..Filter::default() });
        });
        let log = EventLog::default();
        let _handler = rig.informer.add_handler(log.recorder()).unwrap();
        let web = |name| TestObject::new(name).labeled("app", "web");
        rig.fake.put(web("a"));
        rig.fake.put(web("b"));
        settled().await;
        rig.fake.put(TestObject::new("a").with_text("elsewhere"));
        rig.fake.delete(&key("b"));
        settled().await;
        rig.fake.delete(&key("a"));
        settled().await;
        let log = log.take();
        assert_eq!(log[2..], ["left a@", "deleted b@"]);
        assert_eq!(rig.fake.calls().events, 4, "objects outside the filter were not delivered");
        rig.stop().await;
    });
}

/// calico#12793 and many others: a tombstone was taken for an object. Here a deletion has a type of
/// its own, and the last state.
#[test]
fn a_deletion_carries_the_last_known_state() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a", "b"], Capabilities::ALL)).await;
        let (sender, mut delivered) = tokio::sync::mpsc::unbounded_channel();
        let _handler = rig.informer.add_handler(move |event| sender.send(event).unwrap()).unwrap();
        settled().await;
        rig.fake.delete(&key("a"));
        settled().await;
        rig.fake.end_watches();
        rig.fake.delete(&key("b"));
        rig.fake.compact();
        rig.pass(seconds(30)).await;
        let mut deleted = Vec::new();
        while let Ok(event) = delivered.try_recv() {
            if let Event::Deleted { last, final_state_known } = event {
                deleted.push((last.key.to_string(), final_state_known, !last.uid.is_empty()));
            }
        }
        assert_eq!(deleted, [("a".into(), true, true), ("b".into(), false, true)]);
        rig.stop().await;
    });
}

/// I1: an object that is deleted and created again while a handler is busy is one change with
/// another UID.
#[test]
fn a_recreated_object_has_another_uid() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a"], Capabilities::ALL)).await;
        let mut slow = rig.informer.events().unwrap();
        slow.next().await;
        rig.fake.delete(&key("a"));
        rig.fake.put(TestObject::new("a").with_text("new"));
        settled().await;
        assert_eq!(slow.next().await, Some(Delivery::Mark(Bookmark::Synced)));
        let Some(Delivery::Event(_, event)) = slow.next().await else { panic!("it was to be delivered") };
        assert_eq!(event_text(&event), "another a@new");
        rig.stop().await;
    });
}

/// I19 (`TestHammerController`): concurrent writers on many threads and a faulty source: all
/// converge.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_and_faults_converge() {
    let fake = FakeSource::of_test_objects(LISTS);
    let rig = InformerFixture::with(fake.clone(), |_| {});
    let seen: Vec<_> = (0..3).map(|_| Arc::new(machinery_sync::Mutex::new(BTreeSet::new()))).collect();
    let handlers: Vec<_> = seen
        .iter()
        .map(|seen| {
            let seen = seen.clone();
            let record = move |event: Event<Arc<TestObject>>| {
                let key = event.object().key.clone();
                if event.is_present() {
                    seen.lock().insert(key)
                } else {
                    seen.lock().remove(&key)
                };
            };
            rig.informer.add_handler(record).unwrap()
        })
        .collect();
    let writers: Vec<_> = (0..4_usize)
        .map(|writer| {
            let fake = fake.clone();
            rig.tasks.spawn(async move {
                for round in 0..2_000_usize {
                    let name = format!("thing-{}", (round * 31 + writer * 7) % 50);
                    match (round + writer) % 3 {
                        0 => drop(fake.delete(&key(&name))),
                        _ => drop(fake.put(TestObject::new(&name).with_text(&round.to_string()))),
                    }
                    match round % 200 {
                        50 => fake.once(Fault::Event(OnEvent::Ends)),
                        100 => fake.once(Fault::Event(OnEvent::Twice)),
                        150 => fake.compact(),
                        _ => {}
                    }
                    if round % 50 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    fake.clear_faults();
    let last = fake.put(TestObject::new("last"));
    rig.informer.wait_for(&last, seconds(60)).await.unwrap();
    let there: BTreeSet<_> = fake.state().into_keys().collect();
    assert_eq!(rig.informer.read().iter().map(|(key, _)| key.clone()).collect::<BTreeSet<_>>(), there);
    let until = Instant::now() + seconds(60);
    for (handler, seen) in handlers.iter().zip(&seen) {
        while *seen.lock() != there {
            assert!(Instant::now() < until, "a handler never had the same");
            tokio::task::yield_now().await;
        }
        assert_eq!(handler.lag().panics, 0);
    }
    rig.stop().await;
}
