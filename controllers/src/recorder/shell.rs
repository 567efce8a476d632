//! The recorder handle and its write loop.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jiff::Timestamp;
use machinery_objects::{Patch, PatchFormat, Preconditions, WriteError, Writer};
use machinery_sync::Mutex;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::correlate::{Correlator, EventAction, EventLimits};
use super::event::{EventObject, MAX_MESSAGE_LENGTH, cut, time};
use super::note::Note;

/// The event recorder (client-go's `record.EventRecorder`): writes Events for users in the
/// background. It never blocks; notes beyond the queue's capacity are counted and dropped.
///
/// Equal notes increment the count of one event, similar ones are combined into one, and notes
/// beyond the rate limit of their object are dropped. Cheap to clone.
#[derive(Clone)]
pub struct Recorder(Arc<RecorderInner>);

struct RecorderInner {
    sender: Sender<Note>,
    receiver: Mutex<Option<Receiver<Note>>>,
    writer: Arc<dyn Writer<EventObject>>,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    component: Box<str>,
    limits: EventLimits,
    counts: RecorderCounters,
}

#[derive(Default)]
struct RecorderCounters {
    written: AtomicU64,
    aggregated: AtomicU64,
    rate_limited: AtomicU64,
    queue_full: AtomicU64,
    failed: AtomicU64,
}

/// Counts of notes by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderCounts {
    /// Written as an event, new or incremented.
    pub written: u64,
    /// Of these, written as an increment of an existing event.
    pub aggregated: u64,
    /// Dropped by the rate limit of their object.
    pub rate_limited: u64,
    /// Dropped because the queue was full.
    pub queue_full: u64,
    /// Dropped because the write failed.
    pub failed: u64,
}

/// Capacity of the queue of notes.
const QUEUE_CAPACITY: usize = 1024;
/// Attempts of a write, and the delay between them, which grows linearly.
const ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// Timeout of a write, and of the flush at shutdown.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

impl Recorder {
    /// Creates a recorder for a component. The wall clock provides the timestamps of events.
    /// Nothing is written before [`run`](Self::run).
    #[must_use]
    pub fn new(
        component: &str,
        writer: Arc<dyn Writer<EventObject>>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
        limits: EventLimits,
    ) -> Self {
        let (sender, receiver) = channel(QUEUE_CAPACITY);
        let receiver = Mutex::new(Some(receiver));
        let counts = RecorderCounters::default();
        Self(Arc::new(RecorderInner {
            sender,
            receiver,
            writer,
            clock: Box::new(clock),
            component: component.into(),
            limits,
            counts,
        }))
    }

    /// Queues a note. Returns at once.
    pub fn note(&self, mut note: Note) {
        note.cut();
        if self.0.sender.try_send(note).is_err() {
            self.0.counts.queue_full.fetch_add(1, Relaxed);
        }
    }

    /// Returns the counts.
    #[must_use]
    pub fn counts(&self) -> RecorderCounts {
        self.0.counts()
    }

    /// Returns a count source for metrics that holds a weak reference.
    #[cfg(feature = "prometheus")]
    pub(crate) fn metrics_source(&self) -> impl Fn() -> Option<RecorderCounts> + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.0);
        move || Some(shared.upgrade()?.counts())
    }

    /// Writes events until the token is cancelled, then flushes the queue for at most ten seconds.
    /// It can run repeatedly, once at a time: a concurrent call returns at once.
    pub fn run(&self, stopping: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        let shared = self.0.clone();
        async move {
            let Some(notes) = shared.receiver.lock().take() else { return };
            let mut receiver_guard = NoteReceiver { shared: &shared, notes: Some(notes), in_flight: false };
            let end = async {
                stopping.cancelled().await;
                sleep(WRITE_TIMEOUT).await;
            };
            tokio::select! {
                biased;
                () = receiver_guard.write_all(&stopping) => {}
                () = end => {}
            }
        }
    }
}

