//! Runs the shapes on an in-process cache.

use super::cache::Cache;
use super::object::{GROUPS, app, keys, node, objects, shuffled};
use super::shape::SnapshotShape;
use crate::interleave::Subject;
use crate::measure::{Figures, Lap, count, thread_cpu_time};
use crate::memory;
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An in-process cache with its name.
pub(super) struct InProcess<C> {
    name: &'static str,
    cache: PhantomData<fn() -> C>,
}

impl<C> InProcess<C> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, cache: PhantomData }
    }
}

impl<C: Cache> Subject<SnapshotShape> for InProcess<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &SnapshotShape) -> anyhow::Result<Figures> {
        Ok(match *shape {
            SnapshotShape::Get { keys, passes, random } => get::<C>(keys, passes, random),
            SnapshotShape::List { keys, passes } => list::<C>(keys, passes),
            SnapshotShape::Writes { keys, readers, ms } => writes::<C>(keys, readers, ms),
            SnapshotShape::Paced { keys, readers, ms } => paced::<C>(keys, readers, ms),
            SnapshotShape::Bytes { keys } => bytes::<C>(keys),
        })
    }
}

fn filled<C: Cache>(n: usize) -> C {
    C::filled((0..n).map(|i| (super::object::key(i), super::object::object(i, 0))))
}

fn get<C: Cache>(n: usize, passes: usize, random: bool) -> Figures {
    let (cache, mut keys) = (filled::<C>(n), keys(n));
    if random {
        keys = shuffled(n).into_iter().map(|i| keys[i].clone()).collect();
    }
    let pass = || black_box(keys.iter().map(|key| cache.get(key)).sum::<i64>());
    pass();
    let lap = timed(passes, pass);
    lap.per(passes * n)
}

fn list<C: Cache>(n: usize, passes: usize) -> Figures {
    let cache = filled::<C>(n);
    let values: Vec<_> = shuffled(GROUPS).into_iter().map(|i| (app(i), node(i * 7))).collect();
    let pass = || {
        let each = values.iter().map(|(app, node)| cache.list_by_app(app) + cache.list_by_node(node));
        black_box(each.sum::<i64>())
    };
    pass();
    let lap = timed(passes, pass);
    lap.per(passes * GROUPS * 2)
}

fn timed(passes: usize, pass: impl Fn() -> i64) -> Lap {
    let mut lap = Lap::started();
    for _ in 0..passes {
        pass();
    }
    lap.stop();
    lap
}

/// Runs `write` while readers list. Returns the number of lists completed.
fn beside_readers<C: Cache, T>(cache: &C, readers: usize, write: impl FnOnce() -> T) -> (T, usize) {
    let (stop, lists) = (AtomicBool::new(false), AtomicUsize::new(0));
    let written = std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    black_box(cache.list());
                    lists.fetch_add(1, Relaxed);
                }
            });
        }
        let written = write();
        stop.store(true, Relaxed);
        written
    });
    (written, lists.into_inner())
}

fn writes<C: Cache>(n: usize, readers: usize, ms: u64) -> Figures {
    let (cache, keys, order) = (filled::<C>(n), keys(n), shuffled(n));
    let versions = [objects(n, 0), objects(n, 1)];
    let limit = Duration::from_millis(ms);
    let write = || {
        let mut writes = 0;
        let (start, cpu) = (Instant::now(), thread_cpu_time());
        while start.elapsed() < limit {
            // The clock is read after sixteen writes: slow writes must not run sixteen past the
            // end.
            for _ in 0..16 {
                let i = order[writes % n];
                cache.write(&keys[i], &versions[(writes / n + 1) % 2][i]);
                writes += 1;
                if readers > 0 && start.elapsed() >= limit {
                    break;
                }
            }
        }
        (writes, start.elapsed().as_secs_f64(), thread_cpu_time().saturating_sub(cpu))
    };
    let ((writes, wall, cpu), lists) = beside_readers(&cache, readers, write);
    Figures::default()
        .with("per_second", count(writes) / wall)
        .with("cpu_ns", cpu.as_secs_f64() * 1e9 / count(writes))
        .with("lists", count(lists) / wall)
}

fn paced<C: Cache>(n: usize, readers: usize, ms: u64) -> Figures {
    let (cache, keys, order) = (filled::<C>(n), keys(n), shuffled(n));
    let version = objects(n, 1);
    let limit = Duration::from_millis(ms);
    let write = || {
        let mut took = Vec::new();
        let start = Instant::now();
        while start.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(1));
            let i = order[took.len() % n];
            let began = Instant::now();
            cache.write(&keys[i], &version[i]);
            took.push(began.elapsed());
        }
        took
    };
    let (mut took, _) = beside_readers(&cache, readers, write);
    took.sort_unstable();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    Figures::default().with("p99_ms", at(99)).with("p50_ms", at(50)).with("writes", count(took.len()))
}

fn bytes<C: Cache>(n: usize) -> Figures {
    let (keys, objects) = (keys(n), objects(n, 0));
    let before = memory::live();
    let cache = C::filled(keys.iter().cloned().zip(objects.iter().cloned()));
    let bytes = memory::live().saturating_sub(before);
    drop(cache);
    Figures::default().with("bytes", count(bytes) / count(n))
}
