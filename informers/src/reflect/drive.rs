//! The shell: it asks the source what the reflector wants to know, and tells it what came.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant as Moment;

use machinery_objects::{ListError, ListWatch, Object, Page, WatchError, WatchEvent, WatchStream};
use tokio::time::{Instant, Sleep, sleep_until};

use super::events::{EVENTS_PER_YIELD, WatchItem, next_of, ready_item_of};
use super::source_object::objects_of_page;
use super::{Effect, Reflector, ReflectorCommand, ReflectorConfig, ReflectorInput};

/// Whoever makes something of what comes.
pub(crate) trait Sink<T>: Send {
    /// An event of an object came.
    fn on_event(&mut self);
    /// What is known is as new as it can be.
    fn on_fresh(&mut self, now: Moment);
    /// It is asked something.
    fn on_command(&mut self, command: &ReflectorCommand);
    /// Whether there is room for all of it; if not, what there is no room for is taken out, and all after it.
    fn fits(&mut self, _effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        true
    }
    /// Makes the changes, and tells of them. False: there was no room for what came, and it was left out with all after it.
    fn apply(&mut self, now: Moment, effects: &mut Vec<Effect<Arc<T>>>) -> bool;
    /// Returns when somebody wants all of it anew.
    fn relist_requested(&self) -> impl Future<Output = ()> + Send;
}

type SourceFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// What was asked of the source.
enum SourceTask<T> {
    Nothing,
    List(SourceFuture<Page<Arc<T>>, ListError>),
    Open(SourceFuture<WatchStream<Arc<T>>, WatchError>),
    Watch(WatchStream<Arc<T>>),
}

/// Goes on until it is dropped.
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
        // What comes after all of it anew is taken by itself: it may be more than there is room for.
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
            sink.apply(now, &mut effects);
        }
        if let Some(command) = command {
            sink.on_command(&command);
            task = start(&source, command);
            turn = EVENTS_PER_YIELD; // a page is many objects
        }
        // Counted from one turn of others to the next: a source may be pending only where it is asked what is at hand, and never
        // where it is waited for.
        if turn >= EVENTS_PER_YIELD {
            tokio::task::yield_now().await;
            turn = 0;
        }
        let due = Instant::from_std(reflector.due());
        input = tokio::select! {
            biased;
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

/// What comes next of what was asked.
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

/// What is there already.
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

/// Returns when it is so late. What is put off again and again costs a timer a ring, not one each time.
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
