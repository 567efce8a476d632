//! The holders of one name, with those that a later deletion superseded.

use super::Lookup;
use machinery_objects::Revision;
use std::sync::Arc;

/// The holders of an object of one name.
///
/// If versions are ordered, a deletion seen under one key also concerns the others: a holder with
/// a version older than the deletion is superseded, as its own event is still in flight. It is
/// hidden from lookups until its key removes it; meanwhile the version of the deletion is kept.
#[derive(Debug)]
pub(crate) struct NameHolders<F, T> {
    /// Sorted by key.
    holders: Arc<[Holder<F, T>]>,
    /// The latest deletion that supersedes a holder.
    ended: Option<Revision>,
}

#[derive(Clone, Debug)]
struct Holder<F, T> {
    key: F,
    object: T,
    version: Option<Revision>,
}

/// Iterates over the keys of a name's holders.
#[derive(Debug)]
pub(crate) struct HolderKeys<F, T> {
    holders: Arc<[Holder<F, T>]>,
    next: usize,
}

impl<F, T> NameHolders<F, T> {
    /// Returns whether a holder is not superseded.
    fn counts(&self, holder: &Holder<F, T>) -> bool {
        !is_older(holder.version, self.ended)
    }

    /// Drops a deletion that supersedes no holder.
    fn new(holders: Vec<Holder<F, T>>, ended: Option<Revision>) -> Self {
        let ended = ended.filter(|_| holders.iter().any(|holder| is_older(holder.version, ended)));
        Self { holders: holders.into(), ended }
    }

    /// Returns whether any holder is superseded.
    pub(crate) const fn has_superseded(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns the superseded holders.
    pub(crate) fn superseded(&self) -> impl Iterator<Item = (&F, &T)> {
        let superseded = self.holders.iter().filter(|holder| !self.counts(holder));
        superseded.map(|holder| (&holder.key, &holder.object))
    }

    /// Returns a copy in which no holder is superseded.
    pub(crate) fn without_superseded(&self) -> Self {
        Self { holders: self.holders.clone(), ended: None }
    }

    /// Returns all holders with their objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&F, &T)> {
        self.holders.iter().map(|holder| (&holder.key, &holder.object))
    }

    pub(crate) fn keys(&self) -> HolderKeys<F, T> {
        HolderKeys { holders: self.holders.clone(), next: 0 }
    }
}

impl<F: Ord + Clone, T: Clone> NameHolders<F, T> {
    /// Returns the object under a key, superseded or not.
    pub(crate) fn of(&self, key: &F) -> Option<&T> {
        let at = self.place(key).ok()?;
        Some(&self.holders[at].object)
    }

    #[cfg(feature = "tokio")]
    /// Returns the holder under this key, or the first one if `key` is `None`.
    pub(crate) fn under(&self, key: Option<&F>) -> Option<(&F, &T)> {
        let at = key.map_or(Some(0), |key| self.place(key).ok())?;
        self.holders.get(at).map(|holder| (&holder.key, &holder.object))
    }

    /// Creates the entry of a name with one holder.
    pub(crate) fn first(key: F, object: T, version: Option<Revision>) -> Self {
        Self { holders: Arc::new([Holder { key, object, version }]), ended: None }
    }

    /// Returns a copy with this object under a key.
    pub(crate) fn with(&self, key: F, object: T, version: Option<Revision>) -> Self {
        // Copied, because snapshots share the slice; names have few holders.
        let mut holders = self.holders.to_vec();
        match self.place(&key) {
            Ok(at) => holders[at] = Holder { key, object, version },
            Err(at) => holders.insert(at, Holder { key, object, version }),
        }
        Self::new(holders, self.ended)
    }

    /// Returns a copy without the holder under a key, deleted at this version if that is known;
    /// `None` if no holder remains.
    pub(crate) fn without(&self, key: &F, ended: Option<Revision>) -> Option<Self> {
        let mut holders = self.holders.to_vec();
        if let Ok(at) = self.place(key) {
            // The object existed in its holder's version, so older ones are superseded too.
            let ended = ended.max(holders.remove(at).version).max(self.ended);
            return (!holders.is_empty()).then(|| Self::new(holders, ended));
        }
        Some(self.clone())
    }

    pub(crate) fn lookup(&self) -> Lookup<F, T> {
        let mut counting = self.holders.iter().filter(|holder| self.counts(holder));
        match (counting.next(), counting.next()) {
            (None, _) => Lookup::Absent,
            (Some(only), None) => Lookup::Unique(only.key.clone(), only.object.clone()),
            (Some(first), Some(second)) => {
                let keys = [first, second].into_iter().chain(counting);
                Lookup::Ambiguous(keys.map(|holder| holder.key.clone()).collect())
            }
        }
    }

    /// As [`NameHolders::lookup`], but several holders are resolved to the one with the latest
    /// version, if all have versions.
    pub(crate) fn newest(&self) -> Lookup<F, T> {
        let counting = || self.holders.iter().filter(|holder| self.counts(holder));
        if counting().any(|holder| holder.version.is_none()) {
            return self.lookup();
        }
        // Of equal versions the first: they are the same state.
        counting()
            .rev()
            .max_by_key(|holder| holder.version)
            .map_or(Lookup::Absent, |newest| Lookup::Unique(newest.key.clone(), newest.object.clone()))
    }

    fn place(&self, key: &F) -> Result<usize, usize> {
        self.holders.binary_search_by(|holder| holder.key.cmp(key))
    }
}

/// Returns whether both versions are known and the first is older.
fn is_older(version: Option<Revision>, than: Option<Revision>) -> bool {
    version.zip(than).is_some_and(|(version, than)| version < than)
}

impl<F, T> Clone for NameHolders<F, T> {
    fn clone(&self) -> Self {
        Self { holders: self.holders.clone(), ended: self.ended }
    }
}

impl<F: Clone, T> Iterator for HolderKeys<F, T> {
    type Item = F;

    fn next(&mut self) -> Option<F> {
        let holder = self.holders.get(self.next)?;
        self.next += 1;
        Some(holder.key.clone())
    }
}
