//! One interest stream for all keys, for sources that have them, as our server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use machinery_objects::{
    EditNumber, Interest, InterestRequest, InterestSource, InterestWatch, Object, WatchError, WatchEvent,
    WatchStream,
};
use machinery_sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::editor::{Editor, StreamCommand, StreamInput};
use super::keyed_cache::Name;
use super::keyed_store::{KeyPerObject, KeyedStore, RequestedKeys};
use super::progress::ShownVersion;
use super::selector_text::{edit_of, texts_of};
use super::shared::{KeyedShared, ONE_STREAM, REFUSED, SelectorKey};
use crate::cache::CacheWriter;
use crate::readable::log_unreadable;
use crate::reflect::{EVENTS_PER_YIELD, ReflectorError, WatchItem, next_of, ready_item_of};

type StreamFuture<T> = Pin<Box<dyn Future<Output = Result<T, WatchError>> + Send>>;

/// The running request or stream.
enum StreamTask<T> {
    Nothing,
    Open(StreamFuture<InterestWatch<Arc<T>>>),
    Watch { events: WatchStream<Arc<T>>, interest: Arc<dyn Interest>, edit: Option<StreamFuture<EditNumber>> },
}

/// Keeps all keys up to date by one stream, for ever.
pub(super) async fn run<F: SelectorKey, T: Object>(
    shared: &Arc<KeyedShared<F, T>>,
    source: Arc<dyn InterestSource<Arc<T>>>,
) {
    let ordered = shared.source.capabilities().versions_are_ordered;
    let keys = Arc::new(Mutex::new(RequestedKeys::default()));
    let assignment = KeyPerObject {
        keyed_cache: shared.keyed_cache.clone(),
        find: shared.find.clone(),
        requested: keys.clone(),
    };
    let store = KeyedStore {
        keyed_cache: shared.keyed_cache.clone(),
        assignment,
        ordered,
        limit: shared.limits.objects,
    };
    let mut cache = CacheWriter::new(store, shared.seed, ordered);
    let mut editor: Editor<F> = Editor::new(shared.limits, ordered, shared.seed, Instant::now().into_std());
    let mut task: StreamTask<T> = StreamTask::Nothing;
    let _closing = NoStreamOnDrop(shared);
    let mut input = StreamInput::Time;
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    let mut steps = 0;
    loop {
        let now = Instant::now().into_std();
        // Registered before the changes are taken, or one in between would wake nothing.
        let listener = shared.keyed_cache.listen_interests();
        let changed = shared.keyed_cache.take_changed();
        let interests_changed = !changed.is_empty();
        if interests_changed {
            keys.lock().interests_changed(&changed);
        }
        editor.set_desired(changed);
        let mut command = None;
        loop {
            if let StreamInput::Event(event) = &input {
                let of_an_object =
                    !matches!(event, WatchEvent::Bookmark { .. } | WatchEvent::Complete { .. });
                shared.report.lock().record_event(now, of_an_object);
            }
            command = command.or(editor.step(now, input, &mut effects, &mut complete));
            steps += 1;
            if command.is_some() || steps >= EVENTS_PER_YIELD {
                break;
            }
            let Some(next) = ready_item(&mut task).await else { break };
            input = next;
        }
        if command.is_none() && interests_changed {
            command = editor.step(now, StreamInput::Time, &mut effects, &mut complete);
        }
        // Before objects of the restored source are visible.
        shared.keyed_cache.outdate(editor.take_outdated());
        if editor.shown() == ShownVersion::Doubtful {
            shared.progress.update(ONE_STREAM, ShownVersion::Doubtful);
        }
        let changes = !effects.is_empty();
        while !effects.is_empty() {
            let mut publishing = shared.keyed_cache.hub.publishing();
            let outcome = cache.apply(&mut effects, publishing.has_handlers());
            publishing.publish_steps(now, &outcome.changed.notifications, outcome.steps);
            drop(publishing);
            if outcome.is_full {
                // The objects of these keys were dropped.
                complete.clear();
                command = editor.step(now, StreamInput::Full, &mut effects, &mut complete);
            }
            let fenced = std::mem::take(&mut keys.lock().fenced);
            let mut report = shared.report.lock();
            report.counts.fenced += fenced;
            let unreadable = report.outcome::<Name<F>, T>(ONE_STREAM, &outcome, cache.unreadable());
            drop(report);
            log_unreadable::<T>(&unreadable);
            if outcome.errors.iter().any(ReflectorError::is_not_served) {
                shared.keyed_cache.notify_waiters();
            }
        }
        if changes || interests_changed {
            shared.progress.update(ONE_STREAM, editor.shown());
        }
        shared.keyed_cache.complete(complete.drain(..));
        report_refused(shared, &editor);
        if let Some(command) = command {
            // Before the request: objects of keys that are not recorded are dropped.
            keys.lock().record(&command);
            start(shared, &source, command, &mut task);
        }
        // Counted across iterations, as a source may be pending when polled and ready when awaited.
        if steps >= EVENTS_PER_YIELD {
            steps = 0;
            tokio::task::yield_now().await;
        }
        let due = editor.due().map(Instant::from_std);
        input = tokio::select! {
            biased;
            input = next(&mut task) => input,
            () = listener => StreamInput::Time,
            () = async { match due { Some(due) => sleep_until(due).await, None => std::future::pending().await } } => StreamInput::Time,
        };
        count(shared, &task);
    }
}

