//! Expectations: creations and deletions that a cache does not show yet.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::{Event, Object, ObjectKey, Uid, WriteOutcome, WriteToken};
use machinery_sync::Mutex;
use tokio::time::Instant;

use crate::WriteTracker;
use crate::reconcile::WriteWait;

/// Creations and deletions of children that a controller has requested and its cache does not show
/// yet, as `ControllerExpectations` of kube-controller-manager.
///
/// [`Run::wrote`](crate::Run::wrote) suffices where a write was answered. Expectations also cover
/// lost responses, and batches of children: counting children in a stale cache creates too many.
///
/// Record an expectation before the write, remove it when the write was [rejected](Self::failed),
/// add the [token](Self::wrote) of a successful write, and pass on [each event](Self::observed) of
/// the children. An expectation ends with the event, or when the cache has passed the write (the
/// child may have been created and deleted between two reads), or when it expires.
///
/// Cheap to clone. `P` identifies a parent.
pub struct Expectations<P>(Arc<Mutex<State<P>>>);

struct State<P> {
    timeout: Duration,
    limit: usize,
    children: usize,
    of: HashMap<P, ParentExpectations, FixedState>,
}

/// Expectations of one parent.
#[derive(Default)]
struct ParentExpectations {
    creations: BTreeMap<ObjectKey, ExpectedChild>,
    deletions: BTreeMap<(ObjectKey, Uid), ExpectedChild>,
}

/// The time of an expectation, and the write to wait for once it was answered.
struct ExpectedChild {
    since: Instant,
    wrote: Option<WriteWait>,
}

/// The limit of expectations is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpectationsFull {
    /// Too many parents have expectations.
    #[error("{limit} parents have expectations already: requeue this one")]
    Parents {
        /// The limit of parents.
        limit: usize,
    },
    /// One parent has too many expectations.
    #[error("{limit} children of this parent are expected already: create the rest in its next run")]
    Children {
        /// The limit of children of one parent.
        limit: usize,
    },
}

