//! A watch that unseals its events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::Stream as _;

use super::backend::Sealing;
use super::error::UnsealError;
use crate::contract::{Watch, WatchError, WatchItem, WatchStream};

/// Ends at the first value that cannot be unsealed, and repeats that error.
pub(super) struct UnsealingWatch {
    below: Watch,
    sealing: Arc<Sealing>,
    ended: Option<WatchError>,
}

impl UnsealingWatch {
    pub(super) const fn new(below: Watch, sealing: Arc<Sealing>) -> Self {
        Self { below, sealing, ended: None }
    }

    fn open(&self, seen: WatchItem) -> Result<WatchItem, UnsealError> {
        let WatchItem::Changes { revision, events } = seen else { return Ok(seen) };
        let events: Result<_, _> = events.into_iter().map(|event| self.sealing.open_event(event)).collect();
        Ok(WatchItem::Changes { revision, events: events? })
    }
}

impl WatchStream for UnsealingWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        if let Some(error) = &self.ended {
            return Poll::Ready(Err(error.clone()));
        }
        let seen = ready!(Pin::new(&mut self.below).poll_next(cx)).expect("a watch ends with an error");
        let opened = seen.and_then(|seen| {
            self.open(seen).map_err(|why| WatchError::Unavailable { why: why.to_string().into() })
        });
        self.ended = opened.as_ref().err().cloned();
        Poll::Ready(opened)
    }

    fn request_progress(&mut self) {
        self.below.request_progress();
    }
}
