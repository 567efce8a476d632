//! Threads that list all objects during a measurement.

use crate::measure::{count, cpu_time, thread_cpu_time};
use machinery_sync::Mutex;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The figures of a measured interval.
pub(super) struct MeasuredInterval {
    pub(super) seconds: f64,
    pub(super) lists: f64,
    /// CPU time of the process without its readers.
    pub(super) cpu: Duration,
}

/// Waits for `ms` while `readers` threads list repeatedly.
pub(super) fn beside<L: Fn() -> i64 + Send>(
    readers: usize,
    ms: u64,
    list: impl Fn() -> L,
) -> MeasuredInterval {
    let (stop, lists) = (AtomicBool::new(false), AtomicUsize::new(0));
    let theirs = Mutex::new(Duration::ZERO);
    let (start, cpu) = (Instant::now(), cpu_time());
    std::thread::scope(|scope| {
        for _ in 0..readers {
            let list = list();
            let (stop, lists, theirs) = (&stop, &lists, &theirs);
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    black_box(list());
                    lists.fetch_add(1, Relaxed);
                }
                *theirs.lock() += thread_cpu_time();
            });
        }
        std::thread::sleep(Duration::from_millis(ms));
        stop.store(true, Relaxed);
    });
    let seconds = start.elapsed().as_secs_f64();
    let theirs = theirs.into_inner();
    let cpu = cpu_time().saturating_sub(cpu).saturating_sub(theirs);
    MeasuredInterval { seconds, lists: count(lists.into_inner()) / seconds, cpu }
}
