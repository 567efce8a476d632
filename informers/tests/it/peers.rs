//! What informers elsewhere got wrong once, or promise: a test each. `I…` is the semantics of client-go's `tools/cache`.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinery_informers::deliver::Told;
use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, Plane, Thing};
use machinery_informers::{Informer, Trouble};
use machinery_objects::{Capabilities, Event, Filter, ListError, Mark, ObjectKey, Revision, WatchError};
use tokio::time::{Instant, sleep};

use crate::support::{Heard, LISTS, Rig, key, seconds, settled, told, too_many, unavailable, virtually};

fn of(names: &[&str], can: Capabilities) -> Plane<Thing> {
    let plane = Plane::of_things(can);
    names.iter().for_each(|name| drop(plane.put(Thing::new(name))));
    plane
}

/// I2: a source that has nothing is synced with at once.
#[test]
fn who_begins_with_nothing_is_synced() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = Rig::with(of(&[], can), |_| {});
            let handler = rig.informer.handle(|_| {}).unwrap();
            let began = Instant::now();
            rig.informer.synced().await.unwrap();
            handler.synced().await.unwrap();
            assert!(began.elapsed() < seconds(1));
            rig.stop().await;
        });
    }
}

/// I2: synced is who has handled what was there, and not who has it in a queue.
#[test]
fn a_handler_is_synced_when_it_has_handled_the_beginning() {
    virtually(async {
        let rig = Rig::synced(of(&["a", "b", "c"], Capabilities::ALL)).await;
        let mut events = rig.informer.events().unwrap();
        for name in ["a", "b", "c"] {
            assert!(!events.is_synced());
            let Some(Told::Event(_, event)) = events.next().await else { panic!("it was to be told") };
            assert_eq!(told(&event), format!("there {name}@"));
        }
        assert!(!events.is_synced());
        assert_eq!(events.next().await, Some(Told::Mark(Mark::Synced)));
        assert!(events.is_synced());
        rig.stop().await;
    });
}

/// I2: what is deleted while the beginning is still on its way does not keep anybody from being synced.
#[test]
fn what_goes_before_the_beginning_is_over_was_never_there() {
    virtually(async {
        let plane = of(&["a", "b", "c"], LISTS);
        plane.once(Fault::Page(OnList::Fails(too_many(30).into())));
        let rig = Rig::with(plane, |_| {});
        let heard = Heard::default();
        let handler = rig.informer.handle(heard.hears()).unwrap();
        settled().await;
        rig.plane.delete(&key("a"));
        rig.plane.compact(); // so that the rest of the list is another
        handler.synced().await.unwrap();
        assert_eq!(heard.take(), ["there b@", "there c@"]);
        rig.stop().await;
    });
}

/// I3, kube#1630: who comes late is told what is there and then what happens, without a gap and nothing twice.
#[test]
fn a_late_handler_begins_with_what_is_there() {
    virtually(async {
        let rig = Rig::synced(of(&["a", "b"], Capabilities::ALL)).await;
        rig.plane.put(Thing::new("a").says("two"));
        settled().await;
        let heard = Heard::default();
        rig.plane.put(Thing::new("b").says("two")); // on its way while the handler comes
        let handler = rig.informer.handle(heard.hears()).unwrap();
        rig.plane.put(Thing::new("c"));
        settled().await;
        assert!(handler.is_synced());
        let heard = heard.take();
        let first: BTreeSet<_> = heard[..2].iter().map(String::as_str).collect();
        assert!(first.contains("there a@two"), "{heard:?}");
        // It is told `b` as it was and then as it is, or as it is.
        let rest: Vec<_> = heard.iter().filter(|what| what.contains(" b@")).map(String::as_str).collect();
        assert!(rest == ["there b@", "updated b@two"] || rest == ["there b@two"], "{heard:?}");
        assert_eq!(heard.last().unwrap(), "added c@");
        rig.stop().await;
    });
}

