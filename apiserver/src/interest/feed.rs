//! The stream of an interest: what happens under its keys, and between that the edits of its keys, each with its mark.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use machinery_objects::{InterestBy, InterestEdit, Revision};
use machinery_store::WatchError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::edits::Pending;
use super::found::Found;
use super::keys::Keys;
use super::line::Line;
use super::witness::{Witness, by};
use crate::cache;
use crate::cache::{By, Wanted};
use crate::metrics::Interested;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::watch::{Changed, Item, Plan};

/// What a stream is of.
pub(crate) struct Asked {
    pub(crate) by: InterestBy,
    pub(crate) wanted: Wanted,
    /// The keys of the opening, and how far their client has come with them.
    pub(crate) resumes: Option<(InterestEdit, Revision)>,
}

/// What a stream tells.
pub(crate) enum Told {
    Changed(Changed),
    /// Everything up to this revision has been told.
    Bookmark(Revision),
    /// The same, and this edit is done.
    Complete(u64, Revision),
}

/// Why nothing more comes.
#[derive(Debug)]
pub(crate) enum Lost {
    Watch(WatchError),
    Refused(Box<Refusal>),
}

impl From<Refusal> for Lost {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// A running stream.
pub(crate) struct Feed {
    line: Arc<Line>,
    watch: crate::watch::Feed,
    by: By,
    witness: Witness,
    edit: Doing,
    counts: Interested,
    until: Instant,
    stopping: CancellationToken,
    is_over: bool,
}

/// How far an edit is.
enum Doing {
    Nothing,
    /// The cache comes to what was acknowledged before the edit.
    CatchUp(Pending, BoxFuture<'static, Result<(), Refusal>>),
    /// What happened before is told.
    Rekey(Pending),
    /// It does not come to that. What happened before is told.
    Failed(Box<Refusal>),
    /// What is there under the new keys is told.
    Tell(Box<Found>),
}

impl Feed {
    /// Begins. Dropping the future leaves nothing behind.
    pub(crate) async fn open(
        shared: &Shared,
        line: Arc<Line>,
        asked: Asked,
        plan: Plan,
    ) -> Result<Self, Lost> {
        let Asked { by: of, wanted, resumes } = asked;
        let by = by(&of, &wanted.selection.kind, wanted.namespace.as_deref())?;
        let mut witness = Witness { by: of, wanted: wanted.clone(), keys: Keys::default() };
        let watch = match resumes {
            Some((edit, after)) => {
                shared.objects.reach(after).await?;
                witness.keys = edit.add.iter().collect();
                let cache = shared.cache(&wanted.selection.kind).await?;
                let keys = cache::Keys { by: by.clone(), set: edit.add };
                let (follow, missing) = cache.follow(wanted, Some(keys), after);
                if let Some(missing) = missing {
                    // What cannot be watched any more is said at once.
                    drop(follow.store_watch(missing.after).await.map_err(Lost::Watch)?);
                }
                crate::watch::Feed::after((follow, missing), after, plan)
            }
            None => {
                let (view, follow) = shared.view_and_follow(&wanted, Some(&by), None).await?;
                crate::watch::Feed::after((follow, None), view.at, plan)
            }
        };
        let (counts, stopping) = (shared.metrics.interested.clone(), shared.stopping.clone());
        let (edit, until) = (Doing::Nothing, plan.until);
        Ok(Self { line, watch, by, witness, edit, counts, until, stopping, is_over: false })
    }

    /// What happened is told, and there is nothing more of it now: does as much of the next edit as can be done.
    fn poll_edit(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        loop {
            match &mut self.edit {
                Doing::Nothing => {
                    let pending = ready!(self.line.poll_take(cx));
                    self.edit = Doing::CatchUp(pending, self.watch.follow().catch_up().boxed());
                }
                Doing::CatchUp(pending, catching_up) => {
                    self.edit = match ready!(catching_up.as_mut().poll(cx)) {
                        Ok(()) => Doing::Rekey(std::mem::take(pending)),
                        Err(refusal) if refusal.code == 504 => {
                            // It is late, and comes.
                            let pending = std::mem::take(pending);
                            Doing::CatchUp(pending, self.watch.follow().catch_up().boxed())
                        }
                        Err(refusal) => Doing::Failed(refusal.into()),
                    };
                    // There may be more to tell now.
                    return Poll::Ready(Ok(()));
                }
                Doing::Failed(refusal) => return Poll::Ready(Err(Refusal::clone(refusal))),
                Doing::Rekey(pending) => {
                    // If something came just now, its task is woken.
                    let Some(view) = self.watch.rekey(pending.remove.set(), pending.add.set()) else {
                        return Poll::Pending;
                    };
                    for key in pending.remove.iter() {
                        self.witness.keys.remove(key);
                    }
                    for key in pending.add.iter() {
                        self.witness.keys.insert(key);
                    }
                    let (add, number) = (std::mem::take(&mut pending.add), pending.number);
                    let found = Found::new(view, self.by.clone(), add, number);
                    self.edit = Doing::Tell(Box::new(found));
                }
                // Nothing comes between the objects and their mark.
                Doing::Tell(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Whether what is told is under the keys is found out anew.
    fn count(&self, changed: &Changed) {
        self.counts.told.inc();
        if !self.witness.sees(changed.entry()) {
            self.counts.irrelevant.inc();
        }
    }

    /// Nothing comes after this, and no edit is accepted any more.
    fn end(&mut self, why: Option<Lost>) -> Poll<Option<Result<Told, Lost>>> {
        self.is_over = true;
        self.edit = Doing::Nothing;
        self.line.end();
        Poll::Ready(why.map(Err))
    }

    fn changed(&self, changed: Changed) -> Told {
        self.count(&changed);
        Told::Changed(changed)
    }
}

/// It ends without an error when its time is over, or with its kind, or with the server.
impl Stream for Feed {
    type Item = Result<Told, Lost>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let feed = &mut *self;
        if feed.is_over {
            return Poll::Ready(None);
        }
        loop {
            if let Doing::Tell(found) = &mut feed.edit {
                // There may be much to tell, and the client slow.
                if feed.stopping.is_cancelled() || Instant::now() >= feed.until {
                    return feed.end(None);
                }
                if !found.gather(&feed.witness.wanted) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if let Some(entry) = found.next() {
                    return Poll::Ready(Some(Ok(feed.changed(Changed::found(entry)))));
                }
                let done = Told::Complete(found.number, found.at);
                feed.edit = Doing::Nothing;
                return Poll::Ready(Some(Ok(done)));
            }
            match feed.watch.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(Item::Changed(changed)))) => {
                    return Poll::Ready(Some(Ok(feed.changed(changed))));
                }
                Poll::Ready(Some(Ok(Item::Bookmark(at, _)))) => {
                    return Poll::Ready(Some(Ok(Told::Bookmark(at))));
                }
                Poll::Ready(Some(Err(error))) => return feed.end(Some(Lost::Watch(error))),
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

impl Drop for Feed {
    fn drop(&mut self) {
        self.line.end();
    }
}
