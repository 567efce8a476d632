//! Another view of each event of a watch.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use machinery_objects::{WatchError, WatchEvent, WatchStream};

/// The same watch, of what a function makes of each object.
pub(crate) struct Mapped<S, F> {
    pub(crate) events: WatchStream<S>,
    pub(crate) keep: Arc<F>,
}

impl<S, T, F: Fn(S) -> T> Stream for Mapped<S, F> {
    type Item = Result<WatchEvent<T>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.events.as_mut().poll_next(cx);
        polled.map(|next| next.map(|event| event.map(|event| event.map(&*self.keep))))
    }
}
