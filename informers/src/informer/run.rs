//! The shell: it asks the source what the reflector wants to know, and tells it what came.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use machinery_objects::{
    ListError, Mark, Object, ObjectKey, Page, Unreadable, WatchError, WatchEvent, WatchStream,
};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use crate::audit;
use crate::cache::{Cache, Outcome};
use crate::reflect::{Effect, Found, Input, Order, Plan, Reflector};

/// So many events that are there already are seen, and told, together.
const AT_ONCE: usize = 256;

pub(super) async fn run<T: Object>(shared: &Arc<Shared<T>>, stopping: CancellationToken) {
    let audit = async {
        match shared.audit {
            Some(every) => audit::run(shared, every).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = stopping.cancelled() => {}
        () = reflect(shared) => {}
        () = audit => {}
    }
    shared.stopping.cancel();
    shared.hub.close();
    shared.reached.close();
    shared.tasks.close();
    shared.tasks.wait().await;
}

type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// What was asked of the source.
enum Asked<T> {
    Nothing,
    List(Answer<Page<Arc<T>>, ListError>),
    Open(Answer<WatchStream<Arc<T>>, WatchError>),
    Watch(WatchStream<Arc<T>>),
}

async fn reflect<T: Object>(shared: &Arc<Shared<T>>) {
    let can = shared.source.capabilities();
    let plan = Plan { filter: shared.filter.clone(), can, limits: shared.limits, seed: shared.seed };
    let mut reflector = Reflector::new(plan, Instant::now().into_std());
    let mut cache = Cache::new(shared.map.clone(), shared.seed, can.versions_are_ordered);
    let mut asked = Asked::Nothing;
    let mut effects = Vec::new();
    let mut input = Input::Time;
    let mut alarm = Box::pin(sleep_until(Instant::now()));
    loop {
        let mut steps = 1;
        let mut order = step(shared, &mut reflector, input, &mut effects);
        while order.is_none() && steps < AT_ONCE {
            let Some(next) = at_hand(&mut asked).await else { break };
            order = step(shared, &mut reflector, next, &mut effects);
            steps += 1;
        }
        publish(shared, &mut cache, &mut effects);
        if let Some(order) = order {
            asked = ask(shared, order);
        }
        if steps == AT_ONCE {
            tokio::task::yield_now().await;
        }
        let due = Instant::from_std(reflector.due());
        input = tokio::select! {
            biased;
            () = wanted_anew(shared) => Input::Anew,
            input = next(&mut asked) => input,
            () = past(alarm.as_mut(), due) => Input::Time,
        };
    }
}

fn step<T: Object>(
    shared: &Shared<T>,
    reflector: &mut Reflector,
    input: Input<Arc<T>>,
    effects: &mut Vec<Effect<Arc<T>>>,
) -> Option<Order> {
    let now = Instant::now().into_std();
    match &input {
        Input::Event(event) => {
            shared.reached.heard(now);
            if !matches!(event, WatchEvent::Bookmark { .. }) {
                shared.report.lock().counts.events += 1;
            }
        }
        Input::Page(_) | Input::Watching | Input::WatchEnded => shared.reached.heard(now),
        _ => {}
    }
    reflector.step(now, input, effects)
}

/// Makes the changes and tells of them, with nobody coming in between.
fn publish<T: Object>(shared: &Shared<T>, cache: &mut Cache<T>, effects: &mut Vec<Effect<Arc<T>>>) {
    if effects.is_empty() {
        return;
    }
    let now = Instant::now().into_std();
    let unreadable = effects.iter().filter(|effect| matches!(effect, Effect::Unreadable(_))).count() as u64;
    let mut publishing = shared.hub.publishing();
    let outcome = cache.apply(effects, publishing.is_heard());
    publishing.publish(now, &outcome.news);
    if outcome.first {
        publishing.mark(&Mark::Synced);
    }
    if let Some(version) = &outcome.reached {
        publishing.mark(&Mark::Progress(version.clone()));
    }
    drop(publishing);
    let Outcome { news, displaced, reached, whole, troubles, well, first: _ } = outcome;
    drop((news, displaced));
    match reached {
        Some(version) => shared.reached.to(version, whole),
        None => shared.reached.changed(),
    }
    let mut report = shared.report.lock();
    report.counts.unreadable += unreadable;
    report.counts.troubles += troubles.len() as u64;
    report.counts.late = cache.late();
    if whole || unreadable > 0 || report.unreadable.len() != cache.unreadable().len() {
        report.unreadable = cache.unreadable().values().cloned().collect();
    }
    if well {
        report.trouble = None;
    } else if let Some(trouble) = troubles.into_iter().last() {
        report.trouble = Some(trouble);
    }
}

fn ask<T: Object>(shared: &Arc<Shared<T>>, order: Order) -> Asked<T> {
    let source = shared.source.clone();
    match order {
        Order::Wait => Asked::Nothing,
        Order::List(request) => {
            shared.report.lock().counts.lists += 1;
            Asked::List(Box::pin(async move { source.list(request).await }))
        }
        Order::Watch(request) => {
            shared.report.lock().counts.watches += 1;
            Asked::Open(Box::pin(async move { source.watch(request).await }))
        }
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
            let event = poll_fn(|cx| events.as_mut().poll_next(cx)).await;
            heard(asked, event)
        }
    }
}

