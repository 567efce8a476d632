//! Who waits for which name, for many threads.

use std::fmt;

use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_sync::Mutex;

use super::line::Lines;

/// Who waits for which name, in the order in which they came.
///
/// Whoever looks whether a name is free [takes a place](Self::wait) first, and looks then: a name that becomes free after the look is told
/// to whoever has a place by then. [`NameLocks`](super::NameLocks) does all of that.
pub struct Waiters<W>(Mutex<Lines<W>>);

impl<W: Ord + Clone> Waiters<W> {
    /// Nobody; with room for so many places.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Mutex::new(Lines::new(limit)))
    }

    /// Takes a place in the line for a name, or the one that it has. Not if all places are taken.
    pub fn wait(&self, name: &ObjectKey, who: &W) -> bool {
        self.0.lock().wait(name, who)
    }

    /// Says in which version the lock was that is in the way: a cache that is before that does not know of it yet.
    pub fn saw(&self, name: &ObjectKey, version: Option<ResourceVersion>) {
        self.0.lock().saw(name, version);
    }

    /// A name is free: who is to be told, the longest waiting first. Who waits for it again before it is free the next time has the same
    /// place.
    pub fn freed(&self, name: &ObjectKey) -> Vec<W> {
        self.0.lock().freed(name)
    }

    /// Gives up a place.
    pub fn leave(&self, name: &ObjectKey, who: &W) {
        self.0.lock().leave(name, who);
    }

    /// Gives up all places of one.
    pub fn forget(&self, who: &W) {
        self.0.lock().forget(who);
    }

    /// The names that somebody is still to be told of, each with the version in which its lock was seen.
    pub fn waited_for(&self) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
        let lines = self.0.lock();
        lines.waited_for().map(|(name, seen)| (name.clone(), seen.cloned())).collect()
    }

    /// Gives up the places of all for whom the function says no.
    pub fn keep(&self, is_there: impl Fn(&W) -> bool) {
        let everybody: Vec<W> = self.0.lock().everybody().cloned().collect();
        for who in everybody.iter().filter(|who| !is_there(who)) {
            self.forget(who);
        }
    }

    /// How many places are taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<W: Ord + Clone> fmt::Debug for Waiters<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("places", &self.len()).finish_non_exhaustive()
    }
}
