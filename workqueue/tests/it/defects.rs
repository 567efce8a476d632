//! Known defects of other queues, each named after its report, and its correct behaviour here.

use super::{default, done, ms, now, queue, ready, soon};
use machinery_workqueue::limiter::{Exponential, MaxOf, TokenBucket};
use machinery_workqueue::{
    Add, Config, Debounce, KeyState, MAX_DELAY, Metrics, Next, Priority, Queue, Retried,
};
use std::num::NonZeroU16;
use std::time::Duration;

/// kubernetes/kubernetes#126027 and #112325: `AddAfter` and then `Add` ran the key twice.
#[test]
fn k126027_a_delay_and_an_add_are_one_run() {
    let (queue, clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    queue.add(1).unwrap();
    assert_eq!(ready(&queue), [1]);
    clock.advance(ms(1000));
    assert_eq!(ready(&queue), [0_u32; 0]);
}

/// kubernetes/kubernetes#113607: a delayed item could not be cancelled.
#[test]
fn k113607_a_delayed_key_can_be_cancelled() {
    let (queue, clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    assert!(queue.cancel(&1));
    clock.advance(ms(1000));
    assert_eq!(ready(&queue), [0_u32; 0]);
}

/// client-go's `ShutDownWithDrain` returned in the gap between `Done` and the next `Get`, with keys
/// queued.
#[test]
fn client_go_drain_returned_with_keys_queued() {
    let (queue, _clock) = default();
    queue.add_all(0..10, Add::new()).unwrap();
    for key in 0..10 {
        let work = queue.try_get().unwrap();
        assert!(now(queue.drain(ms(1000))).is_none(), "one is out");
        assert_eq!(done(work), key);
        assert_eq!(now(queue.drain(ms(1000))).is_some(), key == 9, "{} are queued", 9 - key);
    }
}

/// client-go's delaying queue left its goroutine behind after `ShutDownWithDrain`, for up to ten
/// seconds.
#[tokio::test(start_paused = true)]
async fn client_go_drain_left_the_delay_loop_running() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    queue.add_after(1, ms(60_000)).unwrap();
    queue.drain(ms(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

/// client-go's `AddAfter` blocked once a thousand items were on their way to the delay loop.
#[test]
fn client_go_add_after_blocked_behind_a_channel() {
    let (queue, _clock) = default();
    queue.add_all(0..100_000, Add::new().after(ms(1000))).unwrap();
    assert_eq!(queue.stats().delayed, 100_000);
}

/// client-go's `Len` and metrics did not include delayed items.
#[test]
fn client_go_delayed_items_were_invisible() {
    let (queue, _clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    assert_eq!((queue.len(), queue.stats().delayed), (0, 1));
    assert!(queue.status(&1).is_some());
}

/// controller-runtime#1594: a bucket beside an exponential limiter reserved a token for every
/// retry, also if the exponential limiter decided the delay, so under a steady rate of failures
/// delays grew without bound.
#[test]
fn cr1594_a_bucket_that_does_not_decide_is_not_charged() {
    let exponential = Exponential::new(ms(1000), ms(1000)).unwrap().jitter(0.0).unwrap();
    let bucket = TokenBucket::new(10.0, 1).unwrap();
    let both = MaxOf::new(vec![Box::new(exponential), Box::new(bucket)]).unwrap();
    let (queue, _clock) = queue(Config { backoff: Box::new(both), ..Config::default() });
    for _ in 0..1000 {
        queue.add(1).unwrap();
        assert_eq!(queue.try_get().unwrap().retry("no"), Retried::After(ms(1000)));
    }
}

/// The same report's other half: adds that overtook a retry left its token spent, so the debt grew
/// with every event.
#[test]
fn cr1594_an_overtaken_retry_refunds_its_token() {
    let bucket = TokenBucket::new(10.0, 1).unwrap();
    let (queue, _clock) = queue(Config { backoff: Box::new(bucket), ..Config::default() });
    queue.add(1).unwrap();
    queue.try_get().unwrap().retry("no");
    for _ in 0..1000 {
        queue.add(1).unwrap();
        let retried = queue.try_get().unwrap().retry("no");
        assert_eq!(retried, Retried::After(ms(100)), "one key owes one token, however often it is added");
        queue.add_after(1, ms(50)).unwrap();
    }
}

/// controller-runtime's queue counted a failure when a rate-limited add was merged into a key that
/// was ready.
#[test]
fn cr_failures_were_counted_for_merged_adds() {
    let (queue, _clock) = default();
    for _ in 0..10 {
        queue.add(1).unwrap();
        queue.add_after(1, ms(50)).unwrap();
    }
    assert_eq!(queue.try_get().unwrap().attempts(), 0);
}

/// controller-runtime#3496: low priorities starved. Not handed out in 5 000 gets.
#[test]
fn cr3496_low_priority_starved() {
    let (queue, clock) = default();
    queue.add_with(u32::MAX, Add::new().priority(Priority::LOW)).unwrap();
    let seen = (0..5000).position(|key| {
        queue.add(key).unwrap();
        clock.advance(ms(10));
        done(queue.try_get().unwrap()) == u32::MAX
    });
    assert_eq!(seen, Some(1001), "ten levels at a second each, at a hundred keys a second");
}

/// controller-runtime's priority queue dropped queued keys at shutdown, and a getter could hang.
#[test]
fn cr_shutdown_dropped_queued_keys() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    queue.close();
    assert_eq!(done(now(queue.get()).unwrap().unwrap()), 1);
    assert!(now(queue.get()).unwrap().is_none());
}

/// controller-runtime's `TerminalError` was not forgotten: the limiter's entry stayed until the key
/// succeeded.
#[test]
fn cr_terminal_errors_leaked_in_the_limiter() {
    let (queue, _clock) = queue(Config { max_tries: NonZeroU16::new(1), ..Config::default() });
    for key in 0..1000 {
        queue.add(key).unwrap();
        assert_eq!(queue.try_get().unwrap().retry("no"), Retried::DeadLetter);
    }
    assert!(queue.list().is_empty());
    queue.add(1).unwrap();
    assert_eq!(queue.try_get().unwrap().attempts(), 0, "nothing is remembered of a dead letter");
}

/// controller-runtime#3199: no limit of retries.
#[test]
fn cr3199_retries_had_no_limit() {
    let (queue, _clock) = queue(Config { max_tries: NonZeroU16::new(2), ..Config::default() });
    queue.add(1).unwrap();
    queue.try_get().unwrap().retry("no");
    queue.add(1).unwrap();
    assert_eq!(queue.try_get().unwrap().retry("no"), Retried::DeadLetter);
}

/// controller-runtime#1969: two metrics providers in one process clashed.
#[test]
fn cr1969_metrics_providers_clashed() {
    let ((first, _), (second, _)) = (default(), default());
    let providers = [Metrics::new(), Metrics::new()];
    providers[0].watch("same name", &first).unwrap();
    providers[1].watch("same name", &second).unwrap();
}

/// kubernetes/kubernetes#25744: one noisy namespace starved all others.
#[test]
fn k25744_a_noisy_tenant_kept_others_waiting() {
    let tenants = |key: &u32| key / 100_000;
    let (queue, _clock) = queue(Config { tenants: Some(Box::new(tenants)), ..Config::default() });
    queue.add_all(0..10_000, Add::new()).unwrap();
    queue.add(100_000).unwrap();
    let _noise = queue.try_get().unwrap();
    assert_eq!(done(queue.try_get().unwrap()), 100_000);
}

/// kube-rs handed pending objects out in the order of a hash set.
#[test]
fn kube_pending_was_not_first_in_first_out() {
    let (queue, _clock) = default();
    queue.add_all((0..5000).rev(), Add::new()).unwrap();
    assert!(ready(&queue).into_iter().eq((0..5000).rev()));
}

/// kube-rs could neither expedite nor reschedule a pending object.
#[test]
fn kube_pending_could_not_be_expedited() {
    let (queue, _clock) = default();
    queue.add_all(0..10, Add::new()).unwrap();
    queue.add_with(7, Add::new().priority(Priority::HIGH)).unwrap();
    assert_eq!(done(queue.try_get().unwrap()), 7);
}

/// kube-rs/kube#1772: a far-off delay panicked in the timer.
#[test]
fn kube1772_a_far_off_delay_panicked() {
    let (queue, _clock) = default();
    queue.add_after(1, Duration::MAX).unwrap();
    assert_eq!(queue.status(&1).unwrap().state, KeyState::Delayed { next: MAX_DELAY });
}

/// kube-rs/kube#1916 and #297: no back-off per key.
#[test]
fn kube1916_no_back_off_per_key() {
    let limiter = Exponential::new(ms(8), ms(1000)).unwrap().jitter(0.0).unwrap();
    let (queue, _clock) = queue(Config { backoff: Box::new(limiter), ..Config::default() });
    let fail = |key| {
        queue.add(key).unwrap();
        queue.try_get().unwrap().retry("no")
    };
    assert_eq!([fail(1), fail(1), fail(2)], [8, 16, 8].map(|wait| Retried::After(ms(wait))));
}

/// The debounce of kube-rs and envoyproxy/gateway#9803 restarted with every event, forever.
#[test]
fn gateway9803_a_debounce_started_over_for_ever() {
    let (queue, clock) = default();
    let add = Add::new().debounced(Debounce::new(ms(10), ms(100)).unwrap());
    let runs = (0..1000).filter(|_| {
        queue.add_with(1, add).unwrap();
        clock.advance(ms(1));
        !ready(&queue).is_empty()
    });
    assert_eq!(runs.count(), 10, "once in a hundred milliseconds of events each millisecond");
}

/// kube-rs/kube#1473: a concurrency of 0, the default, meant no limit.
#[tokio::test]
async fn kube1473_no_concurrency_meant_no_limit() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    let refused = queue.run(0, async |_| Ok::<_, String>(Next::Done)).await;
    assert!(refused.unwrap_err().to_string().contains("at least 1"));
}

/// kube-rs: one panic in a reconcile ended the controller's stream.
#[tokio::test(start_paused = true)]
async fn kube_one_panic_ended_every_worker() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    queue.add_all(0..10, Add::new()).unwrap();
    let run = queue.run(1, async |run: machinery_workqueue::Run<u32>| {
        assert!(run.attempts > 0, "on purpose, once a key");
        Ok::<_, String>(Next::Done)
    });
    let ended = tokio::join!(run, async {
        let all = async {
            while queue.stats().handed_out < 20 {
                tokio::time::sleep(ms(1)).await;
            }
        };
        soon(all).await;
        queue.drain(ms(1000)).await
    });
    assert_eq!((ended.0, ended.1.leftovers.len(), queue.stats().abandoned), (Ok(()), 0, 10));
}