/// I5: when all is listed anew, what has vanished is told before what has come, with its last state.
#[test]
fn what_has_vanished_is_told_before_what_has_come() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let rig = Rig::synced(of(&["a", "c", "d"], can)).await;
            let (one, other) = (Heard::default(), Heard::default());
            let handlers = [&one, &other].map(|heard| rig.informer.handle(heard.hears()).unwrap());
            settled().await;
            one.take();
            other.take();
            rig.plane.always(Fault::Event(OnEvent::Fails(WatchError::Expired)));
            rig.plane.put(Thing::new("b"));
            rig.plane.put(Thing::new("c").says("two"));
            rig.plane.delete(&key("d"));
            rig.plane.delete(&key("a"));
            rig.plane.behave();
            rig.plane.compact();
            rig.pass(seconds(60)).await;
            // kube-rs replaces its store, and tells nobody of what has gone (I18).
            for heard in [one.take(), other.take()] {
                let (gone, came) = heard.split_at(2);
                assert_eq!(
                    BTreeSet::from_iter(gone),
                    BTreeSet::from_iter(&["vanished a@".to_owned(), "vanished d@".into()])
                );
                assert_eq!(came, ["added b@", "updated c@two"]);
            }
            drop(handlers);
            rig.stop().await;
        });
    }
}

/// I5, kubernetes#115658: an object that was only in a handler's queue when it vanished was never told to be gone.
#[test]
fn what_vanishes_before_a_slow_handler_heard_of_it_is_not_left_with_it() {
    virtually(async {
        let rig = Rig::synced(of(&["a"], Capabilities::ALL)).await;
        let mut slow = rig.informer.events().unwrap();
        rig.plane.put(Thing::new("b"));
        settled().await;
        assert_eq!(rig.has(), "a@ b@");
        rig.plane.end_watches();
        rig.plane.delete(&key("b"));
        rig.plane.delete(&key("a"));
        rig.plane.compact();
        rig.pass(seconds(60)).await;
        assert_eq!(rig.has(), "");
        let mut there = BTreeSet::new();
        while let Ok(Some(next)) = tokio::time::timeout(seconds(1), slow.next()).await {
            let Told::Event(key, event) = next else { continue };
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

/// I6: of the end of what was never there nothing is told.
#[test]
fn the_end_of_what_nobody_knew_is_not_told() {
    virtually(async {
        let rig = Rig::synced(of(&[], Capabilities::ALL)).await;
        let heard = Heard::default();
        let _handler = rig.informer.handle(heard.hears()).unwrap();
        rig.plane.once(Fault::Event(OnEvent::Lost));
        rig.plane.put(Thing::new("a"));
        settled().await;
        rig.plane.delete(&key("a"));
        settled().await;
        assert_eq!(heard.take(), Vec::<String>::new());
        rig.stop().await;
    });
}

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

/// I13: a bookmark is told in its place between what happened, and is how far the cache is.
#[test]
fn a_bookmark_is_told_after_what_came_before_it() {
    virtually(async {
        let rig = Rig::synced(of(&[], Capabilities::ALL)).await;
        let mut events = rig.informer.events().unwrap();
        assert_eq!(events.next().await, Some(Told::Mark(Mark::Synced)));
        let filtered = rig.plane.put(Thing::new("a"));
        settled().await;
        rig.plane.bookmark();
        settled().await;
        assert!(matches!(events.next().await, Some(Told::Event(key, _)) if key == filtered.key));
        assert_eq!(events.next().await, Some(Told::Mark(Mark::Progress(Revision(1).into()))));
        assert_eq!(rig.informer.state().version, Some(Revision(1).into()));
        rig.stop().await;
    });
}

/// I14: what is kept of an object is made once for each time that it comes, before anybody sees it.
#[test]
fn a_projection_is_made_once_of_what_comes() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let plane = of(&["a", "b", "c"], can);
            let made = Arc::new(AtomicUsize::new(0));
            let makes = made.clone();
            let builder = Informer::projection(Arc::new(plane.clone()), move |thing: Thing| {
                makes.fetch_add(1, Ordering::Relaxed);
                thing.says("kept")
            });
            let informer = builder.build();
            let heard = Heard::default();
            let _handler = informer.handle(heard.hears()).unwrap();
            let stopping = tokio_util::sync::CancellationToken::new();
            let tasks = tokio_util::task::TaskTracker::new();
            tasks.spawn(informer.run(stopping.clone()));
            informer.synced().await.unwrap();
            plane.put(Thing::new("a").says("more"));
            settled().await;
            assert_eq!(made.load(Ordering::Relaxed), 4);
            assert!(heard.take().iter().all(|what| what.ends_with("@kept")));
            assert!(informer.read().iter().all(|(_, thing)| &*thing.text == "kept"));
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
    }
}

/// I15, kubernetes#84959: an object is found under each of its values once, and a value goes with its last object.
#[test]
fn an_index_has_each_value_once_and_none_that_nothing_has() {
    virtually(async {
        let mut by_word = None;
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), |builder| {
            let words = |thing: &Thing| thing.text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            by_word = Some(builder.index(words));
        });
        let by_word = by_word.unwrap();
        let values = || {
            let read = rig.informer.read();
            let all: (Bound<&str>, Bound<&str>) = (Bound::Unbounded, Bound::Unbounded);
            let values = read.values::<String, str>(&by_word, all);
            values.map(|(value, count)| format!("{value}:{count}")).collect::<Vec<_>>().join(" ")
        };
        rig.plane.put(Thing::new("a").says("x y x"));
        rig.plane.put(Thing::new("b").says("y z"));
        settled().await;
        assert_eq!(values(), "x:1 y:2 z:1");
        rig.plane.put(Thing::new("a").says("z"));
        settled().await;
        assert_eq!(values(), "y:1 z:2");
        rig.plane.delete(&key("a"));
        rig.plane.delete(&key("b"));
        settled().await;
        assert_eq!(values(), "");
        // By place, by label, by the beginning of the key: one moment for all.
        rig.plane.put(Thing::new("n/a").at("here"));
        rig.plane.put(Thing::new("n/b").at("there"));
        settled().await;
        let read = rig.informer.read();
        assert_eq!(read.by(&rig.by_place, "here").count(), 1);
        rig.plane.delete(&key("n/a"));
        settled().await;
        assert_eq!((read.by(&rig.by_place, "here").count(), read.len()), (1, 2));
        assert_eq!(rig.informer.read().count(&rig.by_place, "here"), 0);
        rig.stop().await;
    });
}

