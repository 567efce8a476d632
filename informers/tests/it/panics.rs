//! What a program brings with it may panic: its objects, and what it makes of them. It costs that object, and no other.

use std::sync::Arc;

use machinery_informers::testing::{Plane, Thing};
use machinery_informers::{Builder, Informer};
use machinery_objects::{Capabilities, Labels, Object, ObjectKey, ResourceVersion};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{LISTS, key, seconds, settled, virtually};

/// A thing that panics where it says so.
struct Odd(Thing);

impl Object for Odd {
    fn key(&self) -> ObjectKey {
        assert!(&*self.0.text != "key", "this one does not know its name");
        self.0.key()
    }
    fn version(&self) -> Option<ResourceVersion> {
        assert!(&*self.0.text != "version", "this one does not know its version");
        self.0.version()
    }
    fn labels(&self) -> Labels {
        self.0.labels()
    }
}

/// Panics of some things, too.
fn projection(plane: &Plane<Thing>) -> Builder<Odd> {
    Informer::projection(Arc::new(plane.clone()), |thing: Thing| {
        assert!(&*thing.text != "projection", "this one is not to be");
        Odd(thing)
    })
}

/// `b` says this from some time on: what the cache has of it when that is told and when it is listed, and under which name it
/// is known to be odd. `a` and `c` are as ever.
fn odd(what: &str, told: Option<&str>, listed: Option<&str>, known_as: &str) {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let plane = Plane::of_things(can);
            ["a", "b", "c"].iter().for_each(|name| drop(plane.put(Thing::new(name).says("one"))));
            let mut builder = projection(&plane);
            builder.audit(seconds(20));
            let informer = builder.build();
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            tasks.spawn(informer.run(stopping.clone()));
            let heard = Arc::new(Mutex::new(Vec::new()));
            let hears = heard.clone();
            let _handler = informer.handle(move |event| hears.lock().push(event.object().0.key.to_string()));
            informer.synced().await.unwrap();
            let text = |name| informer.get(&key(name)).map(|odd| odd.0.text.to_string());
            let is_odd = |of_b: Option<&str>, times: u64| {
                assert_eq!(text("b").as_deref(), of_b, "{what}");
                let state = informer.state();
                let names: Vec<_> = state.unreadable.iter().map(|odd| odd.key.to_string()).collect();
                assert_eq!(
                    (names.as_slice(), state.trouble),
                    ([known_as.to_owned()].as_slice(), None),
                    "{what}"
                );
                assert_eq!(state.counts.unreadable, times, "{what}");
            };
            // By an event: what it was is kept.
            plane.put(Thing::new("b").says(what));
            plane.put(Thing::new("c").says("two"));
            settled().await;
            assert_eq!(text("c").unwrap(), "two");
            is_odd(told, 1);
            // By a list, where it can be known to be that object.
            informer.renew();
            settled().await;
            plane.put(Thing::new("c").says("three"));
            settled().await;
            assert_eq!((text("a").unwrap(), text("c").unwrap()), ("one".into(), "three".into()));
            is_odd(listed, 2);
            // Nor is it any drift.
            tokio::time::sleep(seconds(60)).await;
            assert_eq!(informer.state().counts.drifts, 0, "{what}");
            // It goes, and comes back well.
            plane.delete(&key("b"));
            plane.put(Thing::new("b").says("four"));
            settled().await;
            assert_eq!((text("b").unwrap(), informer.state().unreadable.len()), ("four".into(), 0), "{what}");
            assert!(heard.lock().len() > 4);
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
    }
}

#[test]
fn an_object_that_panics_when_it_is_asked_for_its_version_is_kept_as_it_was() {
    odd("version", Some("one"), Some("one"), "b");
}

#[test]
fn an_object_on_which_the_projection_panics_is_kept_as_it_was() {
    odd("projection", Some("one"), Some("one"), "b");
}

/// Nobody knows which one it is: for a list it is not there.
#[test]
fn an_object_that_panics_when_it_is_asked_for_its_name_ends_nothing() {
    odd("key", Some("one"), None, "(unnamed)");
}
