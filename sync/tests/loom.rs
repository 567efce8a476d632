//! Every interleaving of the primitives. One claim each.
#![cfg(machinery_loom)]

use loom::future::block_on;
use loom::thread;
use machinery_sync::{Mutex, Notify, RwLock, Swap};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

/// A counter of tickets and its waiters: the protocol of users of [`Notify`].
struct Tickets {
    left: Mutex<usize>,
    more: Notify,
}

impl Tickets {
    fn new() -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(0), more: Notify::new() })
    }

    fn give(&self) {
        *self.left.lock() += 1;
        self.more.notify_one();
    }

    fn try_take(&self) -> bool {
        let mut left = self.left.lock();
        let some = *left > 0;
        *left -= usize::from(some);
        some
    }

    async fn take(&self) {
        loop {
            let listener = self.more.listen();
            if self.try_take() {
                return;
            }
            listener.await;
        }
    }
}

#[test]
fn loom_a_listener_registered_before_the_change_is_woken() {
    model(3, || {
        let tickets = Tickets::new();
        let takers = [(), ()].map(|()| {
            let tickets = tickets.clone();
            thread::spawn(move || block_on(tickets.take()))
        });
        tickets.give();
        tickets.give();
        for taker in takers {
            taker.join().expect("it did not panic");
        }
        assert!(!tickets.try_take());
    });
}

#[test]
fn loom_a_dropped_listener_passes_its_wake_on() {
    model(3, || {
        let tickets = Tickets::new();
        let fickle = {
            let tickets = tickets.clone();
            thread::spawn(move || {
                block_on(async {
                    let mut listener = pin!(tickets.more.listen());
                    // Polled once, so that it is queued with a waker; then dropped, woken or not.
                    // If that poll saw the wake, the wake is spent, and this task must act on it:
                    // it takes a ticket.
                    let saw =
                        std::future::poll_fn(|cx| Poll::Ready(listener.as_mut().poll(cx).is_ready())).await;
                    if saw && tickets.try_take() {
                        tickets.give();
                    }
                });
            })
        };
        let patient = {
            let tickets = tickets.clone();
            thread::spawn(move || block_on(tickets.take()))
        };
        tickets.give();
        fickle.join().expect("it did not panic");
        patient.join().expect("it did not panic");
    });
}

#[test]
fn loom_notify_all_wakes_every_listener() {
    model(3, || {
        let gate = Arc::new((Mutex::new(false), Notify::new()));
        let waiting = [(), ()].map(|()| {
            let gate = gate.clone();
            thread::spawn(move || {
                block_on(async {
                    loop {
                        let listener = gate.1.listen();
                        if *gate.0.lock() {
                            return;
                        }
                        listener.await;
                    }
                });
            })
        });
        *gate.0.lock() = true;
        gate.1.notify_all();
        for waiting in waiting {
            waiting.join().expect("it did not panic");
        }
    });
}

#[test]
fn loom_a_swap_is_seen_whole() {
    model(3, || {
        let swap = Arc::new(Swap::new(Arc::new((1, 1))));
        let reader = {
            let swap = swap.clone();
            thread::spawn(move || {
                let (first, second) = (swap.load(), swap.load());
                assert_eq!(first.0, first.1);
                assert!(second.0 >= first.0, "it went back");
            })
        };
        assert_eq!(*swap.swap(Arc::new((2, 2))), (1, 1));
        reader.join().expect("it did not panic");
        assert_eq!(*swap.load(), (2, 2));
    });
}

#[test]
fn loom_locks_exclude() {
    model(3, || {
        let both = Arc::new((Mutex::new(0), RwLock::new(0)));
        let other = {
            let both = both.clone();
            thread::spawn(move || {
                *both.0.lock() += 1;
                *both.1.write() += 1;
            })
        };
        *both.0.lock() += 1;
        *both.1.write() += 1;
        other.join().expect("it did not panic");
        assert_eq!((*both.0.lock(), *both.1.read()), (2, 2));
        assert_eq!(both.0.try_lock().map(|count| *count), Some(2));
    });
}
