//! A control loop over the wire: its reconciler writes an annotation of what it has observed,
//! unless the object has it.

use super::near::percentiles;
use super::process::ControllerLibrary;
use super::{kube, ours};
use crate::measure::{Figures, count, cpu_time};
use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use machinery_sync::Mutex;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

const TIMEOUT: Duration = Duration::from_secs(60);
const ANNOTATION: &str = "bench.machinery.dev/seen";

pub(super) struct RemoteLoop {
    turn: usize,
    /// Reconciles wait here for permission to write.
    gate: Semaphore,
    began: AtomicUsize,
    wrote: AtomicUsize,
    /// Start of the measurement; earlier writes are ignored.
    since_ns: AtomicU64,
    /// Number of runs before the changes of another client.
    began_before: AtomicUsize,
    /// Latency to the reconcile in µs, by the time at which the change was sent.
    took: Mutex<BTreeMap<u64, f64>>,
}

impl RemoteLoop {
    pub(super) async fn begin(
        library: ControllerLibrary,
        kubeconfig: &Path,
        turn: usize,
    ) -> anyhow::Result<Arc<Self>> {
        let far = Arc::new(Self {
            turn,
            gate: Semaphore::new(0),
            began: AtomicUsize::new(0),
            wrote: AtomicUsize::new(0),
            since_ns: AtomicU64::new(u64::MAX),
            began_before: AtomicUsize::new(0),
            took: Mutex::default(),
        });
        match library {
            ControllerLibrary::Ours => ours::far(kubeconfig, far.clone()).await?,
            ControllerLibrary::KubeRuntime => kube::far(kubeconfig, far.clone()).await?,
        }
        reached(|| far.began.load(Relaxed), 1).await?;
        // Wait until all concurrent reconciles are waiting.
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(far)
    }

    /// Returns the annotation that a reconcile must write, if any.
    pub(super) async fn due(&self, config: &ConfigMap) -> Option<Value> {
        let now = now_ns();
        self.began.fetch_add(1, Relaxed);
        let sent = config.data.as_ref()?.get("turn")?;
        let seen = format!("{}-{sent}", self.turn);
        let annotations = config.metadata.annotations.as_ref();
        if annotations.is_some_and(|all| all.get(ANNOTATION) == Some(&seen)) {
            return None;
        }
        if let Some(sent) = sent.parse().ok().filter(|sent| *sent >= self.since_ns.load(Relaxed)) {
            let us = Duration::from_nanos(now.saturating_sub(sent)).as_secs_f64() * 1e6;
            self.took.lock().entry(sent).or_insert(us);
        }
        if let Ok(permit) = self.gate.acquire().await {
            drop(permit);
        }
        Some(json!({"metadata": {"annotations": {ANNOTATION: seen}}}))
    }

    pub(super) fn wrote(&self) {
        self.wrote.fetch_add(1, Relaxed);
    }

    /// Permits writes, and waits until each object is written.
    pub(super) async fn write(&self, objects: usize) -> anyhow::Result<Figures> {
        let (start, cpu, began) = (Instant::now(), cpu_time(), self.began.load(Relaxed));
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
        reached(|| self.wrote.load(Relaxed), objects).await?;
        let seconds = start.elapsed().as_secs_f64();
        let cpu_us = cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6 / count(objects);
        let wrote = count(self.wrote.load(Relaxed));
        let runs = count(self.began.load(Relaxed) - began);
        // Wait for the events of the writes.
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.since_ns.store(now_ns(), Relaxed);
        self.began_before.store(self.began.load(Relaxed), Relaxed);
        Ok(Figures::default()
            .with("per_second", wrote / seconds)
            .with("client_cpu_us", cpu_us)
            .with("runs", runs / wrote))
    }

    pub(super) async fn wait_for_reconciles(&self, events: usize) -> anyhow::Result<Figures> {
        reached(|| self.took.lock().len(), events).await?;
        // Wait for runs that the last writes cause.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let runs = self.began.load(Relaxed) - self.began_before.load(Relaxed);
        let figures = percentiles(self.took.lock().values().copied().collect());
        Ok(figures.with("runs_per_write", count(runs) / count(events)))
    }
}

async fn reached(so_far: impl Fn() -> usize, all: usize) -> anyhow::Result<()> {
    let until = Instant::now() + TIMEOUT;
    while so_far() < all {
        ensure!(Instant::now() < until, "there were {} of {all}", so_far());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Returns the monotonic clock, equal in all processes of this machine.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or_default()
}