/// Peers panic under the lock of the store, and poison it.
#[test]
fn an_index_that_panics_finds_that_object_under_nothing() {
    virtually(async {
        let mut by_text = None;
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), |builder| {
            by_text = Some(builder.index(|thing: &Thing| {
                assert!(&*thing.text != "bad", "this one is bad");
                [thing.text.clone()]
            }));
        });
        let by_text = by_text.unwrap();
        rig.plane.put(Thing::new("a").says("good"));
        rig.plane.put(Thing::new("b").says("good"));
        settled().await;
        rig.plane.put(Thing::new("b").says("bad"));
        rig.plane.put(Thing::new("c").says("good"));
        settled().await;
        assert_eq!(rig.has(), "a@good b@bad c@good");
        assert_eq!(rig.informer.read().count(&by_text, "good"), 2);
        assert_eq!(rig.informer.read().count(&by_text, "bad"), 0);
        assert!(rig.informer.state().counts.index_panics > 0);
        rig.plane.put(Thing::new("b").says("good"));
        settled().await;
        assert_eq!(rig.informer.read().count(&by_text, "good"), 3);
        rig.stop().await;
    });
}

/// kubernetes#130767: a reader that took its time kept the writer out.
#[test]
fn a_reader_that_reads_for_long_keeps_nobody_out() {
    virtually(async {
        let rig = Rig::synced(of(&["a", "b", "c"], Capabilities::ALL)).await;
        let before = rig.informer.read();
        let mut reading = before.iter();
        assert_eq!(reading.next().unwrap().0, &key("a"));
        for round in 0..100 {
            let token = rig.plane.put(Thing::new("b").says(&round.to_string()));
            rig.informer.reached(&token, seconds(1)).await.unwrap();
        }
        rig.plane.delete(&key("c"));
        settled().await;
        assert_eq!(rig.has(), "a@ b@99");
        let rest: Vec<_> = reading.map(|(key, thing)| format!("{key}@{}", thing.text)).collect();
        assert_eq!(rest, ["b@", "c@"]);
        rig.stop().await;
    });
}

