//! The watch caches of a server, one per kind, created on first use.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::Revision;
use machinery_sync::Mutex;
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ring::{AllRings, RingBudget, RingLimits};
use super::{CacheWatcher, KeyField, ObjectFilter, View, WatchCache, WatchKeys};
use crate::guard::{CrossGuards, Guard};
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::server::Limits;
use crate::storage;

/// All watch caches. Each served version of a kind has its own.
pub(crate) struct WatchCaches {
    store: storage::Objects,
    guards: CrossGuards,
    made: Arc<Mutex<HashMap<KindId, CacheEntry, FixedState>>>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    limits: RingBudget,
    seed: u64,
}

/// A kind by its address. Its [`CacheEntry`] holds a reference, so the address is not reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct KindId(usize);

/// A cache while it loads and afterwards. Its task removes the entry when the cache stops or fails
/// to load.
#[derive(Clone)]
struct CacheEntry {
    _kind: Arc<Kind>,
    loaded: Arc<SetOnce<Result<Arc<WatchCache>, Refusal>>>,
}

/// Attempts to get another cache if the store's watch was lost.
const TRIES: usize = 3;

impl WatchCaches {
    pub(crate) fn new(
        (store, guards): (storage::Objects, CrossGuards),
        limits: &Limits,
        tasks: TaskTracker,
        stopping: CancellationToken,
        seed: u64,
    ) -> Self {
        let each = RingLimits { revisions: limits.ring_revisions, bytes: limits.ring_bytes };
        let limits = RingBudget { each, all: AllRings::new(limits.rings_bytes) };
        let made = Mutex::new(HashMap::with_hasher(FixedState::with_seed(seed)));
        Self { store, guards, made: Arc::new(made), tasks, stopping, limits, seed }
    }

    /// Returns the cache of a kind. The first caller starts loading it, concurrent callers wait for
    /// the same load, and the load continues if all callers are cancelled.
    pub(crate) async fn of(&self, kind: &Arc<Kind>, metrics: &Metrics) -> Result<Arc<WatchCache>, Refusal> {
        let of = KindId(Arc::as_ptr(kind).addr());
        let loaded = {
            let mut made = self.made.lock();
            let has_stopped = |cell: &CacheEntry| cell.loaded.get().is_some_and(has_stopped);
            if made.get(&of).is_some_and(has_stopped) {
                made.remove(&of);
            }
            let begin = || CacheEntry { _kind: kind.clone(), loaded: self.begin(of, kind.clone(), metrics) };
            made.entry(of).or_insert_with(begin).loaded.clone()
        };
        loaded.wait().await.clone()
    }

    /// Returns the guards of a kind: its own, and those over several kinds.
    pub(crate) fn guards(&self, kind: &Kind) -> Vec<Arc<dyn Guard>> {
        let own = kind.hooks.guards();
        if own.is_empty() && self.guards.is_empty() {
            return Vec::new();
        }
        own.iter().chain(self.guards.of(&kind.place)).cloned().collect()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.made.lock().is_empty()
    }

    fn begin(
        &self,
        of: KindId,
        kind: Arc<Kind>,
        metrics: &Metrics,
    ) -> Arc<SetOnce<Result<Arc<WatchCache>, Refusal>>> {
        let loaded = Arc::new(SetOnce::new());
        let (store, limits, seed, counted) =
            (self.store.clone(), self.limits.clone(), self.seed, metrics.selection(&kind));
        let (made, stopping, own) = (self.made.clone(), self.stopping.clone(), loaded.clone());
        let guards = self.guards(&kind);
        self.tasks.spawn(async move {
            let load = WatchCache::load((kind, guards), store, limits, seed, counted);
            let load = stopping.run_until_cancelled(load).await;
            match load.unwrap_or_else(|| Err(super::watch_cache::stopped())) {
                Ok((cache, watch)) => {
                    let _ = own.set(Ok(cache.clone()));
                    cache.run(watch, &stopping).await;
                }
                Err(refusal) => {
                    let _ = own.set(Err(refusal));
                }
            }
            let mut made = made.lock();
            let gone = made.get(&of).is_some_and(|cell| Arc::ptr_eq(&cell.loaded, &own));
            let gone = gone.then(|| made.remove(&of));
            drop(made);
            drop(gone);
        });
        loaded
    }

    /// Returns a view of a kind; see [`WatchCache::view`].
    pub(crate) async fn view(
        &self,
        kind: &Arc<Kind>,
        metrics: &Metrics,
        least: Option<Revision>,
    ) -> Result<View, Refusal> {
        let mut tries = 1..TRIES;
        loop {
            let cache = self.of(kind, metrics).await?;
            match cache.view(least).await {
                Err(_) if cache.is_lost() && tries.next().is_some() => {}
                view => return view,
            }
        }
    }

    /// Returns a view and a watcher; see [`WatchCache::view_and_follow`]. With `by` its set of keys
    /// is empty.
    pub(crate) async fn view_and_follow(
        &self,
        filter: &ObjectFilter,
        by: Option<&KeyField>,
        metrics: &Metrics,
        least: Option<Revision>,
    ) -> Result<(View, CacheWatcher), Refusal> {
        let mut tries = 1..TRIES;
        loop {
            let cache = self.of(&filter.selection.kind, metrics).await?;
            let keys = by.map(|by| WatchKeys { by: by.clone(), set: BTreeSet::new() });
            match cache.view_and_follow(filter.clone(), keys, least).await {
                Err(_) if cache.is_lost() && tries.next().is_some() => {}
                begun => return begun,
            }
        }
    }
}

fn has_stopped(loaded: &Result<Arc<WatchCache>, Refusal>) -> bool {
    loaded.as_ref().map_or(true, |cache| cache.is_ended())
}
