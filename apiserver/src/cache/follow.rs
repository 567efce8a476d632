//! One watch's place in a cache.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll};

use machinery_objects::Revision;
use machinery_store::{Watch, WatchError};
use tokio::time::Instant;

use super::hub::{Ended, Look};
use super::ring::{Change, Revised};
use super::wanted::Filed;
use super::watches::Watches;
use super::{By, Cache, State, Term, View, Wanted};
use crate::kind::Kind;
use crate::refusal::Refusal;

/// A watch: its places in the ring, an entry in the index, and a flag. While it is not read it grows by a kilobyte of places, and by nothing else.
pub(crate) struct Follow {
    pub(super) cache: Arc<Cache>,
    wanted: Arc<Wanted>,
    keys: Option<Box<Held>>,
    number: u32,
    /// All that is of interest up to here has been told, or is not to be.
    told: Revision,
}

/// The keys of an interest.
pub(crate) struct Keys {
    pub(crate) by: By,
    pub(crate) set: BTreeSet<Arc<str>>,
}

/// The keys of a watch, as the index has them.
struct Held {
    by: By,
    set: BTreeSet<Arc<str>>,
    /// In the index as well, for the set to have them soon. None of these is in the set.
    ahead: BTreeSet<Arc<str>>,
}

/// What a watch finds.
pub(crate) enum Next {
    /// Of these changes this one is of interest, as this, and none before it.
    At(Arc<Revised>, usize, What),
    /// Everything up to here has been told: this was asked for.
    Told(Revision),
    /// It was too far behind.
    Missing(Missing),
    Ended(Ended),
}

/// What a change is to somebody who sees only what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum What {
    Added,
    Modified,
    Deleted,
    /// It is there, and no longer wanted.
    Left,
}

/// What the ring does not have: the store has it, unless it is compacted. The watch goes on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) after: Revision,
    pub(crate) up_to: Revision,
}

/// So many revisions are looked at before others have their turn.
const TURN: usize = 512;
/// So many keys are put into the index, or taken out, before others have the lock.
const AT_ONCE: usize = 512;

impl Cache {
    /// A watch of what comes after a revision, even if that is yet to come. What the ring does not have of it is missing.
    pub(crate) fn follow(
        self: &Arc<Self>,
        wanted: Wanted,
        keys: Option<Keys>,
        after: Revision,
    ) -> (Follow, Option<Missing>) {
        let mut follow = self.following(wanted, keys);
        let mut hub = self.hub.lock();
        let is_whole = hub.begin(follow.number, after);
        let missing = (!is_whole).then_some(Missing { after, up_to: hub.reached });
        drop(hub);
        follow.told = after;
        (follow, missing)
    }

    /// What is there at a revision or later, and a watch of what comes after just that.
    pub(crate) async fn view_and_follow(
        self: &Arc<Self>,
        wanted: Wanted,
        keys: Option<Keys>,
        least: Option<Revision>,
    ) -> Result<(View, Follow), Refusal> {
        self.reach(least).await?;
        let mut follow = self.following(wanted, keys);
        let mut hub = self.hub.lock();
        let view = hub.view();
        hub.begin(follow.number, view.at);
        drop(hub);
        follow.told = view.at;
        Ok((view, follow))
    }

    /// A watch that is in the index, and has not begun.
    fn following(self: &Arc<Self>, wanted: Wanted, keys: Option<Keys>) -> Follow {
        let wanted = Arc::new(wanted);
        let number = self.hub.lock().watches.add(&wanted, keys.is_some());
        let keys = keys.map(|Keys { by, set }| Box::new(Held { by, set, ahead: BTreeSet::new() }));
        let follow = Follow { cache: self.clone(), wanted, keys, number, told: Revision(0) };
        if let Some(keys) = &follow.keys {
            follow.file(&keys.by, &keys.set, Watches::add_term);
        }
        if follow.is_everywhere() {
            self.counted.everywhere.inc();
        }
        follow
    }
}

