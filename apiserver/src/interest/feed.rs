//! The event stream of an interest: changes under its keys, with edits in between, each completed
//! by a marker.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use machinery_objects::{InterestBy, InterestEdit, Revision};
use machinery_store::WatchError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::channel::EditChannel;
use super::edits::PendingEdits;
use super::keys::KeySet;
use super::lookup::KeyLookup;
use super::relevance::{RelevanceCheck, index_for};
use crate::cache;
use crate::cache::{KeyField, ObjectFilter};
use crate::metrics::Interested;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::watch::{Changed, Item, Plan};

/// The parameters of a stream.
pub(crate) struct StreamRequest {
    pub(crate) by: InterestBy,
    pub(crate) filter: ObjectFilter,
    /// The opening keys and the client's last revision, to resume a stream.
    pub(crate) resumes: Option<(InterestEdit, Revision)>,
}

/// An event of the stream.
pub(crate) enum InterestEvent {
    Changed(Changed),
    /// All events up to this revision have been sent.
    Bookmark(Revision),
    /// As a bookmark, and the edit is complete.
    Complete(u64, Revision),
}

/// The error that ended the stream.
#[derive(Debug)]
pub(crate) enum StreamError {
    Watch(WatchError),
    Refused(Box<Refusal>),
}

impl From<Refusal> for StreamError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// A running stream.
pub(crate) struct InterestFeed {
    channel: Arc<EditChannel>,
    watch: crate::watch::Feed,
    by: KeyField,
    relevance: RelevanceCheck,
    edit: EditProgress,
    counts: Interested,
    until: Instant,
    stopping: CancellationToken,
    is_over: bool,
}

/// The progress of an edit.
enum EditProgress {
    Nothing,
    /// The cache catches up with all writes acknowledged before the edit.
    CatchUp(PendingEdits, BoxFuture<'static, Result<(), Refusal>>),
    /// Earlier events are sent before the keys change.
    Rekey(PendingEdits),
    /// The edit failed. Earlier events are sent before the error.
    Failed(Box<Refusal>),
    /// The objects under the added keys are sent.
    Send(Box<KeyLookup>),
}

impl InterestFeed {
    /// Opens the stream. Cancel-safe.
    pub(crate) async fn open(
        shared: &Shared,
        channel: Arc<EditChannel>,
        request: StreamRequest,
        plan: Plan,
    ) -> Result<Self, StreamError> {
        let StreamRequest { by: of, filter, resumes } = request;
        let by = index_for(&of, &filter.selection.kind, filter.namespace.as_deref())?;
        let mut relevance = RelevanceCheck { by: of, filter: filter.clone(), keys: KeySet::default() };
        let watch = match resumes {
            Some((edit, after)) => {
                shared.objects.reach(after).await?;
                relevance.keys = edit.add.iter().collect();
                let cache = shared.cache(&filter.selection.kind).await?;
                let keys = cache::WatchKeys { by: by.clone(), set: edit.add };
                let (follow, missing) = cache.follow(filter, Some(keys), after);
                if let Some(missing) = missing {
                    // Reports an expired position immediately.
                    drop(follow.store_watch(missing.after).await.map_err(StreamError::Watch)?);
                }
                crate::watch::Feed::after((follow, missing), after, plan)
            }
            None => {
                let (view, follow) = shared.view_and_follow(&filter, Some(&by), None).await?;
                crate::watch::Feed::after((follow, None), view.at, plan)
            }
        };
        let (counts, stopping) = (shared.metrics.interested.clone(), shared.stopping.clone());
        let (edit, until) = (EditProgress::Nothing, plan.until);
        Ok(Self { channel, watch, by, relevance, edit, counts, until, stopping, is_over: false })
    }

