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

use crate::WriteTracker;
use crate::reconcile::WriteWait;

/// What controllers have asked for and their caches do not show yet: children that are to come, and children that are to go.
///
/// [`Run::wrote`](crate::Run::wrote) is enough where a write was answered. This is for those of which the answer was lost, and for
/// many children at once: whoever counts them in the cache while some are on their way makes too many.
///
/// Expect before the write, [take back](Self::failed) what was refused, say what was [answered](Self::wrote), and show it
/// [each event](Self::observed) of the children. A parent of whom something is expected waits: until it is seen, until the cache is past what was
/// answered, as where a child has come and gone unseen, or until it is too old to come.
///
/// Cheap to clone. `P` names a parent.
pub struct Expectations<P>(Arc<Mutex<State<P>>>);

struct State<P> {
    timeout: Duration,
    limit: usize,
    children: usize,
    of: HashMap<P, ParentExpectations, FixedState>,
}

/// What is expected of one parent.
#[derive(Default)]
struct ParentExpectations {
    expect_creation: BTreeMap<ObjectKey, ExpectedChild>,
    expect_deletion: BTreeMap<(ObjectKey, Uid), ExpectedChild>,
}

/// Since when a child is expected, and what the cache is to show of it if that is known.
struct ExpectedChild {
    since: Instant,
    wrote: Option<WriteWait>,
}