/// The receiver of notes while the recorder runs; returned on drop, with the remaining notes
/// counted as failed.
struct NoteReceiver<'s> {
    shared: &'s RecorderInner,
    notes: Option<Receiver<Note>>,
    /// A note has left the queue and is not written yet.
    in_flight: bool,
}

impl NoteReceiver<'_> {
    async fn write_all(&mut self, stopping: &CancellationToken) {
        let mut correlator = Correlator::new(&self.shared.component, self.shared.limits);
        let Some(notes) = &mut self.notes else { return };
        loop {
            let next = match stopping.run_until_cancelled(notes.recv()).await {
                Some(next) => next,
                None => notes.try_recv().ok(),
            };
            let Some(note) = next else { return };
            self.in_flight = true;
            self.shared.write(&mut correlator, &note).await;
            self.in_flight = false;
        }
    }
}

impl Drop for NoteReceiver<'_> {
    fn drop(&mut self) {
        let Some(mut notes) = self.notes.take() else { return };
        let mut lost = u64::from(self.in_flight);
        while notes.try_recv().is_ok() {
            lost += 1;
        }
        self.shared.counts.failed.fetch_add(lost, Relaxed);
        *self.shared.receiver.lock() = Some(notes);
    }
}

impl RecorderInner {
    fn counts(&self) -> RecorderCounts {
        let RecorderCounters { written, aggregated, rate_limited, queue_full, failed } = &self.counts;
        RecorderCounts {
            written: written.load(Relaxed),
            aggregated: aggregated.load(Relaxed),
            rate_limited: rate_limited.load(Relaxed),
            queue_full: queue_full.load(Relaxed),
            failed: failed.load(Relaxed),
        }
    }

    async fn write(&self, correlator: &mut Correlator, note: &Note) {
        let count = match self.written(correlator, note).await {
            Ok(true) => &self.counts.written,
            Ok(false) => &self.counts.rate_limited,
            Err(error) => {
                tracing::warn!(%error, about = %note.about, reason = note.reason, "an event was not written");
                &self.counts.failed
            }
        };
        count.fetch_add(1, Relaxed);
    }

    async fn written(&self, correlator: &mut Correlator, note: &Note) -> Result<bool, WriteError> {
        let now = (self.clock)();
        let mut action = correlator.record(now, note);
        for attempt in 1.. {
            let done = match &action {
                EventAction::Discard => return Ok(false),
                EventAction::Create(event) => bounded(self.writer.create(event, None)).await,
                EventAction::Increment { key, count, text } => {
                    let text = cut(text, MAX_MESSAGE_LENGTH);
                    let body =
                        json!({ "count": count, "lastTimestamp": time(now), "message": text }).to_string();
                    let patch =
                        Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false };
                    bounded(self.writer.patch(key, &patch, &Preconditions::default())).await
                }
            };
            match done {
                Ok(()) => {
                    let is_again = matches!(action, EventAction::Increment { .. });
                    self.counts.aggregated.fetch_add(is_again.into(), Relaxed);
                    return Ok(true);
                }
                // Events expire. And an event whose response was lost may exist.
                Err(WriteError::NotFound)
                    if attempt < ATTEMPTS && matches!(action, EventAction::Increment { .. }) =>
                {
                    correlator.forget(note);
                    action = correlator.record(now, note);
                }
                Err(WriteError::AlreadyExists { .. }) if attempt > 1 => return Ok(true),
                Err(WriteError::Source(_) | WriteError::UnknownOutcome { .. }) if attempt < ATTEMPTS => {
                    sleep(RETRY_DELAY * attempt).await;
                }
                Err(error) => {
                    correlator.forget(note);
                    return Err(error);
                }
            }
        }
        Ok(false)
    }
}

async fn bounded<W>(write: impl Future<Output = Result<W, WriteError>>) -> Result<(), WriteError> {
    match timeout(WRITE_TIMEOUT, write).await {
        Ok(written) => written.map(drop),
        Err(_) => Err(WriteError::UnknownOutcome { reason: "no answer in ten seconds".into() }),
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
