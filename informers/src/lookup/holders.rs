//! One name: who has an object of it, and which of them are out of date.

use super::Lookup;
use machinery_objects::Revision;
use std::sync::Arc;

/// What is known of one name.
///
/// Where versions are ordered, the end of one holder's object is news of the others': a state that is older than the
/// end was over by then, and whoever has it has not heard yet. It counts no more, but it stays until its holder lets
/// go of it. So it is hidden, and for as long as there is one the end is remembered.
#[derive(Debug)]
pub(crate) struct NameHolders<F, T> {
    /// In the order of their keys.
    holders: Arc<[Holder<F, T>]>,
    /// The latest end that somebody's state is older than.
    ended: Option<Revision>,
}

#[derive(Clone, Debug)]
struct Holder<F, T> {
    key: F,
    object: T,
    version: Option<Revision>,
}

/// The keys of one name's holders.
#[derive(Debug)]
pub(crate) struct HolderKeys<F, T> {
    holders: Arc<[Holder<F, T>]>,
    next: usize,
}

impl<F, T> NameHolders<F, T> {
    /// Whether a holder's state still counts.
    fn counts(&self, holder: &Holder<F, T>) -> bool {
        !is_older(holder.version, self.ended)
    }

    /// Forgets an end that nothing is older than.
    fn new(holders: Vec<Holder<F, T>>, ended: Option<Revision>) -> Self {
        let ended = ended.filter(|_| holders.iter().any(|holder| is_older(holder.version, ended)));
        Self { holders: holders.into(), ended }
    }

    /// Whether anything is hidden.
    pub(crate) const fn has_superseded(&self) -> bool {
        self.ended.is_some()
    }

    /// What is hidden.
    pub(crate) fn superseded(&self) -> impl Iterator<Item = (&F, &T)> {
        let superseded = self.holders.iter().filter(|holder| !self.counts(holder));
        superseded.map(|holder| (&holder.key, &holder.object))
    }

    /// The same with nothing hidden.
    pub(crate) fn without_superseded(&self) -> Self {
        Self { holders: self.holders.clone(), ended: None }
    }

    /// Who holds it, and what.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&F, &T)> {
        self.holders.iter().map(|holder| (&holder.key, &holder.object))
    }

    pub(crate) fn keys(&self) -> HolderKeys<F, T> {
        HolderKeys { holders: self.holders.clone(), next: 0 }
    }
}

impl<F: Ord + Clone, T: Clone> NameHolders<F, T> {
    /// One holder's object, whether it counts or not.
    pub(crate) fn of(&self, key: &F) -> Option<&T> {
        let at = self.place(key).ok()?;
        Some(&self.holders[at].object)
    }

    #[cfg(feature = "tokio")]
    /// What is under this key; or, if any will do, what the first has.
    pub(crate) fn under(&self, key: Option<&F>) -> Option<(&F, &T)> {
        let at = key.map_or(Some(0), |key| self.place(key).ok())?;
        self.holders.get(at).map(|holder| (&holder.key, &holder.object))
    }

    /// A name that one has.
    pub(crate) fn first(key: F, object: T, version: Option<Revision>) -> Self {
        Self { holders: Arc::new([Holder { key, object, version }]), ended: None }
    }

    /// The same with this state under a key.
    pub(crate) fn with(&self, key: F, object: T, version: Option<Revision>) -> Self {
        let mut holders = self.holders.to_vec();
        match self.place(&key) {
            Ok(at) => holders[at] = Holder { key, object, version },
            Err(at) => holders.insert(at, Holder { key, object, version }),
        }
        Self::new(holders, self.ended)
    }

    /// The same without what is under a key, whose end is at this version if that is known. `None` if nobody is left.
    pub(crate) fn without(&self, key: &F, ended: Option<Revision>) -> Option<Self> {
        let mut holders = self.holders.to_vec();
        if let Ok(at) = self.place(key) {
            // It has been as its holder had it: so what is older than that is out of date as well.
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

    /// As [`NameHolders::lookup`], but of several the one with the latest version has it, if all have versions.
    pub(crate) fn newest(&self) -> Lookup<F, T> {
        let counting = || self.holders.iter().filter(|holder| self.counts(holder));
        if counting().any(|holder| holder.version.is_none()) {
            return self.lookup();
        }
        // Of two with the same the first: they have the same state.
        counting()
            .rev()
            .max_by_key(|holder| holder.version)
            .map_or(Lookup::Absent, |newest| Lookup::Unique(newest.key.clone(), newest.object.clone()))
    }

    fn place(&self, key: &F) -> Result<usize, usize> {
        self.holders.binary_search_by(|holder| holder.key.cmp(key))
    }
}

/// Where versions are known, whether one is before the other.
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