/// There are as many expectations as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpectationsFull {
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
const DEFAULT_CHILDREN_LIMIT: usize = 4096;
/// As often it is looked whether the cache is past what was written: nobody is told that.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl<P: Eq + Hash + Clone> Expectations<P> {
    /// None. What does not come within `timeout` is expected no more; so many parents may expect something at once.
    #[must_use]
    pub fn new(timeout: Duration, limit: usize) -> Self {
        let of = HashMap::with_hasher(FixedState::with_seed(0));
        Self(Arc::new(Mutex::new(State { timeout, limit, children: DEFAULT_CHILDREN_LIMIT, of })))
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
    pub fn expect_creation(&self, parent: &P, child: &ObjectKey) -> Result<(), ExpectationsFull> {
        self.expect(parent, |expected| &mut expected.expect_creation, child.clone())
    }

    /// This child is about to be deleted; which one of its name, its UID says.
    ///
    /// # Errors
    /// Too many parents expect something, or this one too much.
    pub fn expect_deletion(&self, parent: &P, child: &ObjectKey, uid: &Uid) -> Result<(), ExpectationsFull> {
        self.expect(parent, |expected| &mut expected.expect_deletion, (child.clone(), uid.clone()))
    }

    /// What was to become of a child was done, and answered with this. It is expected until the informer shows it or is past it: so where a
    /// child comes and goes unseen nobody waits for it. One that was only marked to go is expected as before.
    pub fn wrote(&self, parent: &P, token: &WriteToken, informer: &impl WriteTracker) {
        let wait = WriteWait::new(token, informer);
        let mut state = self.0.lock();
        let Some(expected) = state.of.get_mut(parent) else { return };
        match &token.wrote {
            Wrote::Stored(_) => {
                if let Some(child) = expected.expect_creation.get_mut(&token.key) {
                    child.wrote = Some(wait);
                }
            }
            Wrote::Removed(_) => {
                let matches = |key: &ObjectKey, uid: &Uid| {
                    *key == token.key && token.uid.as_ref().is_none_or(|removed| removed == uid)
                };
                for ((key, uid), child) in &mut expected.expect_deletion {
                    if matches(key, uid) {
                        child.wrote = Some(wait.clone());
                    }
                }
            }
        }
    }

    /// Whatever was to become of this child was refused, and will not.
    pub fn failed(&self, parent: &P, child: &ObjectKey) {
        self.update(parent, |expected| {
            expected.expect_creation.remove(child);
            expected.expect_deletion.retain(|(key, _), _| key != child);
        });
    }

    /// A child of this parent was told of. A deletion of one that was to come has been told because it came.
    pub fn observed<T: Object>(&self, parent: &P, event: &Event<Arc<T>>) {
        let (key, uid) = (event.object().key(), event.object().uid().and_then(Uid::new));
        self.update(parent, |expected| {
            // What is told late of one that was there before is not the one that was made: its answer says which that is.
            let made =
                expected.expect_creation.get(&key).and_then(|child| child.wrote.as_ref()?.token.uid.clone());
            if made.is_none() || uid.is_none() || made == uid {
                expected.expect_creation.remove(&key);
            }
            // Another of its name is there only after it.
            expected.expect_deletion.retain(|(child, removed), _| {
                *child != key || (event.is_present() && uid.as_ref() == Some(removed))
            });
        });
    }

    /// In how long the parent should look again, if nothing is seen before; `None`: it can go on at once.
    #[must_use]
    pub fn pending(&self, parent: &P) -> Option<Duration> {
        let now = Instant::now();
        let timeout = self.0.lock().timeout;
        // Informers are not asked under the lock.
        let mut visible = BTreeMap::<ObjectKey, Vec<WriteToken>>::new();
        for wait in self.answered(parent).into_iter().filter(WriteWait::is_visible) {
            visible.entry(wait.token.key.clone()).or_default().push(wait.token);
        }
        let is_pending = |child: &ExpectedChild| {
            let of_it =
                |wait: &WriteWait| visible.get(&wait.token.key).is_some_and(|all| all.contains(&wait.token));
            let is_visible = child.wrote.as_ref().is_some_and(of_it);
            !is_visible && now.saturating_duration_since(child.since) < timeout
        };
        let (mut last, mut is_answered) = (None, false);
        self.update(parent, |expected| {
            expected.expect_creation.retain(|_, child| is_pending(child));
            expected.expect_deletion.retain(|_, child| is_pending(child));
            last = expected.last();
            is_answered = expected.all().any(|child| child.wrote.is_some());
        });
        let left = timeout.saturating_sub(now.saturating_duration_since(last?));
        Some(if is_answered { left.min(CHECK_INTERVAL) } else { left })
    }

    /// What the cache is to show.
    fn answered(&self, parent: &P) -> Vec<WriteWait> {
        let state = self.0.lock();
        let expected = state.of.get(parent).into_iter().flat_map(ParentExpectations::all);
        expected.filter_map(|child| child.wrote.clone()).collect()
    }

    /// The parent is gone, and expects nothing.
    pub fn forget(&self, parent: &P) {
        let removed = self.0.lock().of.remove(parent);
        drop(removed);
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
        which: impl FnOnce(&mut ParentExpectations) -> &mut BTreeMap<C, ExpectedChild>,
        child: C,
    ) -> Result<(), ExpectationsFull> {
        let now = Instant::now();
        let mut state = self.0.lock();
        let (limit, timeout) = (state.limit, state.timeout);
        if state.of.len() >= limit && !state.of.contains_key(parent) {
            // Nobody asked for those that have given up since.
            state.of.retain(|_, expected| {
                expected.last().is_some_and(|last| now.saturating_duration_since(last) < timeout)
            });
            if state.of.len() >= limit {
                return Err(ExpectationsFull::Parents { limit });
            }
        }
        let limit = state.children;
        if limit == 0 {
            return Err(ExpectationsFull::Children { limit });
        }
        let expected = state.of.entry(parent.clone()).or_default();
        let count = expected.expect_creation.len() + expected.expect_deletion.len();
        let children = which(expected);
        if count >= limit && !children.contains_key(&child) {
            return Err(ExpectationsFull::Children { limit });
        }
        children.insert(child, ExpectedChild { since: now, wrote: None });
        Ok(())
    }

    fn update(&self, parent: &P, which: impl FnOnce(&mut ParentExpectations)) {
        let mut state = self.0.lock();
        let Some(expected) = state.of.get_mut(parent) else { return };
        which(expected);
        if expected.last().is_none() {
            state.of.remove(parent);
        }
    }
}

impl ParentExpectations {
    fn all(&self) -> impl Iterator<Item = &ExpectedChild> {
        self.expect_creation.values().chain(self.expect_deletion.values())
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
