//! Loom models of waiters, claims and releases of a name, and of own writes, through the public
//! API.
//!
//! Three threads (main is one of them) at preemption bound 3, at 2 for own writes. One claim each.
#![cfg(machinery_loom)]

use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, Ordering::SeqCst};
use loom::thread;
use machinery_controllers::{ChangedTo, ObjectChange, OwnWrite, Waiters, WriteWindows};
use machinery_informers::InformerId;
use machinery_informers::deliver::{Change, Delivery, DeliveryProgress, Events, Hub, Notification};
use machinery_objects::{Event, ObjectKey, Revision, WriteOutcome, WriteToken};
use machinery_sync::{Mutex, Notify};
use std::sync::Arc;
use std::time::Instant;

fn model(test: impl Fn() + Sync + Send + 'static) {
    bounded_model(3, test);
}

fn bounded_model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(test);
}

/// A taken name and its waiters.
struct ModelName {
    name: ObjectKey,
    waiters: Waiters<u8>,
    is_taken: AtomicBool,
}

impl ModelName {
    fn new(limit: usize) -> Arc<Self> {
        let name = "default/a".parse().expect("it is a key");
        Arc::new(Self { name, waiters: Waiters::new(limit), is_taken: AtomicBool::new(true) })
    }

    /// The reads of a claim; returns whether the name is taken.
    fn read(&self, waiter: u8) -> bool {
        assert!(self.waiters.enqueue(&self.name, &waiter), "the limit is not reached");
        self.is_taken.load(SeqCst)
    }

    /// A release; returns the notified waiters.
    fn release(&self) -> Vec<u8> {
        self.is_taken.store(false, SeqCst);
        self.waiters.notify(&self.name)
    }
}

#[test]
fn a_waiter_that_saw_a_taken_name_is_notified_of_its_release() {
    model(|| {
        let name = ModelName::new(9);
        let read = |waiter| {
            let name = name.clone();
            thread::spawn(move || name.read(waiter))
        };
        let others = [read(1), read(2)];
        let notified = name.release();
        let saw = others.map(|other| other.join().expect("it does not panic"));
        for (waiter, saw) in [1, 2].into_iter().zip(saw) {
            assert!(!saw || notified.contains(&waiter), "{waiter} waits for ever");
        }
        assert!(
            notified.len() <= 2
                && name.waiters.notify(&name.name).iter().all(|waiter| !notified.contains(waiter)),
            "once"
        );
    });
}

#[test]
fn a_claim_racing_a_release_leaves_no_waiter() {
    model(|| {
        let name = ModelName::new(9);
        name.read(1);
        let taking = {
            let name = name.clone();
            thread::spawn(move || name.waiters.remove(&name.name, &1))
        };
        let forgotten = {
            let name = name.clone();
            thread::spawn(move || {
                name.read(2);
                name.waiters.remove_all(&2);
            })
        };
        name.release();
        taking.join().expect("it does not panic");
        forgotten.join().expect("it does not panic");
        assert!(name.waiters.is_empty());
    });
}

#[test]
fn the_last_wait_queue_position_is_given_once() {
    model(|| {
        let name = ModelName::new(1);
        let other = {
            let name = name.clone();
            thread::spawn(move || name.waiters.enqueue(&name.name, &1))
        };
        let mine = name.waiters.enqueue(&name.name, &2);
        let theirs = other.join().expect("it does not panic");
        assert!(mine != theirs);
        assert_eq!(name.waiters.notify(&name.name), [if mine { 2 } else { 1 }]);
    });
}

/// One object of a server, its informer's hub, and the windows of a controller. Versions count.
struct ModelLoop {
    /// The version at the server, and that of the cache.
    versions: Mutex<(u64, u64)>,
    changed: Notify,
    hub: Hub<ObjectKey, u64>,
    windows: WriteWindows<u8, u64>,
    /// The versions whose events requested a run.
    requested: Mutex<Vec<u64>>,
    now: Instant,
}

const OBJECTS: InformerId = InformerId::of_address(1);

