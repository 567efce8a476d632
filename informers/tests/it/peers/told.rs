//! What handlers hear.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_informers::deliver::Told;
use machinery_informers::testing::{Fault, OnEvent, OnList, Plane, Thing};
use machinery_objects::{Capabilities, Event, Filter, Mark, Revision, WatchError};
use tokio::time::{Instant, sleep};

use super::of;
use crate::support::{Heard, LISTS, Rig, key, seconds, settled, told, too_many, virtually};

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

/// I18: a subscriber of kube-rs that looked for an object when it had gone by then was not woken any more, and its full queue stalled
/// the watch of all (kubernetes#137314: in client-go it grows).
#[test]
fn a_slow_handler_hears_what_came_after_what_went_and_keeps_nobody() {
    virtually(async {
        let rig = Rig::synced(of(&[], Capabilities::ALL)).await;
        let slow = Heard::default();
        let mut hears = slow.hears();
        let mut events = rig.informer.events().unwrap();
        let hearing = rig.tasks.spawn(async move {
            while let Some(told) = events.next().await {
                let Told::Event(_, event) = told else { continue };
                hears(event);
                sleep(seconds(60)).await;
            }
        });
        settled().await;
        rig.plane.put(Thing::new("foo"));
        rig.plane.delete(&key("foo"));
        for number in 0..30 {
            rig.plane.put(Thing::new(&format!("thing-{number}")));
        }
        settled().await;
        assert_eq!(rig.informer.read().len(), 30, "nobody waits for the slow one");
        assert_eq!(rig.informer.state().lag.due, 29);
        rig.pass(seconds(60 * 31)).await;
        assert_eq!(slow.take().len(), 30);
        assert_eq!(rig.informer.state().lag.due, 0);
        rig.stop().await;
        hearing.await.unwrap();
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