impl Follow {
    /// Finds the next thing, or has the task woken when there is one. Takes no time that others would miss.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        for _ in 0..TURN {
            let mut hub = self.cache.hub.lock();
            if hub.ended() == Some(&Ended::Stopped) {
                return Poll::Ready(Next::Ended(Ended::Stopped));
            }
            match hub.look(self.number) {
                Look::At(revised) => {
                    drop(hub);
                    if revised.revision <= self.told {
                        continue;
                    }
                    let mut changes = revised.changes.iter().enumerate();
                    if let Some((at, what)) = changes.find_map(|(at, change)| Some((at, self.what(change)?)))
                    {
                        self.told = revised.revision;
                        return Poll::Ready(Next::At(revised, at, what));
                    }
                }
                Look::TooFarBehind(first) => {
                    let up_to = hub.skip(self.number);
                    let after = Revision(first.0 - 1).max(self.told);
                    // Who waits for what is yet to come misses nothing that comes before.
                    if after < up_to {
                        return Poll::Ready(Next::Missing(Missing { after, up_to }));
                    }
                }
                Look::Nothing => {
                    let (reached, ended) = (hub.reached, hub.ended().cloned());
                    let slot = hub.watches.slot(self.number);
                    if let Some(ended) = ended {
                        return Poll::Ready(Next::Ended(ended));
                    }
                    if std::mem::take(&mut slot.told) {
                        return Poll::Ready(Next::Told(reached));
                    }
                    let old = slot.wake(cx);
                    drop(hub);
                    drop(old);
                    return Poll::Pending;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Has the task woken for whatever concerns it, without looking at that yet. Says whether the server stops.
    pub(crate) fn heed(&self, cx: &mut Context<'_>) -> bool {
        let mut hub = self.cache.hub.lock();
        let is_stopped = hub.ended() == Some(&Ended::Stopped);
        let old = hub.watches.slot(self.number).wake(cx);
        drop(hub);
        drop(old);
        is_stopped
    }

    /// What a change is to this watch. `None`: nothing.
    pub(crate) fn what(&self, change: &Change) -> Option<What> {
        let sees = |state: &Option<Arc<State>>| state.as_ref().is_some_and(|state| self.sees(state));
        match (sees(&change.before), sees(&change.after)) {
            (false, false) => None,
            (false, true) => Some(What::Added),
            (true, true) => Some(What::Modified),
            (true, false) if change.after.is_some() => Some(What::Left),
            (true, false) => Some(What::Deleted),
        }
    }

    /// Whether a state is wanted, and under a key, if it is by keys.
    pub(crate) fn sees(&self, state: &State) -> bool {
        self.wanted.sees(state)
            && self
                .keys
                .as_ref()
                .is_none_or(|keys| keys.by.of(&self.wanted, state).is_some_and(|key| keys.set.contains(key)))
    }

    /// What the store has of the objects that this is about, after a revision.
    pub(crate) fn store_watch(
        &self,
        after: Revision,
    ) -> impl Future<Output = Result<Watch, WatchError>> + Send + use<> {
        let (store, wanted) = (self.cache.store.clone(), &self.wanted);
        let span = wanted.selection.span(wanted.namespace.as_deref());
        async move { store.watch(span, after).await }
    }

    /// Waits until the cache has come to all that was acknowledged before this call.
    pub(crate) fn catch_up(&self) -> impl Future<Output = Result<(), Refusal>> + Send + use<> {
        let cache = self.cache.clone();
        async move { cache.reach(None).await }
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(crate) fn kind(&self) -> &Arc<Kind> {
        &self.cache.kind
    }

    /// What comes up to here has been told by other means.
    pub(crate) fn caught_up(&mut self, up_to: Revision) {
        self.told = self.told.max(up_to);
    }

    /// Wants to know how far the cache is: comes as [`Next::Told`].
    pub(crate) fn ask(&self) {
        self.cache.hub.lock().watches.ask(self.number);
        self.cache.ask();
    }

    /// Has the task woken at a moment, or a little later.
    pub(crate) fn wake_at(&self, at: Instant) {
        let (now, tick) = (self.cache.ticks(), self.cache.tick(at));
        let first = self.cache.hub.lock().watches.set_alarm(self.number, now, tick);
        if first {
            self.cache.nudge();
        }
    }

    /// Whether it is asked about every event, as nothing says which concern it.
    fn is_everywhere(&self) -> bool {
        self.keys.is_none() && matches!(self.wanted.filed(), Filed::Everywhere(_))
    }

    /// Changes the keys of a watch that is by keys, and shows what is there at just that moment. `None`: there is something
    /// that it has not looked at yet, under the keys that it has.
    ///
    /// The index has the new keys before that moment and the old ones after it, so that the moment itself is short.
    pub(crate) fn rekey(&mut self, remove: &BTreeSet<Arc<str>>, add: &BTreeSet<Arc<str>>) -> Option<View> {
        if self.cache.hub.lock().watches.slot(self.number).pending.is_some() {
            return None;
        }
        self.file_ahead(add);
        let view = {
            let mut hub = self.cache.hub.lock();
            if hub.watches.slot(self.number).pending.is_some() {
                return None;
            }
            hub.view()
        };
        let keys = self.keys.as_mut()?;
        let mut gone = std::mem::take(&mut keys.ahead);
        gone.extend(remove.iter().filter_map(|key| keys.set.take(key)));
        gone.retain(|key| !add.contains(key));
        keys.set.extend(add.iter().cloned());
        self.unfile(&gone);
        Some(view)
    }

    /// Has the index find it under keys that it is to have.
    pub(super) fn file_ahead(&mut self, add: &BTreeSet<Arc<str>>) {
        let Some(keys) = &self.keys else { return };
        let is_new = |key: &&Arc<str>| !keys.set.contains(*key) && !keys.ahead.contains(*key);
        let new: BTreeSet<_> = add.iter().filter(is_new).cloned().collect();
        self.file(&keys.by, &new, Watches::add_term);
        if let Some(keys) = &mut self.keys {
            keys.ahead.extend(new);
        }
    }

    fn unfile(&self, gone: &BTreeSet<Arc<str>>) {
        if let Some(keys) = &self.keys {
            self.file(&keys.by, gone, Watches::remove_term);
        }
    }

    /// Puts keys into the index, or takes them out. Others have the lock in between.
    fn file(&self, by: &By, keys: &BTreeSet<Arc<str>>, file: fn(&mut Watches, &Term<'_>, u32)) {
        let namespace = self.wanted.namespace.as_deref();
        let mut keys = keys.iter().peekable();
        while keys.peek().is_some() {
            let mut hub = self.cache.hub.lock();
            for key in keys.by_ref().take(AT_ONCE) {
                file(&mut hub.watches, &by.term(namespace, key), self.number);
            }
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if self.is_everywhere() {
            self.cache.counted.everywhere.dec();
        }
        if let Some(keys) = &self.keys {
            self.unfile(&keys.set);
            self.unfile(&keys.ahead);
        }
        // Its number may be another's after this.
        let slot = self.cache.hub.lock().watches.remove(&self.wanted, self.keys.is_some(), self.number);
        // What its waker drops may come back here.
        drop(slot);
    }
}
