//! A million events and ten thousand short-lived handlers: the heap does not grow.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use cap::Cap;
use machinery_informers::Informer;
use machinery_informers::deliver::Delivery;
use machinery_informers::testing::{FakeSource, TestObject};
use machinery_objects::Capabilities;
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Few, because each new handler receives all of them.
const KEYS: usize = 100;
const EVENTS: usize = 1_000_000;
const HANDLERS: usize = 10_000;
/// Number of events per round; the source keeps no more history.
const ROUND: usize = 1_000;
/// Permitted growth of the heap. An object is a few hundred bytes, so a queue of a few thousandths
/// of all events would exceed it.
const SLACK: usize = 100 << 10;

/// The only test, because the heap belongs to the process.
#[tokio::test(start_paused = true)]
async fn a_million_events_and_ten_thousand_handlers_leave_the_heap_unchanged() {
    let fake = FakeSource::of_test_objects(Capabilities::ALL);
    let names: Vec<_> = (0..KEYS).map(|key| TestObject::new(&format!("namespace/thing-{key}"))).collect();
    names.iter().for_each(|thing| drop(fake.put(thing.clone())));
    let informer = Informer::<TestObject>::builder(Arc::new(fake.clone())).build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informer.run(stopping.clone()));
    informer.synced().await.unwrap();
    let fast = Arc::new(Mutex::new(0_u64));
    let counts = fast.clone();
    let _fast = informer.add_handler(move |_| *counts.lock() += 1).unwrap();
    // The handler takes a second per event; there are more events than seconds.
    let slow = Arc::new(Mutex::new(0_u64));
    let (mut events, counts) = (informer.events().unwrap(), slow.clone());
    tasks.spawn(async move {
        while let Some(told) = events.next().await {
            if let Delivery::Event(..) = told {
                *counts.lock() += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    });
    let mut before = 0;
    let mut most = 0;
    for round in 0..EVENTS / ROUND {
        for number in 0..ROUND {
            let thing = &names[(number * 7 + round) % KEYS];
            if number % 10 == 9 {
                fake.delete(&thing.key);
            } else {
                fake.put(thing.clone().with_text(if round % 2 == 0 { "tick" } else { "tock" }));
            }
        }
        let last = fake.put(names[0].clone());
        informer.wait_for(&last, Duration::from_secs(60)).await.unwrap();
        fake.compact();
        for _ in 0..HANDLERS / (EVENTS / ROUND) {
            let passing = informer.add_handler(|_| {}).unwrap();
            passing.synced().await.unwrap();
            passing.remove().await;
        }
        let now = ALLOCATOR.allocated();
        if round < 20 {
            before = before.max(now); // until all tables have their final size
        }
        most = most.max(now);
        assert!(now <= before + SLACK, "after {round} rounds the heap has grown from {before} to {now}");
    }
    assert!(informer.state().counts.events as usize >= EVENTS - EVENTS / 10, "{:?}", informer.state());
    assert_eq!(informer.state().handlers, 2);
    assert!(*fast.lock() > *slow.lock(), "the slow handler received fewer changes");
    println!("the heap had {before} bytes, and {most} at the most");
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    let state: Vec<_> = fake.state().into_keys().collect();
    let read = informer.read();
    assert!(read.len() == state.len() && state.iter().all(|key| read.get(key).is_some()));
}
