//! One event to many watchers, one task each.

use super::objects::Values;
use crate::measure::{Figures, count};
use anyhow::{Context, ensure};
use machinery_store::{Backend, KeySpan, Transaction, Watch, WatchItem};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const PREFIX: &str = "/bench/fanout/";

/// Timeout, so that a step fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(600);

pub(super) struct TaskWatchers {
    size: usize,
    remaining: Arc<AtomicUsize>,
    /// A message of the last watcher of each event, or of a watcher with an ended watch.
    notifications: mpsc::Receiver<anyhow::Result<()>>,
    _watchers: JoinSet<()>,
}

impl TaskWatchers {
    pub(super) async fn begin(store: &dyn Backend, size: usize) -> anyhow::Result<Self> {
        let (tell, notifications) = mpsc::channel(size.max(1));
        let remaining = Arc::new(AtomicUsize::new(0));
        let mut watchers = JoinSet::new();
        let now = store.revision().await?;
        for _ in 0..size {
            let watch = store.watch(KeySpan::prefix(PREFIX), now).await?;
            watchers.spawn(look(watch, remaining.clone(), tell.clone()));
        }
        Ok(Self { size, remaining, notifications, _watchers: watchers })
    }

    /// Puts one key repeatedly, each time waiting for the last watcher.
    pub(super) async fn notify(&mut self, store: &dyn Backend, events: usize) -> anyhow::Result<Figures> {
        let (mut values, mut each) = (Values::new(0), Vec::with_capacity(events));
        for _ in 0..events {
            self.remaining.store(self.size, Ordering::Relaxed);
            let started = Instant::now();
            store.commit(Transaction::new().put(format!("{PREFIX}one"), values.next())).await?;
            let notifications = tokio::time::timeout(TIMEOUT, self.notifications.recv()).await;
            notifications.context("some watcher saw nothing")?.context("no watcher is left")??;
            each.push(started.elapsed());
        }
        ensure!(!each.is_empty(), "there was no event");
        each.sort_unstable();
        let ms = |at: usize| each[at].as_secs_f64() * 1e3;
        Ok(Figures::default()
            .with("operations", count(events))
            .with("last_ms", ms(each.len() / 2))
            .with("worst_ms", ms(each.len() - 1)))
    }
}

async fn look(mut watch: Watch, remaining: Arc<AtomicUsize>, tell: mpsc::Sender<anyhow::Result<()>>) {
    let last = loop {
        match watch.next().await {
            Ok(WatchItem::Changes { .. }) if remaining.fetch_sub(1, Ordering::Relaxed) == 1 => {
                if tell.send(Ok(())).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    // The receiver may be gone.
    let _ = tell.send(Err(last.into())).await;
}