/// Default limit of expected children of one parent.
const DEFAULT_CHILDREN_LIMIT: usize = 4096;
/// Interval at which a parent checks whether the cache has passed a write; no event reports that.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl<P: Eq + Hash + Clone> Expectations<P> {
    /// Creates an empty set. Expectations expire after `timeout`; at most `limit` parents have some
    /// at once.
    #[must_use]
    pub fn new(timeout: Duration, limit: usize) -> Self {
        let of = HashMap::with_hasher(FixedState::with_seed(0));
        Self(Arc::new(Mutex::new(State { timeout, limit, children: DEFAULT_CHILDREN_LIMIT, of })))
    }

    /// Sets the limit of expected children of one parent. Default: 4096.
    #[must_use]
    pub fn children(self, limit: usize) -> Self {
        self.0.lock().children = limit;
        self
    }

    /// Expects the creation of a child. Call it before the write.
    ///
    /// # Errors
    /// The limit of parents, or of children of this parent, is reached.
    pub fn expect_creation(&self, parent: &P, child: &ObjectKey) -> Result<(), ExpectationsFull> {
        self.expect(parent, |expected| &mut expected.creations, child.clone())
    }

    /// Expects the deletion of the child with this UID. Call it before the write.
    ///
    /// # Errors
    /// The limit of parents, or of children of this parent, is reached.
    pub fn expect_deletion(&self, parent: &P, child: &ObjectKey, uid: &Uid) -> Result<(), ExpectationsFull> {
        self.expect(parent, |expected| &mut expected.deletions, (child.clone(), uid.clone()))
    }

    /// Records the token of a successful write. The expectation then also ends when the informer
    /// has passed that write, so a child that was created and deleted between two reads is not
    /// waited for. An object that is only marked for deletion remains expected.
    pub fn wrote(&self, parent: &P, token: &WriteToken, informer: &impl WriteTracker) {
        let wait = WriteWait::new(token, informer);
        let mut state = self.0.lock();
        let Some(expected) = state.of.get_mut(parent) else { return };
        match &token.wrote {
            WriteOutcome::Stored(_) | WriteOutcome::Observed(_) => {
                if let Some(child) = expected.creations.get_mut(&token.key) {
                    child.wrote = Some(wait);
                }
            }
            WriteOutcome::Removed(_) => {
                let matches = |key: &ObjectKey, uid: &Uid| {
                    *key == token.key && token.uid.as_ref().is_none_or(|removed| removed == uid)
                };
                for ((key, uid), child) in &mut expected.deletions {
                    if matches(key, uid) {
                        child.wrote = Some(wait.clone());
                    }
                }
            }
        }
    }

    /// Removes the expectations of a child, because the write was rejected.
    pub fn failed(&self, parent: &P, child: &ObjectKey) {
        self.update(parent, |expected| {
            expected.creations.remove(child);
            expected.deletions.retain(|(key, _), _| key != child);
        });
    }

    /// Records an event of a child. A deletion event also fulfils an expected creation.
    pub fn observed<T: Object>(&self, parent: &P, event: &Event<Arc<T>>) {
        let (key, uid) = (event.object().key(), event.object().uid().and_then(Uid::new));
        self.update(parent, |expected| {
            // A late event may belong to a predecessor of the same name; the token has the UID of
            // the new child.
            let made = expected.creations.get(&key).and_then(|child| child.wrote.as_ref()?.token.uid.clone());
            if made.is_none() || uid.is_none() || made == uid {
                expected.creations.remove(&key);
            }
            // A new child of that name exists only after the deletion.
            expected.deletions.retain(|(child, removed), _| {
                *child != key || (event.is_present() && uid.as_ref() == Some(removed))
            });
        });
    }

    /// Returns the time after which the parent should check again, unless an event comes first;
    /// `None` if nothing is expected.
    #[must_use]
    pub fn pending(&self, parent: &P) -> Option<Duration> {
        let now = Instant::now();
        let timeout = self.0.lock().timeout;
        // Informers are not called under the lock.
        let mut visible = BTreeMap::<ObjectKey, Vec<WriteToken>>::new();
        for wait in self.answered(parent).into_iter().filter(WriteWait::is_visible) {
            visible.entry(wait.token.key.clone()).or_default().push(wait.token);
        }
        let is_pending = |child: &ExpectedChild| {
            let of_it =
                |wait: &WriteWait| visible.get(&wait.token.key).is_some_and(|all| all.contains(&wait.token));
            // By token: the expectation may have been replaced while the lock was free.
            let is_visible = child.wrote.as_ref().is_some_and(of_it);
            !is_visible && now.saturating_duration_since(child.since) < timeout
        };
        let (mut last, mut is_answered) = (None, false);
        self.update(parent, |expected| {
            expected.creations.retain(|_, child| is_pending(child));
            expected.deletions.retain(|_, child| is_pending(child));
            last = expected.last();
            is_answered = expected.all().any(|child| child.wrote.is_some());
        });
        let left = timeout.saturating_sub(now.saturating_duration_since(last?));
        // A lost response has no version to check: only an event or the timeout ends it.
        Some(if is_answered { left.min(CHECK_INTERVAL) } else { left })
    }

    /// Returns the writes that the cache has to reach.
    fn answered(&self, parent: &P) -> Vec<WriteWait> {
        let state = self.0.lock();
        let expected = state.of.get(parent).into_iter().flat_map(ParentExpectations::all);
        expected.filter_map(|child| child.wrote.clone()).collect()
    }

    /// Removes all expectations of a parent, for instance when it is deleted.
    pub fn forget(&self, parent: &P) {
        // Named, so that it is dropped after the lock: keys and waits hold types of users.
        let removed = self.0.lock().of.remove(parent);
        drop(removed);
    }

    /// Returns the number of parents with expectations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().of.len()
    }

    /// Returns whether no parent has expectations.
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
            // Evicts expired expectations of parents that were not checked since.
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
        let count = expected.creations.len() + expected.deletions.len();
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
        self.creations.values().chain(self.deletions.values())
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
