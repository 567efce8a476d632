//! What was asked for and cannot be seen yet.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::{Event, Object, ObjectKey, Uid, WriteToken, Wrote};
use machinery_sync::Mutex;
use tokio::time::Instant;

use crate::Shows;
use crate::reconcile::Wait;

/// What controllers have asked for and their caches do not show yet: children that are to come, and children that are to go.
///
/// [`Run::wrote`](crate::Run::wrote) is enough where a write was answered. This is for those of which the answer was lost, and for
/// many children at once: whoever counts them in the cache while some are on their way makes too many.
///
/// Expect before the write, [take back](Self::failed) what was refused, say what was [answered](Self::wrote), and show it
/// [each event](Self::saw) of the children. A parent of whom something is expected waits: until it is seen, until the cache is past what was
/// answered, as where a child has come and gone unseen, or until it is too old to come.
///
/// Cheap to clone. `P` names a parent.
pub struct Expectations<P>(Arc<Mutex<State<P>>>);

struct State<P> {
    patience: Duration,
    limit: usize,
    children: usize,
    of: HashMap<P, Expected, FixedState>,
}

/// What is expected of one parent.
#[derive(Default)]
struct Expected {
    to_come: BTreeMap<ObjectKey, Child>,
    to_go: BTreeMap<(ObjectKey, Uid), Child>,
}

/// Since when a child is expected, and what the cache is to show of it if that is known.
struct Child {
    since: Instant,
    wrote: Option<Wait>,
}

/// There are as many expectations as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooManyExpect {
    /// Of parents.
    #[error("{limit} parents expect something already: let this one run again later")]
    Parents {
        /// How many may.
        limit: usize,
    },
    /// Of one parent's children.
    #[error("{limit} children of this one are expected already: make the rest in its next run")]
    Children {
        /// How many may be.
        limit: usize,
    },
}

/// So many children of each may be expected, unless it is said otherwise.
const CHILDREN: usize = 4096;
/// As often it is looked whether the cache is past what was written: nobody is told that.
const LOOK: Duration = Duration::from_secs(1);

impl<P: Eq + Hash + Clone> Expectations<P> {
    /// None. What does not come within `patience` is expected no more; so many parents may expect something at once.
    #[must_use]
    pub fn new(patience: Duration, limit: usize) -> Self {
        let of = HashMap::with_hasher(FixedState::with_seed(0));
        Self(Arc::new(Mutex::new(State { patience, limit, children: CHILDREN, of })))
    }

    /// Expects so many children of each parent at the most. Default: 4096.
    #[must_use]
    pub fn children(self, limit: usize) -> Self {
        self.0.lock().children = limit;
        self
    }

    /// This child is about to be made.
    ///
    /// # Errors
    /// Too many parents expect something, or this one too much.
    pub fn to_come(&self, parent: &P, child: &ObjectKey) -> Result<(), TooManyExpect> {
        self.expect(parent, |expected| &mut expected.to_come, child.clone())
    }

    /// This child is about to be deleted; which one of its name, its UID says.
    ///
    /// # Errors
    /// Too many parents expect something, or this one too much.
    pub fn to_go(&self, parent: &P, child: &ObjectKey, uid: &Uid) -> Result<(), TooManyExpect> {
        self.expect(parent, |expected| &mut expected.to_go, (child.clone(), uid.clone()))
    }

    /// What was to become of a child was done, and answered with this. It is expected until the informer shows it or is past it: so where a
    /// child comes and goes unseen nobody waits for it. One that was only marked to go is expected as before.
    pub fn wrote(&self, parent: &P, token: &WriteToken, informer: &impl Shows) {
        let wait = Wait::new(token, informer);
        let mut state = self.0.lock();
        let Some(expected) = state.of.get_mut(parent) else { return };
        match &token.wrote {
            Wrote::Stored(_) => {
                if let Some(child) = expected.to_come.get_mut(&token.key) {
                    child.wrote = Some(wait);
                }
            }
            Wrote::Removed(_) => {
                let is_it = |key: &ObjectKey, uid: &Uid| {
                    *key == token.key && token.uid.as_ref().is_none_or(|gone| gone == uid)
                };
                for ((key, uid), child) in &mut expected.to_go {
                    if is_it(key, uid) {
                        child.wrote = Some(wait.clone());
                    }
                }
            }
        }
    }

    /// Whatever was to become of this child was refused, and will not.
    pub fn failed(&self, parent: &P, child: &ObjectKey) {
        self.forget(parent, |expected| {
            expected.to_come.remove(child);
            expected.to_go.retain(|(key, _), _| key != child);
        });
    }

