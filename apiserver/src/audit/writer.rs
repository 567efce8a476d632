//! What is said of requests goes to the sink: in order, by one task, which is owned and ends when all is written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::AuditSink;
use super::policy::{AuditPolicy, Level};
use crate::metrics::Audited;
use crate::refusal::Refusal;
use crate::server::Limits;

/// So many lines are written at once.
const AT_ONCE: usize = 256;

/// What is logged, and where.
pub struct Audit {
    policy: AuditPolicy,
    sink: Box<dyn AuditSink>,
    strict: bool,
}

impl Audit {
    /// Logs what the policy says. A request waits until what is said of it is written. If that cannot be done, it is counted, and the
    /// request is done and answered all the same.
    #[must_use]
    pub fn new(policy: AuditPolicy, sink: impl AuditSink) -> Self {
        Self { policy, sink: Box::new(sink), strict: false }
    }

    /// The same; and a request of which it cannot be written that it came is refused with 500, and not done.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }
}

/// The log of a running server.
///
/// Its queue has no limit of its own: each request holds a place from its beginning until its last line is written, and has at most one more line
/// in the queue, which it waits for.
pub(crate) struct Log {
    pub(super) policy: AuditPolicy,
    pub(super) strict: bool,
    queue: UnboundedSender<Item>,
    places: Arc<Semaphore>,
    patience: Duration,
    metrics: Audited,
    task: TaskTracker,
    ending: CancellationToken,
}

/// A line, and who waits for it.
struct Item {
    line: Vec<u8>,
    written: Option<oneshot::Sender<bool>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Log {
    /// Begins one. Its task ends with it, or with [`Self::end`].
    pub(crate) fn begin(audit: Audit, limits: &Limits, metrics: Audited) -> Self {
        let Audit { policy, sink, strict } = audit;
        let (queue, lines) = unbounded_channel();
        let (task, ending) = (TaskTracker::new(), CancellationToken::new());
        task.spawn(run(lines, sink, ending.clone(), metrics.clone()));
        task.close();
        // What is refused because there is too much is logged too.
        let long = limits.watches.saturating_add(limits.long_lists);
        let places = long.saturating_add(limits.in_flight.saturating_mul(4)).min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(places));
        Self { policy, strict, queue, places, patience: limits.work, metrics, task, ending }
    }

    /// A place for a request.
    ///
    /// # Errors
    /// There was none for as long as a request may take: nothing is written any more.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        match timeout(self.patience, self.places.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => {
                self.metrics.rejected.inc();
                let message = "the audit log takes nothing more, please try again later.";
                Err(Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) })
            }
        }
    }

    /// Writes a line. False: it is not written, or nobody knows.
    pub(super) async fn write(&self, line: Vec<u8>, place: Option<OwnedSemaphorePermit>) -> bool {
        let (written, done) = oneshot::channel();
        self.put(Item { line, written: Some(written), _place: place });
        // What takes longer may still be written, and is counted by the task if it is not.
        matches!(timeout(self.patience, done).await, Ok(Ok(true)))
    }

    /// Writes a line that nobody waits for.
    pub(super) fn leave(&self, line: Vec<u8>, place: OwnedSemaphorePermit) {
        self.put(Item { line, written: None, _place: Some(place) });
    }

    /// A request was refused because it could not be logged.
    pub(super) fn rejected(&self) {
        self.metrics.rejected.inc();
    }

    /// How much is said of a request.
    pub(super) fn decided(&self, level: Level) {
        self.metrics.level(level.name());
    }

    fn put(&self, item: Item) {
        if self.queue.send(item).is_err() {
            // The server was stopped.
            self.metrics.lost(1);
        }
    }

    /// Writes what is queued, and takes nothing more. A sink that is stuck is left behind.
    pub(crate) async fn end(&self) {
        self.ending.cancel();
        let _ = timeout(self.patience, self.task.wait()).await;
    }
}

async fn run(
    mut queue: UnboundedReceiver<Item>,
    mut sink: Box<dyn AuditSink>,
    ending: CancellationToken,
    metrics: Audited,
) {
    let mut items = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = ending.cancelled(), if !queue.is_closed() => queue.close(),
            number = queue.recv_many(&mut items, AT_ONCE) => {
                if number == 0 {
                    return;
                }
                let lines: Vec<u8> = items.iter().flat_map(|item| &item.line).copied().collect();
                let write = move || {
                    // What a sink makes of its panic is its own; the next lines are given to it as well.
                    let written = catch_unwind(AssertUnwindSafe(|| sink.write(&lines)));
                    (matches!(written, Ok(Ok(()))), sink)
                };
                let Ok((written, back)) = tokio::task::spawn_blocking(write).await else {
                    // The runtime ends.
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