/// What is there already.
async fn at_hand<T: Object>(asked: &mut Asked<T>) -> Option<Input<Arc<T>>> {
    let Asked::Watch(events) = asked else { return None };
    let polled = poll_fn(|cx| Poll::Ready(events.as_mut().poll_next(cx))).await;
    match polled {
        Poll::Ready(event) => Some(heard(asked, event)),
        Poll::Pending => None,
    }
}

fn heard<T: Object>(
    asked: &mut Asked<T>,
    event: Option<Result<WatchEvent<Arc<T>>, WatchError>>,
) -> Input<Arc<T>> {
    match event {
        Some(Ok(event)) => Input::Event(found_in(event)),
        Some(Err(error)) => {
            *asked = Asked::Nothing;
            Input::WatchFailed(error)
        }
        None => {
            *asked = Asked::Nothing;
            Input::WatchEnded
        }
    }
}

async fn wanted_anew<T: Object>(shared: &Shared<T>) {
    loop {
        let listener = shared.anew.told.listen();
        if shared.anew.wanted.swap(false, Ordering::AcqRel) {
            return;
        }
        listener.await;
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

fn found_all<T: Object>(page: Page<Arc<T>>) -> Page<Found<Arc<T>>> {
    let Page { items, mut unreadable, version, rest, remaining } = page;
    let mut found = Vec::with_capacity(items.len());
    for object in items {
        match of(object) {
            Ok(object) => found.push(object),
            Err(nameless) => unreadable.push(nameless),
        }
    }
    Page { items: found, unreadable, version, rest, remaining }
}

fn found_in<T: Object>(event: WatchEvent<Arc<T>>) -> WatchEvent<Found<Arc<T>>> {
    let is_gone = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_));
    let mut nameless = None;
    let event = event.map(|object| match of(object) {
        Ok(found) => Some(found),
        Err(unreadable) => {
            nameless = Some(Unreadable { is_gone, ..unreadable });
            None
        }
    });
    if let Some(nameless) = nameless {
        return WatchEvent::Unreadable(nameless);
    }
    event.map(|found| found.expect("who has no name was told of already"))
}

fn of<T: Object>(object: Arc<T>) -> Result<Found<Arc<T>>, Unreadable> {
    let (key, version) = (object.key(), object.version());
    if key == ObjectKey::default() {
        return Err(Unreadable { key, version, is_gone: false, reason: "it has no name".into() });
    }
    Ok(Found { key, version, object })
}
