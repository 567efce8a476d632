//! The caches of a server: one a kind, made when somebody first wants it.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_sync::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Cache;
use super::ring::Most;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::server::Limits;
use crate::storage;

/// All caches that there are. A kind has one for each version that is asked for.
pub(crate) struct Caches {
    store: storage::Objects,
    made: Arc<Mutex<HashMap<Of, Cell, FixedState>>>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    most: Most,
    seed: u64,
}

/// A kind, by where it is in memory. Whoever has its cell has the kind, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Of(usize);

#[derive(Clone)]
struct Cell {
    kind: Arc<Kind>,
    cache: Arc<OnceCell<Arc<Cache>>>,
}

impl Caches {
    pub(crate) fn new(
        store: storage::Objects,
        limits: &Limits,
        tasks: TaskTracker,
        stopping: CancellationToken,
        seed: u64,
    ) -> Self {
        let most = Most { revisions: limits.ring_revisions, bytes: limits.ring_bytes };
        let made = Mutex::new(HashMap::with_hasher(FixedState::with_seed(seed)));
        Self { store, made: Arc::new(made), tasks, stopping, most, seed }
    }

    /// The cache of a kind. Whoever comes first waits until it is loaded, and so does who comes meanwhile.
    pub(crate) async fn of(&self, kind: &Arc<Kind>, metrics: &Metrics) -> Result<Arc<Cache>, Refusal> {
        let of = Of(Arc::as_ptr(kind).addr());
        let cell = {
            let mut made = self.made.lock();
            let is_over = |cell: &Cell| cell.cache.get().is_some_and(|cache| cache.is_ended());
            if made.get(&of).is_some_and(is_over) {
                made.remove(&of);
            }
            made.entry(of).or_insert_with(|| Cell { kind: kind.clone(), cache: Arc::default() }).clone()
        };
        let cache = cell.cache.get_or_try_init(|| self.load(of, cell.kind.clone(), metrics)).await?;
        Ok(cache.clone())
    }

    async fn load(&self, of: Of, kind: Arc<Kind>, metrics: &Metrics) -> Result<Arc<Cache>, Refusal> {
        let counted = metrics.asked(&kind);
        let (cache, watch) = Cache::load(kind, self.store.clone(), self.most, self.seed, counted).await?;
        let (fed, made, stopping) = (cache.clone(), self.made.clone(), self.stopping.clone());
        self.tasks.spawn(async move {
            fed.run(watch, &stopping).await;
            let mut made = made.lock();
            if made
                .get(&of)
                .is_some_and(|cell| cell.cache.get().is_some_and(|cache| Arc::ptr_eq(cache, &fed)))
            {
                made.remove(&of);
            }
        });
        Ok(cache)
    }
}
