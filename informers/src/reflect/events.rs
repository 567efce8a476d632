//! The events of a watch, each with what everybody asks of its object.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use machinery_objects::{Object, WatchError, WatchEvent, WatchStream};

use super::Found;
use super::found::found_in;

/// So many events that are there already are taken together, and then others have their turn.
pub(crate) const AT_ONCE: usize = 256;

/// What a watch said.
pub(crate) enum Heard<T> {
    Event(WatchEvent<Found<Arc<T>>>),
    Failed(WatchError),
    Ended,
}

/// What it says next.
pub(crate) async fn next_of<T: Object>(events: &mut WatchStream<Arc<T>>) -> Heard<T> {
    heard(poll_fn(|cx| events.as_mut().poll_next(cx)).await)
}

/// What it has said already; whoever polls this is woken when it says more.
pub(crate) async fn at_hand_of<T: Object>(events: &mut WatchStream<Arc<T>>) -> Option<Heard<T>> {
    match poll_fn(|cx| Poll::Ready(events.as_mut().poll_next(cx))).await {
        Poll::Ready(event) => Some(heard(event)),
        Poll::Pending => None,
    }
}

fn heard<T: Object>(event: Option<Result<WatchEvent<Arc<T>>, WatchError>>) -> Heard<T> {
    match event {
        Some(Ok(event)) => Heard::Event(found_in(event)),
        Some(Err(error)) => Heard::Failed(error),
        None => Heard::Ended,
    }
}