    /// Advances the next edit as far as possible. Called when all current events have been sent.
    fn poll_edit(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        loop {
            match &mut self.edit {
                EditProgress::Nothing => {
                    let pending = ready!(self.channel.poll_take(cx));
                    // A client that writes and then edits finds its write before the mark.
                    self.edit = EditProgress::CatchUp(pending, self.watch.follow().catch_up().boxed());
                }
                EditProgress::CatchUp(pending, catching_up) => {
                    self.edit = match ready!(catching_up.as_mut().poll(cx)) {
                        Ok(()) => EditProgress::Rekey(std::mem::take(pending)),
                        Err(refusal) if refusal.code == 504 => {
                            // The cache is late; wait again.
                            let pending = std::mem::take(pending);
                            EditProgress::CatchUp(pending, self.watch.follow().catch_up().boxed())
                        }
                        Err(refusal) => EditProgress::Failed(refusal.into()),
                    };
                    // New events may be available.
                    return Poll::Ready(Ok(()));
                }
                EditProgress::Failed(refusal) => return Poll::Ready(Err(Refusal::clone(refusal))),
                EditProgress::Rekey(pending) => {
                    // New events wake the task.
                    let Some(view) = self.watch.rekey(pending.remove.set(), pending.add.set()) else {
                        return Poll::Pending;
                    };
                    for key in pending.remove.iter() {
                        self.relevance.keys.remove(key);
                    }
                    for key in pending.add.iter() {
                        self.relevance.keys.insert(key);
                    }
                    let (add, number) = (std::mem::take(&mut pending.add), pending.number);
                    let found = KeyLookup::new(view, self.by.clone(), add, number);
                    self.edit = EditProgress::Send(Box::new(found));
                }
                // No event is sent between the objects and their marker.
                EditProgress::Send(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Counts an event, and whether it is relevant.
    fn count(&self, changed: &Changed) {
        self.counts.told.inc();
        // By the object's bytes: a check by the index would share the index's defects.
        if !self.relevance.matches(changed.entry()) {
            self.counts.irrelevant.inc();
        }
    }

    /// Ends the stream and rejects further edits.
    fn end(&mut self, why: Option<StreamError>) -> Poll<Option<Result<InterestEvent, StreamError>>> {
        self.is_over = true;
        self.edit = EditProgress::Nothing;
        self.channel.end();
        Poll::Ready(why.map(Err))
    }

    fn changed(&self, changed: Changed) -> InterestEvent {
        self.count(&changed);
        InterestEvent::Changed(changed)
    }
}

/// Ends without an error at its deadline, with its kind, or when the server stops.
impl Stream for InterestFeed {
    type Item = Result<InterestEvent, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let feed = &mut *self;
        if feed.is_over {
            return Poll::Ready(None);
        }
        loop {
            if let EditProgress::Send(found) = &mut feed.edit {
                // The lookup may have many objects and the client may be slow.
                if feed.stopping.is_cancelled() || Instant::now() >= feed.until {
                    return feed.end(None);
                }
                if !found.gather(&feed.relevance.filter) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if let Some(entry) = found.next() {
                    return Poll::Ready(Some(Ok(feed.changed(Changed::found(entry)))));
                }
                let done = InterestEvent::Complete(found.number, found.at);
                feed.edit = EditProgress::Nothing;
                return Poll::Ready(Some(Ok(done)));
            }
            // Events before edits: those under the old keys precede the new view.
            match feed.watch.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(Item::Changed(changed)))) => {
                    return Poll::Ready(Some(Ok(feed.changed(changed))));
                }
                Poll::Ready(Some(Ok(Item::Bookmark(at, _)))) => {
                    return Poll::Ready(Some(Ok(InterestEvent::Bookmark(at))));
                }
                Poll::Ready(Some(Err(error))) => return feed.end(Some(StreamError::Watch(error))),
                Poll::Ready(None) => return feed.end(None),
                Poll::Pending => {}
            }
            match ready!(feed.poll_edit(cx)) {
                Ok(()) => {}
                Err(refusal) => return feed.end(Some(refusal.into())),
            }
        }
    }
}

impl Drop for InterestFeed {
    fn drop(&mut self) {
        self.channel.end();
    }
}
