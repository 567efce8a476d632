//! Named tasks of a plane.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use machinery_sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Named tasks with a common cancellation. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct TaskGroup {
    tasks: TaskTracker,
    stopping: CancellationToken,
    names: Arc<Mutex<TaskNames>>,
}

#[derive(Default)]
struct TaskNames {
    next: u64,
    all: BTreeMap<u64, String>,
    #[cfg(feature = "testing")]
    aborts: BTreeMap<u64, tokio::task::AbortHandle>,
}

/// Registration of a running task; the shutdown waits until it is dropped.
pub(crate) struct TaskGuard {
    names: Arc<Mutex<TaskNames>>,
    number: u64,
    _waited_for: TaskTrackerToken,
}

impl TaskGroup {
    pub(crate) fn register(&self, name: &str) -> TaskGuard {
        let mut names = self.names.lock();
        let number = names.next;
        names.next += 1;
        names.all.insert(number, name.into());
        TaskGuard { names: self.names.clone(), number, _waited_for: self.tasks.token() }
    }

    pub(crate) fn spawn<F>(&self, name: &str, run: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let runs = self.register(name);
        #[cfg(feature = "testing")]
        let number = runs.number;
        let task = self.tasks.spawn(async move {
            let _runs = runs;
            run.await
        });
        #[cfg(feature = "testing")]
        self.names.lock().abortable(number, &task);
        task
    }

    pub(crate) const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Cancels all tasks, waits up to `timeout`, and returns the names of those still running.
    pub(super) async fn shutdown(&self, timeout: Duration) -> Vec<String> {
        self.stopping.cancel();
        self.tasks.close();
        match time::timeout(timeout, self.tasks.wait()).await {
            Ok(()) => Vec::new(),
            // A spawned task and its watcher share a name.
            Err(_) => self.names.lock().all.values().collect::<BTreeSet<_>>().into_iter().cloned().collect(),
        }
    }
}

#[cfg(feature = "testing")]
impl TaskGroup {
    /// Aborts all tasks, and waits for those that end by it.
    pub(super) async fn kill(&self, timeout: Duration) {
        self.stopping.cancel();
        self.tasks.close();
        self.names.lock().aborts.values().for_each(tokio::task::AbortHandle::abort);
        // A task of the user's that has only registered here ends by the token, or later.
        let _ = time::timeout(timeout, self.tasks.wait()).await;
    }
}

#[cfg(feature = "testing")]
impl TaskNames {
    fn abortable<T>(&mut self, number: u64, task: &JoinHandle<T>) {
        if self.all.contains_key(&number) {
            self.aborts.insert(number, task.abort_handle());
        }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        let mut names = self.names.lock();
        names.all.remove(&self.number);
        #[cfg(feature = "testing")]
        names.aborts.remove(&self.number);
    }
}
