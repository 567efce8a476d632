//! Writes audit events to the sink, in order, by one owned task that ends after draining the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::AuditSink;
use super::policy::{AuditLevel, AuditPolicy};
use crate::metrics::Audited;
use crate::refusal::Refusal;
use crate::server::Limits;

/// Maximum number of lines in one write.
const AT_ONCE: usize = 256;

/// An audit policy with its sink.
pub struct Audit {
    policy: AuditPolicy,
    sink: Box<dyn AuditSink>,
    strict: bool,
}

impl Audit {
    /// Logs the events that `policy` selects. A response waits until its events are written. Failed
    /// writes are counted; the request proceeds all the same.
    #[must_use]
    pub fn new(policy: AuditPolicy, sink: impl AuditSink) -> Self {
        Self { policy, sink: Box::new(sink), strict: false }
    }

    /// Rejects a request with 500, before processing it, if its `RequestReceived` event cannot be
    /// written.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }
}

/// The audit log of a running server.
///
/// Its queue needs no limit of its own: each request holds a slot from its arrival until its last
/// line is written, and queues at most one more line, which it waits for.
pub(crate) struct Log {
    pub(super) policy: AuditPolicy,
    pub(super) strict: bool,
    queue: UnboundedSender<QueuedLine>,
    slots: Arc<Semaphore>,
    request_timeout: Duration,
    metrics: Audited,
    task: TaskTracker,
    stopping: CancellationToken,
}

/// A line with its completion notification.
struct QueuedLine {
    line: Vec<u8>,
    written: Option<oneshot::Sender<bool>>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Log {
    /// Starts the log. Its task ends when it is dropped, or by [`Self::end`].
    pub(crate) fn begin(audit: Audit, limits: &Limits, metrics: Audited) -> Self {
        let Audit { policy, sink, strict } = audit;
        let (queue, lines) = unbounded_channel();
        let (task, stopping) = (TaskTracker::new(), CancellationToken::new());
        task.spawn(run(lines, sink, stopping.clone(), metrics.clone()));
        task.close();
        // Requests rejected by the concurrency limits are logged too.
        let long = limits.watches.saturating_add(limits.long_lists);
        let slots = long.saturating_add(limits.admitted.saturating_mul(4)).min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(slots));
        Self { policy, strict, queue, slots, request_timeout: limits.work, metrics, task, stopping }
    }

    /// Acquires a slot for a request.
    ///
    /// # Errors
    /// 429 if no slot became free within the request timeout: the sink is stuck.
    pub(super) async fn slot(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        match timeout(self.request_timeout, self.slots.clone().acquire_owned()).await {
            Ok(Ok(slot)) => Ok(slot),
            _ => {
                self.metrics.rejected.inc();
                let message = "the audit log takes nothing more, please try again later.";
                Err(Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) })
            }
        }
    }

    /// Writes a line. `false`: the line was not written, or the result is unknown.
    pub(super) async fn write(&self, line: Vec<u8>, slot: Option<OwnedSemaphorePermit>) -> bool {
        let (written, done) = oneshot::channel();
        self.put(QueuedLine { line, written: Some(written), _slot: slot });
        // After the timeout the line may still be written; if not, the task counts it as lost.
        matches!(timeout(self.request_timeout, done).await, Ok(Ok(true)))
    }

    /// Queues a line without waiting for its write.
    pub(super) fn leave(&self, line: Vec<u8>, slot: OwnedSemaphorePermit) {
        self.put(QueuedLine { line, written: None, _slot: Some(slot) });
    }

    /// Counts a request that was rejected because it could not be logged.
    pub(super) fn rejected(&self) {
        self.metrics.rejected.inc();
    }

    /// Counts the audit level of a request.
    pub(super) fn decided(&self, level: AuditLevel) {
        self.metrics.level(level.name());
    }

    fn put(&self, item: QueuedLine) {
        if self.queue.send(item).is_err() {
            // The server was stopped.
            self.metrics.lost(1);
        }
    }

    /// Drains the queue and accepts nothing more. A stuck sink is abandoned after the timeout.
    pub(crate) async fn end(&self) {
        self.stopping.cancel();
        let _ = timeout(self.request_timeout, self.task.wait()).await;
    }
}

async fn run(
    mut queue: UnboundedReceiver<QueuedLine>,
    mut sink: Box<dyn AuditSink>,
    stopping: CancellationToken,
    metrics: Audited,
) {
    let mut items = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = stopping.cancelled(), if !queue.is_closed() => queue.close(),
            number = queue.recv_many(&mut items, AT_ONCE) => {
                if number == 0 {
                    return;
                }
                let lines: Vec<u8> = items.iter().flat_map(|item| &item.line).copied().collect();
                let write = move || {
                    // A sink handles its own panics; it also receives the next lines.
                    let written = catch_unwind(AssertUnwindSafe(|| sink.write(&lines)));
                    (matches!(written, Ok(Ok(()))), sink)
                };
                let Ok((written, back)) = tokio::task::spawn_blocking(write).await else {
                    // The runtime is shutting down.
                    metrics.lost(number);
                    return;
                };
                sink = back;
                if written { metrics.written(number) } else { metrics.lost(number) }
                for item in items.drain(..) {
                    if let Some(waiting) = item.written {
                        let _ = waiting.send(written);
                    }
                }
            }
        }
    }
}
