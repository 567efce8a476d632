//! Watches: every change after a revision.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use machinery_objects::Revision;

use super::entry::Event;
use super::error::WatchError;

/// An item of a watch: the changes of a revision, or progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchItem {
    /// The changes of one revision to keys of the span, in the order of the transaction's
    /// operations.
    Changes {
        /// The revision; greater than that of every earlier item of this watch.
        revision: Revision,
        /// The events; never empty.
        events: Vec<Event>,
    },
    /// Progress: every change up to and including this revision has been yielded.
    Progress(Revision),
}

/// A running watch. Dropping it stops it.
pub struct Watch(Box<dyn WatchStream>);

/// The source of a [`Watch`], implemented by backends.
pub trait WatchStream: Send {
    /// Polls for the next item. Not called again after an error.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>>;

    /// Implements [`Watch::request_progress`].
    fn request_progress(&mut self);
}

impl Watch {
    /// Wraps a backend's watch.
    pub fn new(watching: impl WatchStream + 'static) -> Self {
        Self(Box::new(watching))
    }

    /// Waits for the next item. An error ends the watch; a further call panics or repeats the
    /// error.
    ///
    /// Cancel safe: dropping the future loses no item.
    pub async fn next(&mut self) -> Result<WatchItem, WatchError> {
        poll_fn(|cx| self.0.poll_next(cx)).await
    }

    /// Requests one [`WatchItem::Progress`], yielded after all changes that were committed before
    /// this call.
    pub fn request_progress(&mut self) {
        self.0.request_progress();
    }
}

impl Stream for Watch {
    type Item = Result<WatchItem, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next(cx).map(Some)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
