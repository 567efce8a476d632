//! What a watch has missed, or happened before it came, and is in no ring: read from the store, and looked at one by one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use machinery_objects::Revision;
use machinery_store::{Change as Changed, Event, Seen, Watch, WatchError};

use crate::cache::{Change, Follow, Missing, Revised, State};

/// What happened between two revisions.
pub(crate) struct Missed {
    pub(crate) up_to: Revision,
    reading: Reading,
}

enum Reading {
    Opening(Opening),
    Going(Watch),
}

type Opening = Pin<Box<dyn Future<Output = Result<Watch, WatchError>> + Send>>;

impl Missed {
    pub(crate) fn new(follow: &Follow, missing: Missing) -> Self {
        Self { up_to: missing.up_to, reading: Reading::Opening(Box::pin(follow.store_watch(missing.after))) }
    }

    /// What the next revision did. `None`: that was all of it.
    pub(crate) fn poll_next(
        &mut self,
        follow: &Follow,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Revised>, WatchError>> {
        loop {
            match &mut self.reading {
                Reading::Opening(opening) => {
                    let mut watch = ready!(opening.as_mut().poll(cx))?;
                    watch.request_progress();
                    self.reading = Reading::Going(watch);
                }
                Reading::Going(watch) => match ready!(Pin::new(&mut *watch).poll_next(cx)).transpose()? {
                    Some(Seen::Changes { revision, events }) if revision <= self.up_to => {
                        let changes = events.into_iter().map(|event| change(follow, event)).collect();
                        return Poll::Ready(Ok(Some(Revised { revision, changes })));
                    }
                    None | Some(Seen::Changes { .. }) => return Poll::Ready(Ok(None)),
                    Some(Seen::Progress(revision)) if revision >= self.up_to => return Poll::Ready(Ok(None)),
                    Some(Seen::Progress(_)) => watch.request_progress(),
                },
            }
        }
    }
}

fn change(follow: &Follow, event: Event) -> Change {
    let state = |entry| State::of(follow.kind(), entry).into();
    let after = match event.change {
        Changed::Put(entry) => Some(state(entry)),
        Changed::Deleted(_) => None,
    };
    Change::new(event.before.map(state), after)
}