#[test]
fn what_has_not_changed_stays_where_it_is_when_all_is_listed_anew() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = Rig::synced(of(&["a", "b", "c"], can)).await;
            let heard = Heard::default();
            let _handler = rig.informer.handle(heard.hears()).unwrap();
            settled().await;
            heard.take();
            let before = rig.informer.read();
            rig.plane.end_watches();
            rig.plane.put(Thing::new("b").says("two"));
            rig.plane.compact();
            rig.informer.renew();
            rig.pass(seconds(60)).await;
            let after = rig.informer.read();
            for (name, same) in [("a", true), ("b", false), ("c", true)] {
                let [before, after] = [&before, &after].map(|read| read.get(&key(name)).unwrap());
                assert_eq!(Arc::ptr_eq(before, after), same, "{name}");
            }
            assert_eq!(heard.take(), ["updated b@two"]);
            drop((before, after));
            rig.stop().await;
        });
    }
}

#[test]
fn an_object_without_a_name_is_reported_and_hides_no_other() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let nameless = || Thing { key: ObjectKey::unnamed(), ..Thing::new("it-had-one") };
            let plane = of(&["a", "b"], can);
            plane.put(nameless());
            let rig = Rig::synced(plane).await;
            assert_eq!(rig.has(), "a@ b@");
            assert_eq!(rig.informer.state().unreadable.len(), 1);
            rig.plane.put(nameless().says("more"));
            rig.plane.put(Thing::new("c"));
            rig.plane.delete(&ObjectKey::unnamed());
            settled().await;
            assert_eq!(rig.has(), "a@ b@ c@");
            assert_eq!(rig.informer.state().unreadable, []);
            rig.stop().await;
        });
    }
}

#[test]
fn an_object_that_cannot_be_read_is_kept_as_it_was_until_it_can() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let plane = of(&["a", "b"], can);
            plane.put_unreadable(Thing::new("new"));
            let rig = Rig::synced(plane).await;
            let heard = Heard::default();
            let _handler = rig.informer.handle(heard.hears()).unwrap();
            settled().await;
            assert_eq!(heard.take().len(), 2);
            let unreadable = || {
                let unreadable = rig.informer.state().unreadable;
                unreadable.iter().map(|unreadable| unreadable.key.to_string()).collect::<Vec<_>>().join(" ")
            };
            rig.plane.put_unreadable(Thing::new("a").says("odd"));
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@ b@", "a new"));
            // All of it anew does not change that.
            rig.informer.renew();
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@ b@", "a new"));
            rig.plane.put(Thing::new("a").says("even"));
            rig.plane.delete(&key("new"));
            rig.plane.put_unreadable(Thing::new("b").says("odd"));
            settled().await;
            rig.plane.delete(&key("b"));
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@even", ""));
            assert_eq!(heard.take(), ["updated a@even", "vanished b@"]);
            assert_eq!(rig.informer.state().trouble, None);
            rig.stop().await;
        });
    }
}