/// Reports refused keys to their waiters.
fn report_refused<F: SelectorKey, T: Object>(shared: &KeyedShared<F, T>, editor: &Editor<F>) {
    let mut report = shared.report.lock();
    if editor.has_refused() || report.has_refused() {
        let is_new = report.set_refused(editor.refused_tenures());
        drop(report);
        if is_new {
            tracing::error!(by = ?shared.by, "{REFUSED}");
            shared.keyed_cache.notify_waiters();
        }
    }
}

/// Sets the number of streams.
fn count<F, T>(shared: &KeyedShared<F, T>, task: &StreamTask<T>) {
    shared.streams.store(u64::from(!matches!(task, StreamTask::Nothing)), Ordering::Relaxed);
}

/// Resets the number of streams.
struct NoStreamOnDrop<'s, F, T>(&'s KeyedShared<F, T>);

impl<F, T> Drop for NoStreamOnDrop<'_, F, T> {
    fn drop(&mut self) {
        self.0.streams.store(0, Ordering::Relaxed);
    }
}

fn start<F: SelectorKey, T: Object>(
    shared: &KeyedShared<F, T>,
    source: &Arc<dyn InterestSource<Arc<T>>>,
    command: StreamCommand<F>,
    task: &mut StreamTask<T>,
) {
    match command {
        StreamCommand::Wait => *task = StreamTask::Nothing,
        StreamCommand::Open { keys, after } => {
            shared.report.lock().counts.opened += 1;
            let (by, filter) = (shared.by.clone(), shared.filter.clone());
            let request = texts_of(keys.keys()).map(|keys| InterestRequest { by, keys, filter, after });
            let source = source.clone();
            *task = StreamTask::Open(Box::pin(async move { source.open(request?).await }));
        }
        StreamCommand::Edit { remove, add } => {
            shared.report.lock().counts.edits += 1;
            if let StreamTask::Watch { interest, edit, .. } = task {
                let interest = interest.clone();
                let request = edit_of(&remove, &add);
                *edit = Some(Box::pin(async move { interest.edit(request?).await }));
            }
        }
    }
    count(shared, task);
}

/// Waits for the next result or event.
async fn next<T: Object>(task: &mut StreamTask<T>) -> StreamInput<Arc<T>> {
    match task {
        StreamTask::Nothing => std::future::pending().await,
        StreamTask::Open(open) => match open.as_mut().await {
            Ok(InterestWatch { events, interest }) => {
                *task = StreamTask::Watch { events, interest, edit: None };
                StreamInput::Opened
            }
            Err(error) => {
                *task = StreamTask::Nothing;
                StreamInput::Failed(error)
            }
        },
        StreamTask::Watch { events, edit, .. } => {
            let edited = async {
                match edit.as_mut() {
                    Some(edit) => edit.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                edited = edited => {
                    if let StreamTask::Watch { edit, .. } = task {
                        *edit = None;
                    }
                    edited.map_or_else(StreamInput::NotEdited, StreamInput::Edited)
                }
                item = next_of(events) => input_of(task, item),
            }
        }
    }
}

/// Returns the next event if it is ready.
async fn ready_item<T: Object>(task: &mut StreamTask<T>) -> Option<StreamInput<Arc<T>>> {
    let StreamTask::Watch { events, .. } = task else { return None };
    let item = ready_item_of(events).await?;
    Some(input_of(task, item))
}

fn input_of<T>(task: &mut StreamTask<T>, item: WatchItem<T>) -> StreamInput<Arc<T>> {
    if !matches!(item, WatchItem::Event(_)) {
        *task = StreamTask::Nothing;
    }
    match item {
        WatchItem::Event(event) => StreamInput::Event(event),
        WatchItem::Failed(error) => StreamInput::Failed(error),
        WatchItem::Ended => StreamInput::Ended,
    }
}
