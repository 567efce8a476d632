//! Loom model of waiters, claims and releases of a name, through the public API.
//!
//! Three threads (main is one of them) at preemption bound 3. One claim each.
#![cfg(machinery_loom)]

use loom::sync::atomic::{AtomicBool, Ordering::SeqCst};
use loom::thread;
use machinery_controllers::Waiters;
use machinery_objects::ObjectKey;
use std::sync::Arc;

fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
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
