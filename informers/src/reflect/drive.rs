//! The shell: it asks the source what the reflector wants to know, and tells it what came.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant as Moment;

use machinery_objects::{ListError, ListWatch, Object, Page, WatchError, WatchEvent, WatchStream};
use tokio::time::{Instant, Sleep, sleep_until};

use super::events::{AT_ONCE, Heard, at_hand_of, next_of};
use super::found::found_all;
use super::{Effect, Input, Order, Plan, Reflector};

/// Whoever makes something of what comes.
pub(crate) trait Sink<T>: Send {
    /// An event of an object came.
    fn came(&mut self);
    /// What is known is as new as it can be.
    fn fresh(&mut self, now: Moment);
    /// It is asked something.
    fn asked(&mut self, order: &Order);
    /// Whether there is room for all of it; if not, what there is no room for is taken out, and all after it.
    fn fits(&mut self, _effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        true
    }
    /// Makes the changes, and tells of them. False: there was no room for what came, and it was left out with all after it.
    fn take(&mut self, now: Moment, effects: &mut Vec<Effect<Arc<T>>>) -> bool;
    /// Returns when somebody wants all of it anew.
    fn anew(&self) -> impl Future<Output = ()> + Send;
}

type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// What was asked of the source.
enum Asked<T> {
    Nothing,
    List(Answer<Page<Arc<T>>, ListError>),
    Open(Answer<WatchStream<Arc<T>>, WatchError>),
    Watch(WatchStream<Arc<T>>),
}

/// Goes on until it is dropped.
pub(crate) async fn drive<T: Object>(
    source: Arc<dyn ListWatch<Arc<T>>>,
    plan: Plan,
    sink: &mut impl Sink<T>,
) {
    let mut reflector = Reflector::new(plan, Instant::now().into_std());
    let mut asked = Asked::Nothing;
    let mut effects = Vec::new();
    let mut input = Input::Time;
    let mut alarm = Box::pin(sleep_until(Instant::now()));
    let mut turn = 0;
    loop {
        let now = Instant::now().into_std();
        // What comes after all of it anew is taken by itself: it may be more than there is room for.
        let renewing = reflector.is_renewing();
        let mut order = step(now, &mut reflector, input, &mut effects, sink);
        turn += 1;
        while order.is_none() && turn < AT_ONCE && reflector.is_renewing() == renewing {
            let Some(next) = at_hand(&mut asked).await else { break };
            order = step(now, &mut reflector, next, &mut effects, sink);
            turn += 1;
        }
        if !sink.fits(&mut effects) {
            order = reflector.step(now, Input::Full, &mut effects);
        }
        if !effects.is_empty() && !sink.take(now, &mut effects) {
            order = reflector.step(now, Input::Full, &mut effects);
            sink.take(now, &mut effects);
        }
        if let Some(order) = order {
            sink.asked(&order);
            asked = ask(&source, order);
            turn = AT_ONCE; // a page is many objects
        }
        // Counted from one turn of others to the next: a source may be pending only where it is asked what is at hand, and never
        // where it is waited for.
        if turn >= AT_ONCE {
            tokio::task::yield_now().await;
            turn = 0;
        }
        let due = Instant::from_std(reflector.due());
        input = tokio::select! {
            biased;
            () = sink.anew() => Input::Anew,
            input = next(&mut asked) => input,
            () = past(alarm.as_mut(), due) => Input::Time,
        };
    }
}

fn step<T: Object>(
    now: Moment,
    reflector: &mut Reflector,
    input: Input<Arc<T>>,
    effects: &mut Vec<Effect<Arc<T>>>,
    sink: &mut impl Sink<T>,
) -> Option<Order> {
    if matches!(&input, Input::Event(event) if !matches!(event, WatchEvent::Bookmark { .. })) {
        sink.came();
    }
    let order = reflector.step(now, input, effects);
    if reflector.is_fresh() {
        sink.fresh(now);
    }
    order
}

fn ask<T: Object>(source: &Arc<dyn ListWatch<Arc<T>>>, order: Order) -> Asked<T> {
    let source = source.clone();
    match order {
        Order::Wait => Asked::Nothing,
        Order::List(request) => Asked::List(Box::pin(async move { source.list(request).await })),
        Order::Watch(request) => Asked::Open(Box::pin(async move { source.watch(request).await })),
    }
}

/// What comes next of what was asked.
async fn next<T: Object>(asked: &mut Asked<T>) -> Input<Arc<T>> {
    match asked {
        Asked::Nothing => std::future::pending().await,
        Asked::List(list) => {
            let listed = list.as_mut().await;
            *asked = Asked::Nothing;
            match listed {
                Ok(page) => Input::Page(found_all(page)),
                Err(error) => Input::ListFailed(error),
            }
        }
        Asked::Open(open) => match open.as_mut().await {
            Ok(events) => {
                *asked = Asked::Watch(events);
                Input::Watching
            }
            Err(error) => {
                *asked = Asked::Nothing;
                Input::WatchFailed(error)
            }
        },
        Asked::Watch(events) => {
            let heard = next_of(events).await;
            input_of(asked, heard)
        }
    }
}

/// What is there already.
async fn at_hand<T: Object>(asked: &mut Asked<T>) -> Option<Input<Arc<T>>> {
    let Asked::Watch(events) = asked else { return None };
    let heard = at_hand_of(events).await?;
    Some(input_of(asked, heard))
}

fn input_of<T>(asked: &mut Asked<T>, heard: Heard<T>) -> Input<Arc<T>> {
    if !matches!(heard, Heard::Event(_)) {
        *asked = Asked::Nothing;
    }
    match heard {
        Heard::Event(event) => Input::Event(event),
        Heard::Failed(error) => Input::WatchFailed(error),
        Heard::Ended => Input::WatchEnded,
    }
}

/// Returns when it is so late. What is put off again and again costs a timer a ring, not one each time.
async fn past(mut alarm: Pin<&mut Sleep>, due: Instant) {
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
