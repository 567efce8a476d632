//! Changes that a watch missed, or that precede it, and that no ring holds: read from the store,
//! and filtered one by one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use machinery_objects::Revision;
use machinery_store::{Change as Changed, Event, Watch, WatchError, WatchItem};

use crate::cache::{CacheWatcher, MissedRange, ObjectState, RevisionChanges, WatchChange};

/// The changes between two revisions.
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
    pub(crate) fn new(follow: &CacheWatcher, missing: MissedRange) -> Self {
        Self { up_to: missing.up_to, reading: Reading::Opening(Box::pin(follow.store_watch(missing.after))) }
    }

    /// Returns the changes of the next revision. `None`: there are no more.
    pub(crate) fn poll_next(
        &mut self,
        follow: &CacheWatcher,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<RevisionChanges>, WatchError>> {
        loop {
            match &mut self.reading {
                Reading::Opening(opening) => {
                    let mut watch = ready!(opening.as_mut().poll(cx))?;
                    // There may be no event at `up_to`: then only a progress mark ends the read.
                    watch.request_progress();
                    self.reading = Reading::Going(watch);
                }
                Reading::Going(watch) => match ready!(Pin::new(&mut *watch).poll_next(cx)).transpose()? {
                    Some(WatchItem::Changes { revision, events }) if revision <= self.up_to => {
                        let changes = events.into_iter().map(|event| change(follow, event)).collect();
                        return Poll::Ready(Ok(Some(RevisionChanges { revision, changes })));
                    }
                    None | Some(WatchItem::Changes { .. }) => return Poll::Ready(Ok(None)),
                    Some(WatchItem::Progress(revision)) if revision >= self.up_to => {
                        return Poll::Ready(Ok(None));
                    }
                    Some(WatchItem::Progress(_)) => watch.request_progress(),
                },
            }
        }
    }
}

fn change(follow: &CacheWatcher, event: Event) -> WatchChange {
    let state = |entry| ObjectState::of(follow.kind(), &[], entry).into();
    let after = match event.change {
        Changed::Put(entry) => Some(state(entry)),
        Changed::Deleted(_) => None,
    };
    WatchChange::new(event.before.map(state), after)
}
