//! A control loop over an in-process source, equal for both libraries. It creates each object
//! newly, as a decoder would.

use super::process::ControllerLibrary;
use super::shape::WORKERS;
use super::step::IdleContents;
use super::{kube, ours};
use crate::informer::pods::{changes, permitted, pods};
use crate::measure::{Figures, count, cpu_time};
use crate::memory::live;
use anyhow::{Context, ensure};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::unbounded_channel;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The configuration of a loop.
pub(super) struct LoopConfig {
    pub(super) there: Vec<Arc<Pod>>,
    pub(super) changes: BoxStream<'static, Pod>,
    /// Concurrent reconciles; unlimited for a peer if `None`.
    pub(super) workers: Option<u16>,
    pub(super) keeps: IdleContents,
}

/// Starts the loop. Its reconciler only calls `reconcile`.
fn begin(
    runtime: &Runtime,
    library: ControllerLibrary,
    of: LoopConfig,
    reconcile: impl Fn(&Pod) + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let _entered = runtime.enter();
    match library {
        ControllerLibrary::Ours => ours::near(of, reconcile),
        ControllerLibrary::KubeRuntime => {
            kube::near(of, reconcile);
            Ok(())
        }
    }
}

pub(super) fn reconciles(
    runtime: &Runtime,
    library: ControllerLibrary,
    objects: usize,
    ms: u64,
    under_way: usize,
    is_limited: bool,
) -> anyhow::Result<Figures> {
    let (changes, permits) = changes(objects, under_way > 0);
    let (told, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let goes_on = Arc::new(AtomicBool::new(true));
    let tells = told.clone();
    let changes = changes.map(move |pod| {
        tells.fetch_add(1, Relaxed);
        (*pod).clone()
    });
    let reconcile = {
        let (ran, goes_on, permits) = (ran.clone(), goes_on.clone(), permits.clone());
        move |_: &Pod| {
            if ran.fetch_add(1, Relaxed) >= objects && goes_on.load(Relaxed) {
                permits.add_permits(1);
            }
        }
    };
    let workers = is_limited.then_some(WORKERS);
    let of =
        LoopConfig { there: pods(objects, 0), changes: changes.boxed(), workers, keeps: IdleContents::Loop };
    begin(runtime, library, of, reconcile)?;
    reached(&ran, objects)?;
    permits.add_permits(permitted(under_way));

    let so_far = || (told.load(Relaxed), ran.load(Relaxed));
    let (before, start, cpu) = (so_far(), Instant::now(), cpu_time());
    std::thread::sleep(Duration::from_millis(ms));
    let (after, seconds, cpu) =
        (so_far(), start.elapsed().as_secs_f64(), cpu_time().saturating_sub(cpu).as_secs_f64());
    goes_on.store(false, Relaxed);
    permits.forget_permits(usize::MAX);
    let (all_told, all_ran) = at_rest(so_far, |now, before| now == before);
    let (told, ran) = (count(after.0 - before.0), count(after.1 - before.1));
    ensure!(ran > 0.0, "nothing was reconciled");
    let merged = all_told.saturating_sub(all_ran - objects);
    Ok(Figures::default()
        .with("per_second", ran / seconds)
        .with("told", told / seconds)
        .with("merged_percent", count(merged) * 100.0 / count(all_told))
        .with("cpu_ns", cpu * 1e9 / ran))
}

/// Makes one change per interval. Each must start the reconcile of its object's version.
pub(super) fn hops(
    runtime: &Runtime,
    library: ControllerLibrary,
    objects: usize,
    events: usize,
    every_us: u64,
) -> anyhow::Result<Figures> {
    let (change, changed) = unbounded_channel::<Pod>();
    let (begins, begun) = channel();
    let changes = stream::unfold(changed, |mut changed| async { Some((changed.recv().await?, changed)) });
    let ran = Arc::new(AtomicUsize::new(0));
    let reconcile = {
        let ran = ran.clone();
        move |pod: &Pod| {
            if ran.fetch_add(1, Relaxed) >= objects {
                // The measurement may be over.
                let _ = begins.send((Instant::now(), version(pod)));
            }
        }
    };
    let versions = [pods(objects, 0), pods(objects, 1)];
    let workers = Some(WORKERS);
    let of = LoopConfig {
        there: versions[0].clone(),
        changes: changes.boxed(),
        workers,
        keeps: IdleContents::Loop,
    };
    begin(runtime, library, of, reconcile)?;
    reached(&ran, objects)?;

    let mut took = Vec::with_capacity(events);
    let (start, cpu) = (Instant::now(), cpu_time());
    for n in 0..events {
        let due = start + Duration::from_micros(every_us) * u32::try_from(n)?;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let pod = (*versions[(n / objects + 1) % 2][n % objects]).clone();
        let expected = version(&pod);
        let told = Instant::now();
        change.send(pod)?;
        let begun = next(&begun)?;
        ensure!(begun.1 == expected, "{:?} was reconciled where {expected:?} had changed", begun.1);
        took.push(begun.0.saturating_duration_since(told).as_secs_f64() * 1e6);
    }
    let cpu = cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6 / count(events);
    Ok(percentiles(took).with("cpu_us", cpu))
}

fn next(begun: &Receiver<(Instant, Option<String>)>) -> anyhow::Result<(Instant, Option<String>)> {
    begun.recv_timeout(TIMEOUT).context("a change was not reconciled")
}

/// Returns the resourceVersion of a pod, which identifies the object and its version.
fn version(pod: &Pod) -> Option<String> {
    pod.metadata.resource_version.clone()
}

pub(super) fn idle(
    runtime: &Runtime,
    library: ControllerLibrary,
    objects: usize,
    keeps: IdleContents,
) -> anyhow::Result<Figures> {
    let ran = Arc::new(AtomicUsize::new(0));
    let runs = ran.clone();
    let reconcile = move |_: &Pod| {
        runs.fetch_add(1, Relaxed);
    };
    let of = LoopConfig {
        there: pods(objects, 0),
        changes: stream::pending().boxed(),
        workers: Some(WORKERS),
        keeps,
    };
    begin(runtime, library, of, reconcile)?;
    if keeps != IdleContents::Cache {
        reached(&ran, objects)?;
    }
    let bytes = at_rest(live, |now, before| now.abs_diff(*before) < 1024);
    Ok(Figures::default().with("bytes", count(bytes)))
}

/// Returns a value once it has stopped changing.
fn at_rest<T>(look: impl Fn() -> T, is_as: impl Fn(&T, &T) -> bool) -> T {
    const REST: Duration = Duration::from_millis(500);
    let mut before = look();
    loop {
        std::thread::sleep(REST);
        let now = look();
        if is_as(&now, &before) {
            return now;
        }
        before = now;
    }
}

fn reached(ran: &AtomicUsize, objects: usize) -> anyhow::Result<()> {
    let until = Instant::now() + TIMEOUT;
    while ran.load(Relaxed) < objects {
        ensure!(Instant::now() < until, "{} of {objects} were reconciled", ran.load(Relaxed));
        std::thread::sleep(Duration::from_millis(5));
    }
    // Wait for background work too.
    std::thread::sleep(Duration::from_millis(50));
    Ok(())
}

/// Returns percentiles of latencies in µs.
pub(super) fn percentiles(mut took: Vec<f64>) -> Figures {
    took.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| took.get(took.len().saturating_sub(1) * percent / 100).copied();
    let figures = Figures::default();
    match (at(50), at(99)) {
        (Some(p50), Some(p99)) => figures.with("p50_us", p50).with("p99_us", p99),
        _ => figures,
    }
}
