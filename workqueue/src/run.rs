//! Queues on tokio: a queue with its own clock driver, and workers for it.

use crate::cause::Causes;
use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::priority::Priority;
use crate::queue::Queue;
use crate::shared::{Key, Shared};
use crate::ticker::Ticker;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

const MAX_WORKERS: usize = 65_536;

/// One run, as [`Queue::run`] passes it to its handler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run<K> {
    /// The key.
    pub key: K,
    /// Number of failures in a row before this run.
    pub attempts: u16,
    /// The highest priority of its adds.
    pub priority: Priority,
    /// The causes of the run.
    pub causes: Causes,
    /// Time that the key was ready before the run.
    pub waited: Duration,
}

/// The result of a successful run: whether to requeue the key (controller-runtime: `Result`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// No requeue until the key is added again.
    Done,
    /// Requeue after this time, or sooner if the key is added (controller-runtime: `RequeueAfter`).
    After(Duration),
}

impl<K: Key> Queue<K> {
    /// Creates a queue on the current tokio runtime, with tokio's time: paused and advanced with
    /// it.
    ///
    /// One task drives its clock; it sleeps while no delay is due, and stops with the queue. Delays
    /// and the deadline of a drain need that task, hence this runtime. While a handler blocks all
    /// threads of the runtime, durations that end meanwhile are counted too short.
    ///
    /// # Errors
    /// If a setting is invalid, or there is no tokio runtime with timers on this thread.
    pub fn new(config: Config<K>) -> Result<Self, ConfigError> {
        config.check()?;
        let (ticker, driver) = Ticker::new()?;
        let shared = Arc::new(Shared::new(config, Clock::Tokio(ticker)));
        driver.start(&shared);
        Ok(Self { shared })
    }

    /// Processes keys with `workers` tasks until the queue is closed or drained. After a close, a
    /// key that fails when no worker is left stays in the queue; drain to complete all work.
    ///
    /// An error or a panic is a failure, and the key is retried; the worker continues. Dropping the
    /// future aborts the workers, and their keys are retried.
    ///
    /// # Errors
    /// If `workers` is 0, or more than 65 536, or there is no tokio runtime on this thread.
    pub async fn run<H, F, E>(&self, workers: usize, handler: H) -> Result<(), ConfigError>
    where
        H: Fn(Run<K>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        E: fmt::Display + 'static,
    {
        match workers {
            0 => return Err(ConfigError::NoWorkers),
            more if more > MAX_WORKERS => return Err(ConfigError::TooManyWorkers(more)),
            _ => {}
        }
        if Handle::try_current().is_err() {
            return Err(ConfigError::NoRuntime);
        }
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            tasks.spawn(work(self.clone(), handler.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            if ended.is_err_and(|error| error.is_panic()) {
                // Its key was retried when the panic dropped the work: only the worker is missing.
                tasks.spawn(work(self.clone(), handler.clone()));
            }
        }
        Ok(())
    }
}

async fn work<K, H, F, E>(queue: Queue<K>, handler: H)
where
    K: Key,
    H: Fn(Run<K>) -> F,
    F: Future<Output = Result<Next, E>>,
    E: fmt::Display,
{
    while let Some(work) = queue.get().await {
        let run = Run {
            key: work.key().clone(),
            attempts: work.attempts(),
            priority: work.priority(),
            causes: work.causes(),
            waited: work.waited(),
        };
        match handler(run).await {
            Ok(Next::Done) => work.done(),
            Ok(Next::After(delay)) => work.after(delay),
            Err(error) => {
                work.retry(error);
            }
        }
    }
}
