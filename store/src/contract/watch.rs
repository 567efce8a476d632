//! Hearing of every change after a revision.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use machinery_objects::Revision;

use super::entry::Event;
use super::error::WatchError;

/// What a watch yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchItem {
    /// All that one revision did to the keys of the span, in the order of the transaction's operations.
    Changes {
        /// The revision; greater than every one before it in this watch.
        revision: Revision,
        /// Never empty.
        events: Vec<Event>,
    },
    /// Everything up to and including this revision has been yielded. Later changes have greater revisions.
    Progress(Revision),
}

/// A running watch. Dropping it ends it.
pub struct Watch(Box<dyn WatchStream>);

/// What a backend implements under a [`Watch`].
pub trait WatchStream: Send {
    /// The next thing seen. After an error it is not called again.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>>;

    /// See [`Watch::request_progress`].
    fn request_progress(&mut self);
}

impl Watch {
    /// Wraps a backend's own watch.
    pub fn new(watching: impl WatchStream + 'static) -> Self {
        Self(Box::new(watching))
    }

    /// Waits for the next thing seen. After an error the watch is over: it yields nothing more, and a call panics or
    /// repeats the error.
    ///
    /// Dropping this future loses nothing: the next call goes on where it was.
    pub async fn next(&mut self) -> Result<WatchItem, WatchError> {
        poll_fn(|cx| self.0.poll_next(cx)).await
    }

    /// Asks for one [`WatchItem::Progress`], which comes after all changes that were committed before this call.
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
