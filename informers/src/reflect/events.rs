//! The events of a watch, with the key and version of each object.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use machinery_objects::{Object, WatchError, WatchEvent, WatchStream};

use super::SourceObject;
use super::source_object::object_of_event;

/// Number of ready events that are processed before yielding to other tasks.
pub(crate) const EVENTS_PER_YIELD: usize = 256;

/// An item of a watch stream.
pub(crate) enum WatchItem<T> {
    Event(WatchEvent<SourceObject<Arc<T>>>),
    Failed(WatchError),
    Ended,
}

/// Waits for the next item.
pub(crate) async fn next_of<T: Object>(events: &mut WatchStream<Arc<T>>) -> WatchItem<T> {
    item_of(poll_fn(|cx| events.as_mut().poll_next(cx)).await)
}

/// Returns the next item if it is ready; otherwise the task is woken when one is.
pub(crate) async fn ready_item_of<T: Object>(events: &mut WatchStream<Arc<T>>) -> Option<WatchItem<T>> {
    match poll_fn(|cx| Poll::Ready(events.as_mut().poll_next(cx))).await {
        Poll::Ready(event) => Some(item_of(event)),
        Poll::Pending => None,
    }
}

fn item_of<T: Object>(event: Option<Result<WatchEvent<Arc<T>>, WatchError>>) -> WatchItem<T> {
    match event {
        Some(Ok(event)) => WatchItem::Event(object_of_event(event)),
        Some(Err(error)) => WatchItem::Failed(error),
        None => WatchItem::Ended,
    }
}
