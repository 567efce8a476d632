//! The shell of the reflector: executes its commands at the source and feeds it with the results.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant as Moment;

use machinery_objects::{ListError, ListWatch, Object, Page, WatchError, WatchEvent, WatchStream};
use tokio::time::{Instant, Sleep, sleep_until};

use super::events::{EVENTS_PER_YIELD, WatchItem, next_of, ready_item_of};
use super::source_object::objects_of_page;
use super::{Effect, Reflector, ReflectorCommand, ReflectorConfig, ReflectorInput};

/// The consumer of a reflector's effects.
pub(crate) trait Sink<T>: Send {
    /// An event of an object was received.
    fn on_event(&mut self);
    /// The source showed that the cache is current.
    fn on_fresh(&mut self, now: Moment);
    /// A command is about to be executed.
    fn on_command(&mut self, command: &ReflectorCommand);
    /// Returns whether all effects fit; if not, removes the first that does not and those after it.
    fn fits(&mut self, _effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        true
    }
    /// Applies the effects and notifies handlers. Returns false if the cache is full: that change
    /// and the rest of the batch were dropped.
    fn apply(&mut self, now: Moment, effects: &mut Vec<Effect<Arc<T>>>) -> bool;
    /// Returns when a relist is requested.
    fn relist_requested(&self) -> impl Future<Output = ()> + Send;
}

type SourceFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// The running request or watch.
enum SourceTask<T> {
    Nothing,
    List(SourceFuture<Page<Arc<T>>, ListError>),
    Open(SourceFuture<WatchStream<Arc<T>>, WatchError>),
    Watch(WatchStream<Arc<T>>),
}

/// Runs a reflector until the future is dropped.
pub(crate) async fn drive<T: Object>(
    source: Arc<dyn ListWatch<Arc<T>>>,
    config: ReflectorConfig,
    sink: &mut impl Sink<T>,
) {
    let mut reflector = Reflector::new(config, Instant::now().into_std());
    let mut task = SourceTask::Nothing;
    let mut effects = Vec::new();
    let mut input = ReflectorInput::Time;
    let mut alarm = Box::pin(sleep_until(Instant::now()));
    let mut turn = 0;
    loop {
        let now = Instant::now().into_std();
        // Events after a relist are applied in their own batch, as they may exceed the capacity.
        let relisting = reflector.is_relisting();
        let mut command = step(now, &mut reflector, input, &mut effects, sink);
        turn += 1;
        while command.is_none() && turn < EVENTS_PER_YIELD && reflector.is_relisting() == relisting {
            let Some(next) = ready_item(&mut task).await else { break };
            command = step(now, &mut reflector, next, &mut effects, sink);
            turn += 1;
        }
        if !sink.fits(&mut effects) {
            command = reflector.step(now, ReflectorInput::Full, &mut effects);
        }
        if !effects.is_empty() && !sink.apply(now, &mut effects) {
            command = reflector.step(now, ReflectorInput::Full, &mut effects);
            // The first call drained the effects: this one reports the error of a full cache.
            sink.apply(now, &mut effects);
        }
        if let Some(command) = command {
            sink.on_command(&command);
            // Dropping the running request or watch cancels it.
            task = start(&source, command);
            turn = EVENTS_PER_YIELD; // a page holds many objects
        }
        // Counted across iterations: a source may be pending when polled for ready events and ready
        // when awaited, so it would never yield.
        if turn >= EVENTS_PER_YIELD {
            tokio::task::yield_now().await;
            turn = 0;
        }
        let due = Instant::from_std(reflector.due());
        input = tokio::select! {
            biased;
            // A busy source must not starve a relist, and a ready event outruns the timeout.
            () = sink.relist_requested() => ReflectorInput::Relist,
            input = next(&mut task) => input,
            () = sleep_until_due(alarm.as_mut(), due) => ReflectorInput::Time,
        };
    }
}

fn step<T: Object>(
    now: Moment,
    reflector: &mut Reflector,
    input: ReflectorInput<Arc<T>>,
    effects: &mut Vec<Effect<Arc<T>>>,
    sink: &mut impl Sink<T>,
) -> Option<ReflectorCommand> {
    if matches!(&input, ReflectorInput::Event(event) if !matches!(event, WatchEvent::Bookmark { .. })) {
        sink.on_event();
    }
    let command = reflector.step(now, input, effects);
    if reflector.is_fresh() {
        sink.on_fresh(now);
    }
    command
}

fn start<T: Object>(source: &Arc<dyn ListWatch<Arc<T>>>, command: ReflectorCommand) -> SourceTask<T> {
    let source = source.clone();
    match command {
        ReflectorCommand::Wait => SourceTask::Nothing,
        ReflectorCommand::List(request) => {
            SourceTask::List(Box::pin(async move { source.list(request).await }))
        }
        ReflectorCommand::Watch(request) => {
            SourceTask::Open(Box::pin(async move { source.watch(request).await }))
        }
    }
}

/// Waits for the next result of the running request.
async fn next<T: Object>(task: &mut SourceTask<T>) -> ReflectorInput<Arc<T>> {
    match task {
        SourceTask::Nothing => std::future::pending().await,
        SourceTask::List(list) => {
            let listed = list.as_mut().await;
            *task = SourceTask::Nothing;
            match listed {
                Ok(page) => ReflectorInput::Page(objects_of_page(page)),
                Err(error) => ReflectorInput::ListFailed(error),
            }
        }
        SourceTask::Open(open) => match open.as_mut().await {
            Ok(events) => {
                *task = SourceTask::Watch(events);
                ReflectorInput::Watching
            }
            Err(error) => {
                *task = SourceTask::Nothing;
                ReflectorInput::WatchFailed(error)
            }
        },
        SourceTask::Watch(events) => {
            let item = next_of(events).await;
            input_of(task, item)
        }
    }
}

/// Returns the next event if it is ready.
async fn ready_item<T: Object>(task: &mut SourceTask<T>) -> Option<ReflectorInput<Arc<T>>> {
    let SourceTask::Watch(events) = task else { return None };
    let item = ready_item_of(events).await?;
    Some(input_of(task, item))
}

fn input_of<T>(task: &mut SourceTask<T>, item: WatchItem<T>) -> ReflectorInput<Arc<T>> {
    if !matches!(item, WatchItem::Event(_)) {
        *task = SourceTask::Nothing;
    }
    match item {
        WatchItem::Event(event) => ReflectorInput::Event(event),
        WatchItem::Failed(error) => ReflectorInput::WatchFailed(error),
        WatchItem::Ended => ReflectorInput::WatchEnded,
    }
}

/// Waits until `due`. A timer that is postponed repeatedly is reset once per expiry, not each time.
async fn sleep_until_due(mut alarm: Pin<&mut Sleep>, due: Instant) {
    loop {
        if alarm.deadline() > due || (alarm.is_elapsed() && due > alarm.deadline()) {
            alarm.as_mut().reset(due);
        }
        alarm.as_mut().await;
        if alarm.deadline() >= due {
            return;
        }
    }
}
