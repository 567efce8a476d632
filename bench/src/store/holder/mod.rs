//! A process with a store and the tasks that use it: `machinery-bench store-holder`, for internal
//! use.

mod fanout;
mod objects;
mod timed;
mod traffic;

use super::shape::StoreStep;
use crate::lines;
use crate::measure::{Figures, count};
use anyhow::Context;
use fanout::TaskWatchers;
use machinery_store::files::Directory;
use machinery_store::{Backend, Disk, DiskOptions, KeySpan, Range};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timed::{Syncs, Timed};
use tokio::runtime::Runtime;
use traffic::TrafficLoad;

/// Opens a store. The first request.
#[derive(Serialize, Deserialize)]
pub(super) struct OpenRequest {
    pub(super) open: PathBuf,
    /// Minimum duration of a sync.
    pub(super) sync_ms: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HolderRequest {
    OpenRequest(OpenRequest),
    StoreStep(StoreStep),
}

/// Answers requests until the standard input closes.
pub(crate) fn hold() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let mut held = None;
    lines::serve(|line| answer(&runtime, &mut held, line))
}

struct OpenStore {
    store: Arc<dyn Backend>,
    syncs: Arc<Syncs>,
    audience: Option<TaskWatchers>,
}

fn answer(runtime: &Runtime, held: &mut Option<OpenStore>, line: &str) -> anyhow::Result<Figures> {
    match serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))? {
        HolderRequest::OpenRequest(open) => {
            let started = Instant::now();
            let held = held.insert(open_store(open)?);
            runtime.block_on(held.store.range(Range::of(KeySpan::one("/bench/ready"))))?;
            Ok(Figures::default().with("open_s", started.elapsed().as_secs_f64()))
        }
        HolderRequest::StoreStep(step) => {
            runtime.block_on(held.as_mut().context("no store is open")?.perform(step))
        }
    }
}

fn open_store(open: OpenRequest) -> anyhow::Result<OpenStore> {
    let syncs = Arc::new(Syncs::default());
    let at_least = Duration::from_millis(open.sync_ms);
    let files = Timed::new(Directory::make(open.open)?, at_least, syncs.clone());
    let store = Arc::new(Disk::open_on(Arc::new(files), DiskOptions::default())?);
    Ok(OpenStore { store, syncs, audience: None })
}

impl OpenStore {
    async fn perform(&mut self, step: StoreStep) -> anyhow::Result<Figures> {
        let before = self.syncs.so_far();
        let figures = self.use_store(step).await?;
        let (syncs, time) = self.syncs.since(before);
        let figures = figures.with("syncs", count(syncs));
        Ok(if syncs > 0 { figures.with("sync_ms", time.as_secs_f64() * 1e3 / count(syncs)) } else { figures })
    }

    async fn use_store(&mut self, step: StoreStep) -> anyhow::Result<Figures> {
        let store = self.store.clone();
        match step {
            StoreStep::Load { objects, clients } => traffic::load(store, objects, clients).await,
            StoreStep::Commits { clients, objects, seconds } => {
                traffic::commits(store, TrafficLoad { clients, objects, seconds }).await
            }
            StoreStep::Reads { clients, objects, seconds } => {
                traffic::reads(store, TrafficLoad { clients, objects, seconds }).await
            }
            StoreStep::Watch { watchers } => {
                self.audience = Some(TaskWatchers::begin(store.as_ref(), watchers).await?);
                Ok(Figures::default())
            }
            StoreStep::Notify { events } => {
                let audience = self.audience.as_mut().context("nobody watches")?;
                audience.notify(store.as_ref(), events).await
            }
        }
    }
}
