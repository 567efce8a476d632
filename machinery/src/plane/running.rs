//! What runs on a plane, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use machinery_sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// What runs, until it is told to end. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Running {
    tasks: TaskTracker,
    stopping: CancellationToken,
    names: Arc<Mutex<Names>>,
}

#[derive(Default)]
struct Names {
    next: u64,
    all: BTreeMap<u64, String>,
}

/// Something that runs as long as this is there. Whoever stops the plane waits for it.
pub(crate) struct Runs {
    names: Arc<Mutex<Names>>,
    number: u64,
    _waited_for: TaskTrackerToken,
}

impl Running {
    pub(crate) fn enter(&self, name: &str) -> Runs {
        let mut names = self.names.lock();
        let number = names.next;
        names.next += 1;
        names.all.insert(number, name.into());
        Runs { names: self.names.clone(), number, _waited_for: self.tasks.token() }
    }

    pub(crate) fn spawn<F>(&self, name: &str, run: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let runs = self.enter(name);
        self.tasks.spawn(async move {
            let _runs = runs;
            run.await
        })
    }

    pub(crate) const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Tells all to end, waits for so long, and says what has not ended by then.
    pub(super) async fn end(&self, patience: Duration) -> Vec<String> {
        self.stopping.cancel();
        self.tasks.close();
        match timeout(patience, self.tasks.wait()).await {
            Ok(()) => Vec::new(),
            // What waits for another task has its name, too.
            Err(_) => self.names.lock().all.values().collect::<BTreeSet<_>>().into_iter().cloned().collect(),
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.names.lock().all.remove(&self.number);
    }
}