/// Filters elsewhere tell who leaves as deleted, and handlers destroy what is there.
#[test]
fn who_leaves_the_selection_is_told_apart_from_who_is_deleted() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), |builder| {
            builder.filter(Filter { labels: "app=web".parse().unwrap(), ..Filter::default() });
        });
        let heard = Heard::default();
        let _handler = rig.informer.handle(heard.hears()).unwrap();
        let web = |name| Thing::new(name).labeled("app", "web");
        rig.plane.put(web("a"));
        rig.plane.put(web("b"));
        settled().await;
        rig.plane.put(Thing::new("a").says("elsewhere"));
        rig.plane.delete(&key("b"));
        settled().await;
        rig.plane.delete(&key("a"));
        settled().await;
        let heard = heard.take();
        assert_eq!(heard[2..], ["left a@", "deleted b@"]);
        assert_eq!(rig.plane.asked().told, 4, "nothing was told of what is not selected");
        rig.stop().await;
    });
}

/// calico#12793 and many others: a tombstone was taken for an object. Here a deletion has a type, and the last state.
#[test]
fn a_deletion_has_the_last_state_however_it_was_found_out() {
    virtually(async {
        let rig = Rig::synced(of(&["a", "b"], Capabilities::ALL)).await;
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let _handler = rig.informer.handle(move |event| tell.send(event).unwrap()).unwrap();
        settled().await;
        rig.plane.delete(&key("a"));
        settled().await;
        rig.plane.end_watches();
        rig.plane.delete(&key("b"));
        rig.plane.compact();
        rig.pass(seconds(30)).await;
        let mut deleted = Vec::new();
        while let Ok(event) = told.try_recv() {
            if let Event::Deleted { last, final_state_known } = event {
                deleted.push((last.key.to_string(), final_state_known, !last.uid.is_empty()));
            }
        }
        assert_eq!(deleted, [("a".into(), true, true), ("b".into(), false, true)]);
        rig.stop().await;
    });
}

/// I1: an object that is deleted and made again while a handler is busy is one change for it, and shows another UID.
#[test]
fn who_is_made_again_meanwhile_is_another() {
    virtually(async {
        let rig = Rig::synced(of(&["a"], Capabilities::ALL)).await;
        let mut slow = rig.informer.events().unwrap();
        slow.next().await;
        rig.plane.delete(&key("a"));
        rig.plane.put(Thing::new("a").says("new"));
        settled().await;
        assert_eq!(slow.next().await, Some(Told::Mark(Mark::Synced)));
        let Some(Told::Event(_, event)) = slow.next().await else { panic!("it was to be told") };
        assert_eq!(told(&event), "another a@new");
        rig.stop().await;
    });
}

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

/// I19 (`TestHammerController`): many write at once, on many threads, while the source misbehaves: all end with the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_a_hammering_all_have_the_same() {
    let plane = Plane::of_things(LISTS);
    let rig = Rig::with(plane.clone(), |_| {});
    let seen: Vec<_> = (0..3).map(|_| Arc::new(machinery_sync::Mutex::new(BTreeSet::new()))).collect();
    let handlers: Vec<_> = seen
        .iter()
        .map(|seen| {
            let seen = seen.clone();
            let hear = move |event: Event<Arc<Thing>>| {
                let key = event.object().key.clone();
                if event.is_present() {
                    seen.lock().insert(key)
                } else {
                    seen.lock().remove(&key)
                };
            };
            rig.informer.handle(hear).unwrap()
        })
        .collect();
    let writers: Vec<_> = (0..4_usize)
        .map(|writer| {
            let plane = plane.clone();
            rig.tasks.spawn(async move {
                for round in 0..2_000_usize {
                    let name = format!("thing-{}", (round * 31 + writer * 7) % 50);
                    match (round + writer) % 3 {
                        0 => drop(plane.delete(&key(&name))),
                        _ => drop(plane.put(Thing::new(&name).says(&round.to_string()))),
                    }
                    match round % 200 {
                        50 => plane.once(Fault::Event(OnEvent::Ends)),
                        100 => plane.once(Fault::Event(OnEvent::Twice)),
                        150 => plane.compact(),
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
    plane.behave();
    let last = plane.put(Thing::new("last"));
    rig.informer.reached(&last, seconds(60)).await.unwrap();
    let there: BTreeSet<_> = plane.state().into_keys().collect();
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