impl ModelLoop {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            versions: Mutex::new((1, 1)),
            changed: Notify::new(),
            hub: Hub::new(1),
            windows: WriteWindows::new(1),
            requested: Mutex::new(Vec::new()),
            now: Instant::now(),
        })
    }

    fn object() -> ObjectKey {
        "default/a".parse().expect("it is a key")
    }

    /// A write at the server; returns its version.
    fn write(&self) -> u64 {
        let mut versions = self.versions.lock();
        versions.0 += 1;
        let version = versions.0;
        drop(versions);
        self.changed.notify_all();
        version
    }

    /// The reflector: publishes each version up to the last one.
    fn reflect(&self, last: u64) {
        for object in 2..=last {
            self.wait(|(server, _)| server >= object);
            let mut publishing = self.hub.publishing();
            let change = Change::Present { object, initial: false };
            // Visible in the cache before it is published.
            self.versions.lock().1 = object;
            self.changed.notify_all();
            publishing
                .publish(self.now, &[Notification { key: Self::object(), before: Some(object - 1), change }]);
        }
    }

    fn wait(&self, until: impl Fn((u64, u64)) -> bool) {
        loop {
            let listener = self.changed.listen();
            if until(*self.versions.lock()) {
                return;
            }
            block_on(listener);
        }
    }

    /// The event source: offers each event to the window, else requests a run.
    fn forward(&self, mut events: Events<ObjectKey, u64>) {
        while let Some((delivery, steps)) = block_on(events.next_with_steps()) {
            let Delivery::Event(key, Event::Updated { old, object }) = delivery else { continue };
            let (before, after) = (Some(Revision(old).into()), ChangedTo::Stored(Revision(object).into()));
            let change = ObjectChange { informer: OBJECTS, key, before, after, steps };
            if let Err(version) = self.windows.park(&1, change, object) {
                self.requested.lock().push(version);
            }
        }
    }

    /// Ends a run: waits until the cache shows its write and the source has passed it, and closes
    /// the window.
    fn finish(&self, progress: &DeliveryProgress, own: u64, is_known: bool) {
        self.wait(|(_, cache)| cache >= own);
        self.hub.settle();
        block_on(progress.handled());
        let wrote = WriteOutcome::Stored(Revision(own).into());
        let token = WriteToken { key: Self::object(), uid: None, wrote };
        let writes = [OwnWrite { informer: OBJECTS, token }];
        let parked = self.windows.close(&1, if is_known { &writes } else { &[] });
        let foreign = parked.into_iter().filter(|parked| !parked.is_own).map(|parked| parked.request);
        self.requested.lock().extend(foreign);
    }
}

/// A run that writes, while somebody else writes or not. Its response arrives or is lost.
fn run_with_write(has_foreign: bool, is_known: bool) {
    let it = ModelLoop::new();
    let events = it.hub.register(it.now, || (), |(), _| ()).expect("it is open");
    let progress = events.progress();
    let source = {
        let it = it.clone();
        thread::spawn(move || it.forward(events))
    };
    let reflector = {
        let it = it.clone();
        thread::spawn(move || {
            let foreign = has_foreign.then(|| it.write());
            it.reflect(2 + u64::from(has_foreign));
            foreign
        })
    };
    it.windows.open(&1);
    let own = it.write();
    it.finish(&progress, own, is_known);
    let foreign = reflector.join().expect("it does not panic");
    it.hub.close();
    source.join().expect("it does not panic");
    let requested = it.requested.lock();
    match foreign {
        // Coalesced with the own write, the event has the later version of the two.
        Some(foreign) => assert!(requested.iter().any(|version| *version >= foreign), "{requested:?}"),
        None => assert_eq!(requested.is_empty(), is_known, "{requested:?}"),
    }
}

#[test]
fn an_own_write_requests_no_run() {
    bounded_model(2, || run_with_write(false, true));
}

#[test]
fn a_write_without_a_response_requests_a_run() {
    bounded_model(2, || run_with_write(false, false));
}

#[test]
fn a_foreign_write_beside_an_own_one_requests_a_run() {
    bounded_model(2, || run_with_write(true, true));
}
