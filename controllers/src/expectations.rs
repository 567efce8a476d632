//! What was asked for and cannot be seen yet.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::{Event, Object, ObjectKey, Uid};
use machinery_sync::Mutex;
use tokio::time::Instant;

/// What controllers have asked for and their caches do not show yet: children that are to come, and children that are to go.
///
/// [`Run::wrote`](crate::Run::wrote) is enough where a write was answered. This is for those of which the answer was lost, and for
/// many children at once: whoever counts them in the cache while some are on their way makes too many.
///
/// Expect before the write, [take back](Self::failed) what was refused, and show it [each event](Self::saw) of the children. A parent of whom
/// something is expected waits: until it is seen, or until it is too old to come.
///
/// Cheap to clone. `P` names a parent.
pub struct Expectations<P>(Arc<Mutex<State<P>>>);

struct State<P> {
    patience: Duration,
    limit: usize,
    of: HashMap<P, Expected, FixedState>,
}

/// What is expected of one parent, and since when each.
#[derive(Default)]
struct Expected {
    to_come: BTreeMap<ObjectKey, Instant>,
    to_go: BTreeMap<(ObjectKey, Uid), Instant>,
}

/// There are as many expectations as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} parents expect something already: let this one run again later")]
pub struct TooManyExpect {
    /// How many parents may.
    pub limit: usize,
}

impl<P: Eq + Hash + Clone> Expectations<P> {
    /// None. What does not come within `patience` is expected no more; so many parents may expect something at once.
    #[must_use]
    pub fn new(patience: Duration, limit: usize) -> Self {
        let of = HashMap::with_hasher(FixedState::with_seed(0));
        Self(Arc::new(Mutex::new(State { patience, limit, of })))
    }

    /// This child is about to be made.
    ///
    /// # Errors
    /// Too many parents expect something.
    pub fn to_come(&self, parent: &P, child: &ObjectKey) -> Result<(), TooManyExpect> {
        self.expect(parent, |expected| &mut expected.to_come, child.clone())
    }

    /// This child is about to be deleted; which one of its name, its UID says.
    ///
    /// # Errors
    /// Too many parents expect something.
    pub fn to_go(&self, parent: &P, child: &ObjectKey, uid: &Uid) -> Result<(), TooManyExpect> {
        self.expect(parent, |expected| &mut expected.to_go, (child.clone(), uid.clone()))
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
            expected.to_come.remove(&key);
            // Another of its name is there only after it.
            expected.to_go.retain(|(child, gone), _| {
                *child != key || (event.is_present() && uid.as_ref() == Some(gone))
            });
        });
    }

    /// In how long the parent can go on, if nothing is seen before; `None`: at once.
    #[must_use]
    pub fn pending(&self, parent: &P) -> Option<Duration> {
        let now = Instant::now();
        let patience = self.0.lock().patience;
        let is_due = |since: &Instant| now.saturating_duration_since(*since) < patience;
        let mut last = None;
        self.forget(parent, |expected| {
            expected.to_come.retain(|_, since| is_due(since));
            expected.to_go.retain(|_, since| is_due(since));
            last = expected.last();
        });
        last.map(|last| patience.saturating_sub(now.saturating_duration_since(last)))
    }

    /// The parent is gone, and expects nothing.
    pub fn forget_all(&self, parent: &P) {
        self.0.lock().of.remove(parent);
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
        which: impl FnOnce(&mut Expected) -> &mut BTreeMap<C, Instant>,
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
                return Err(TooManyExpect { limit });
            }
        }
        which(state.of.entry(parent.clone()).or_default()).insert(child, now);
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
    fn last(&self) -> Option<Instant> {
        self.to_come.values().chain(self.to_go.values()).max().copied()
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
