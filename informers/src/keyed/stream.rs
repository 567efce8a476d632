//! One stream of interest for all keys: what our own server can do.

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

use super::editor::{Editor, Input, Order};
use super::holdings::Name;
use super::progress::Shown;
use super::shared::{Shared, Text};
use super::shelves::{Asked as Keys, Each, Shelved};
use super::texts::{edit_of, texts_of};
use super::wanted::Tenure;
use crate::cache::Cache;
use crate::reflect::{AT_ONCE, Heard, at_hand_of, next_of};

/// The one stream there is.
const ALL: Tenure = Tenure(0);

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, WatchError>> + Send>>;

/// What was asked of the source.
enum Asked<T> {
    Nothing,
    Open(Answer<InterestWatch<Arc<T>>>),
    Watch { events: WatchStream<Arc<T>>, interest: Arc<dyn Interest>, edit: Option<Answer<EditNumber>> },
}

/// Keeps all that is wanted up to date by one stream, for ever.
pub(super) async fn run<F: Text, T: Object>(
    shared: &Arc<Shared<F, T>>,
    source: Arc<dyn InterestSource<Arc<T>>>,
) {
    let ordered = shared.source.capabilities().versions_are_ordered;
    let keys = Arc::new(Mutex::new(Keys::default()));
    let under = Each { holdings: shared.holdings.clone(), find: shared.find.clone(), asked: keys.clone() };
    let shelf = Shelved { holdings: shared.holdings.clone(), under, ordered, limit: shared.limits.objects };
    let mut cache = Cache::new(shelf, shared.seed, ordered);
    let mut editor: Editor<F> = Editor::new(shared.limits, ordered, shared.seed, Instant::now().into_std());
    let mut asked: Asked<T> = Asked::Nothing;
    let _closing = Closing(shared);
    let mut input = Input::Time;
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    let mut steps = 0;
    loop {
        let now = Instant::now().into_std();
        let listener = shared.holdings.listen_wants();
        let changed = shared.holdings.take_changed();
        let others_are_wanted = !changed.is_empty();
        if others_are_wanted {
            keys.lock().want(&changed);
        }
        editor.want(changed);
        let mut order = None;
        loop {
            if let Input::Event(event) = &input {
                let of_an_object =
                    !matches!(event, WatchEvent::Bookmark { .. } | WatchEvent::Complete { .. });
                shared.report.lock().heard(now, of_an_object);
            }
            order = order.or(editor.step(now, input, &mut effects, &mut complete));
            steps += 1;
            if order.is_some() || steps >= AT_ONCE {
                break;
            }
            let Some(next) = at_hand(&mut asked).await else { break };
            input = next;
        }
        if order.is_none() && others_are_wanted {
            order = editor.step(now, Input::Time, &mut effects, &mut complete);
        }
        // Before anything of another time is shown.
        shared.holdings.outdate(editor.take_outdated());
        if editor.shown() == Shown::Doubtful {
            shared.progress.to(ALL, Shown::Doubtful);
        }
        let changes = !effects.is_empty();
        while !effects.is_empty() {
            let mut publishing = shared.holdings.hub.publishing();
            let outcome = cache.apply(&mut effects, publishing.is_heard());
            publishing.publish(now, &outcome.changed.news);
            drop(publishing);
            if outcome.is_full {
                complete.clear();
                order = editor.step(now, Input::Full, &mut effects, &mut complete);
            }
            let fenced = std::mem::take(&mut keys.lock().fenced);
            let mut report = shared.report.lock();
            report.counts.fenced += fenced;
            report.outcome::<Name<F>, T>(ALL, &outcome, cache.unreadable());
        }
        if changes || others_are_wanted {
            shared.progress.to(ALL, editor.shown());
        }
        shared.holdings.complete(complete.drain(..));
        if let Some(order) = order {
            keys.lock().take(&order);
            ask(shared, &source, order, &mut asked);
        }
        // Not all that comes without a wait is at hand at once, so this counts over turns.
        if steps >= AT_ONCE {
            steps = 0;
            tokio::task::yield_now().await;
        }
        let due = editor.due().map(Instant::from_std);
        input = tokio::select! {
            biased;
            input = next(&mut asked) => input,
            () = listener => Input::Time,
            () = async { match due { Some(due) => sleep_until(due).await, None => std::future::pending().await } } => Input::Time,
        };
        count(shared, &asked);
    }
}

/// There is a stream, or there is none.
fn count<F, T>(shared: &Shared<F, T>, asked: &Asked<T>) {
    shared.streams.store(u64::from(!matches!(asked, Asked::Nothing)), Ordering::Relaxed);
}

/// When all is over there is no stream.
struct Closing<'s, F, T>(&'s Shared<F, T>);

impl<F, T> Drop for Closing<'_, F, T> {
    fn drop(&mut self) {
        self.0.streams.store(0, Ordering::Relaxed);
    }
}

fn ask<F: Text, T: Object>(
    shared: &Shared<F, T>,
    source: &Arc<dyn InterestSource<Arc<T>>>,
    order: Order<F>,
    asked: &mut Asked<T>,
) {
    match order {
        Order::Wait => *asked = Asked::Nothing,
        Order::Open { keys, after } => {
            shared.report.lock().counts.opened += 1;
            let (by, filter) = (shared.by.clone(), shared.filter.clone());
            let request = texts_of(keys.keys()).map(|keys| InterestRequest { by, keys, filter, after });
            let source = source.clone();
            *asked = Asked::Open(Box::pin(async move { source.open(request?).await }));
        }
        Order::Edit { remove, add } => {
            shared.report.lock().counts.edits += 1;
            if let Asked::Watch { interest, edit, .. } = asked {
                let interest = interest.clone();
                let request = edit_of(&remove, &add);
                *edit = Some(Box::pin(async move { interest.edit(request?).await }));
            }
        }
    }
    count(shared, asked);
}

/// What comes next of what was asked.
async fn next<T: Object>(asked: &mut Asked<T>) -> Input<Arc<T>> {
    match asked {
        Asked::Nothing => std::future::pending().await,
        Asked::Open(open) => match open.as_mut().await {
            Ok(InterestWatch { events, interest }) => {
                *asked = Asked::Watch { events, interest, edit: None };
                Input::Opened
            }
            Err(error) => {
                *asked = Asked::Nothing;
                Input::Failed(error)
            }
        },
        Asked::Watch { events, edit, .. } => {
            let edited = async {
                match edit.as_mut() {
                    Some(edit) => edit.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                edited = edited => {
                    if let Asked::Watch { edit, .. } = asked {
                        *edit = None;
                    }
                    edited.map_or_else(Input::NotEdited, Input::Edited)
                }
                heard = next_of(events) => input_of(asked, heard),
            }
        }
    }
}

/// What is there already.
async fn at_hand<T: Object>(asked: &mut Asked<T>) -> Option<Input<Arc<T>>> {
    let Asked::Watch { events, .. } = asked else { return None };
    let heard = at_hand_of(events).await?;
    Some(input_of(asked, heard))
}

fn input_of<T>(asked: &mut Asked<T>, heard: Heard<T>) -> Input<Arc<T>> {
    if !matches!(heard, Heard::Event(_)) {
        *asked = Asked::Nothing;
    }
    match heard {
        Heard::Event(event) => Input::Event(event),
        Heard::Failed(error) => Input::Failed(error),
        Heard::Ended => Input::Ended,
    }
}
