//! An index from terms to watchers, so that an event does not evaluate every watcher.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// Watcher IDs by the hash of a term.
#[derive(Debug)]
pub(super) struct Index {
    // Hashes instead of texts: a collision costs an evaluation, and never a wrong event.
    terms: HashMap<u64, WatcherIds, FixedState>,
}

/// Sized by count: most terms have few watchers, and large sets still have fast lookup.
#[derive(Debug)]
enum WatcherIds {
    One(u32),
    Few(Vec<u32>),
    /// Boxed, since most entries are small.
    Many(Box<HashSet<u32, FixedState>>),
}

/// Beyond this size a set replaces the vector.
const FEW: usize = 32;

impl Index {
    pub(super) fn new() -> Self {
        Self { terms: HashMap::default() }
    }

    pub(super) fn add(&mut self, term: u64, number: u32) {
        match self.terms.get_mut(&term) {
            Some(numbers) => numbers.add(number),
            None => {
                self.terms.insert(term, WatcherIds::One(number));
            }
        }
    }

    pub(super) fn remove(&mut self, term: u64, number: u32) {
        if self.terms.get_mut(&term).is_some_and(|numbers| numbers.remove(number)) {
            self.terms.remove(&term);
        }
    }

    /// Calls `each` with every watcher ID of a term.
    pub(super) fn each(&self, term: u64, each: impl FnMut(u32)) {
        match self.terms.get(&term) {
            None => {}
            Some(WatcherIds::One(number)) => [*number].into_iter().for_each(each),
            Some(WatcherIds::Few(numbers)) => numbers.iter().copied().for_each(each),
            Some(WatcherIds::Many(numbers)) => numbers.iter().copied().for_each(each),
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }
}

impl WatcherIds {
    fn add(&mut self, number: u32) {
        match self {
            Self::One(other) => *self = Self::Few(vec![*other, number]),
            Self::Few(numbers) if numbers.len() < FEW => numbers.push(number),
            Self::Few(numbers) => {
                let mut many: HashSet<u32, _> = numbers.iter().copied().collect();
                many.insert(number);
                *self = Self::Many(Box::new(many));
            }
            Self::Many(numbers) => {
                numbers.insert(number);
            }
        }
    }

    /// Returns whether none is left.
    fn remove(&mut self, number: u32) -> bool {
        match self {
            Self::One(other) => *other == number,
            Self::Few(numbers) => {
                numbers.retain(|other| *other != number);
                numbers.is_empty()
            }
            Self::Many(numbers) => {
                numbers.remove(&number);
                numbers.is_empty()
            }
        }
    }
}
