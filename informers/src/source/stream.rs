//! A watch of projected objects.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use machinery_objects::{Unreadable, WatchError, WatchEvent, WatchStream};

use crate::readable::readable_in;

/// A watch with its projection.
pub(super) struct ProjectedWatch<S, F> {
    pub(super) events: WatchStream<S>,
    pub(super) project: Arc<F>,
}

impl<S, T, F: Fn(S) -> Result<T, Unreadable>> Stream for ProjectedWatch<S, F> {
    type Item = Result<WatchEvent<T>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.events.as_mut().poll_next(cx);
        polled.map(|next| next.map(|event| event.map(|event| readable_in(event, &*self.project))))
    }
}
