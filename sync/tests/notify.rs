//! `Notify` on a single thread; its interleavings are in `loom.rs`.
#![cfg(not(machinery_loom))]

use futures::task::noop_waker;
use machinery_sync::Notify;
use std::future::Future;
use std::pin::Pin;
use std::task::Context;

fn is_woken(listener: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    Pin::new(listener).poll(&mut Context::from_waker(&noop_waker())).is_ready()
}

#[test]
fn wakes_in_order() {
    let notify = Notify::new();
    let (mut a, mut b, mut c) = (notify.listen(), notify.listen(), notify.listen());
    assert!(!is_woken(&mut c) && !is_woken(&mut a) && !is_woken(&mut b));
    assert!(notify.notify_one());
    assert!(!is_woken(&mut c) && !is_woken(&mut b) && is_woken(&mut a));
    assert!(notify.notify_one());
    assert!(!is_woken(&mut c) && is_woken(&mut b));
    drop(c);
    assert!(!notify.notify_one(), "nobody is left");
}

#[test]
fn a_dropped_listener_passes_its_wake_on() {
    let notify = Notify::new();
    let (a, b, mut c) = (notify.listen(), notify.listen(), notify.listen());
    notify.notify_one();
    drop(a);
    drop(b);
    assert!(is_woken(&mut c));
}

#[test]
fn a_notify_does_not_wake_later_listeners() {
    let notify = Notify::new();
    assert!(!notify.notify_one());
    notify.notify_all();
    assert!(!is_woken(&mut notify.listen()));
}

#[test]
fn slots_are_reused() {
    let notify = Notify::new();
    for _ in 0..10_000 {
        let mut listener = notify.listen();
        notify.notify_one();
        assert!(is_woken(&mut listener));
        drop(notify.listen());
    }
    assert_eq!(format!("{notify:?}"), "Notify { queued: 0 }");
}