    /// A child of this parent was told of. A deletion of one that was to come has been told because it came.
    pub fn saw<T: Object>(&self, parent: &P, event: &Event<Arc<T>>) {
        let (key, uid) = (event.object().key(), event.object().uid().and_then(Uid::new));
        self.forget(parent, |expected| {
            // What is told late of one that was there before is not the one that was made: its answer says which that is.
            let made = expected.to_come.get(&key).and_then(|child| child.wrote.as_ref()?.token.uid.clone());
            if made.is_none() || uid.is_none() || made == uid {
                expected.to_come.remove(&key);
            }
            // Another of its name is there only after it.
            expected.to_go.retain(|(child, gone), _| {
                *child != key || (event.is_present() && uid.as_ref() == Some(gone))
            });
        });
    }

    /// In how long the parent should look again, if nothing is seen before; `None`: it can go on at once.
    #[must_use]
    pub fn pending(&self, parent: &P) -> Option<Duration> {
        let now = Instant::now();
        let patience = self.0.lock().patience;
        // Informers are not asked under the lock.
        let mut shown = BTreeMap::<ObjectKey, Vec<WriteToken>>::new();
        for wait in self.answered(parent).into_iter().filter(Wait::is_shown) {
            shown.entry(wait.token.key.clone()).or_default().push(wait.token);
        }
        let waits = |child: &Child| {
            let of_it = |wait: &Wait| shown.get(&wait.token.key).is_some_and(|all| all.contains(&wait.token));
            let is_shown = child.wrote.as_ref().is_some_and(of_it);
            !is_shown && now.saturating_duration_since(child.since) < patience
        };
        let (mut last, mut is_answered) = (None, false);
        self.forget(parent, |expected| {
            expected.to_come.retain(|_, child| waits(child));
            expected.to_go.retain(|_, child| waits(child));
            last = expected.last();
            is_answered = expected.all().any(|child| child.wrote.is_some());
        });
        let left = patience.saturating_sub(now.saturating_duration_since(last?));
        Some(if is_answered { left.min(LOOK) } else { left })
    }

    /// What the cache is to show.
    fn answered(&self, parent: &P) -> Vec<Wait> {
        let state = self.0.lock();
        let expected = state.of.get(parent).into_iter().flat_map(Expected::all);
        expected.filter_map(|child| child.wrote.clone()).collect()
    }

    /// The parent is gone, and expects nothing.
    pub fn forget_all(&self, parent: &P) {
        let gone = self.0.lock().of.remove(parent);
        drop(gone);
    }

    /// How many parents expect something.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().of.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn expect<C: Ord>(
        &self,
        parent: &P,
        which: impl FnOnce(&mut Expected) -> &mut BTreeMap<C, Child>,
        child: C,
    ) -> Result<(), TooManyExpect> {
        let now = Instant::now();
        let mut state = self.0.lock();
        let (limit, patience) = (state.limit, state.patience);
        if state.of.len() >= limit && !state.of.contains_key(parent) {
            // Nobody asked for those that have given up since.
            state.of.retain(|_, expected| {
                expected.last().is_some_and(|last| now.saturating_duration_since(last) < patience)
            });
            if state.of.len() >= limit {
                return Err(TooManyExpect::Parents { limit });
            }
        }
        let limit = state.children;
        if limit == 0 {
            return Err(TooManyExpect::Children { limit });
        }
        let expected = state.of.entry(parent.clone()).or_default();
        let count = expected.to_come.len() + expected.to_go.len();
        let children = which(expected);
        if count >= limit && !children.contains_key(&child) {
            return Err(TooManyExpect::Children { limit });
        }
        children.insert(child, Child { since: now, wrote: None });
        Ok(())
    }

    fn forget(&self, parent: &P, which: impl FnOnce(&mut Expected)) {
        let mut state = self.0.lock();
        let Some(expected) = state.of.get_mut(parent) else { return };
        which(expected);
        if expected.last().is_none() {
            state.of.remove(parent);
        }
    }
}

impl Expected {
    fn all(&self) -> impl Iterator<Item = &Child> {
        self.to_come.values().chain(self.to_go.values())
    }

    fn last(&self) -> Option<Instant> {
        self.all().map(|child| child.since).max()
    }
}

impl<P> Clone for Expectations<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P> fmt::Debug for Expectations<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expectations").field("parents", &self.0.lock().of.len()).finish_non_exhaustive()
    }
}
