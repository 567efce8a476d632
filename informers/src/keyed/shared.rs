//! The parts of keyed informers that their streams share.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use machinery_objects::{Filter, InterestBy, ListWatch, ObjectKey, Unreadable};
use machinery_sync::Mutex;

use super::interest_counts::Tenure;
use super::keyed_cache::KeyedCache;
use super::keyed_store::{Key, KeyFn};
use super::progress::Progress;
use crate::cache::Outcome;
use crate::readable::newly_unreadable;
use crate::reflect::{ReflectorCommand, ReflectorError, ReflectorLimits};

/// A key with the text that selects it: the value of its field or label.
pub trait SelectorKey: Key + Display {}

impl<F: Key + Display> SelectorKey for F {}

pub(crate) struct KeyedShared<F, T> {
    pub(super) source: Arc<dyn ListWatch<Arc<T>>>,
    pub(super) by: InterestBy,
    pub(super) find: KeyFn<F, T>,
    pub(super) filter: Filter,
    pub(super) limits: ReflectorLimits,
    pub(super) seed: u64,
    pub(super) linger: Duration,
    pub(super) per_key: bool,
    pub(super) keyed_cache: Arc<KeyedCache<F, T>>,
    pub(super) progress: Progress,
    pub(super) report: Mutex<KeyedReport>,
    /// Number of open streams.
    pub(super) streams: AtomicU64,
}

/// The identity of the one stream of all keys.
pub(super) const ONE_STREAM: Tenure = Tenure(0);

/// Logged when a source refuses a key.
pub(super) const REFUSED: &str = "the source refuses a key: its field may not be selectable (`selectableFields` of \
     the definition), so its objects will not be cached";

/// Counters of keyed informers, since their creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyedCounts {
    /// Pages of lists that were requested.
    pub lists: u64,
    /// Watches and interest streams that were requested.
    pub opened: u64,
    /// Edits of interest streams that were requested.
    pub edits: u64,
    /// Events of objects received.
    pub events: u64,
    /// Events for keys without interest, which changed nothing.
    pub fenced: u64,
    /// Changes that arrived after a newer version of their object, and were dropped.
    pub late: u64,
    /// Unreadable objects that were received, with repetitions.
    pub unreadable: u64,
    /// Errors.
    pub troubles: u64,
}

#[derive(Default)]
pub(crate) struct KeyedReport {
    pub(super) counts: KeyedCounts,
    /// The errors of streams that are not up to date.
    pub(super) troubles: BTreeMap<Tenure, ReflectorError>,
    /// The errors of keys that the source refuses on the one stream. Those of a stream per key are
    /// in `troubles`.
    refused: BTreeMap<Tenure, ReflectorError>,
    /// The unreadable objects of each stream.
    unreadable: BTreeMap<Tenure, Vec<Unreadable>>,
    pub(super) last_event: Option<Instant>,
}

impl KeyedReport {
    pub(super) fn record_event(&mut self, now: Instant, of_an_object: bool) {
        self.last_event = Some(now);
        self.counts.events += u64::from(of_an_object);
    }

    pub(super) const fn count_command(&mut self, command: &ReflectorCommand) {
        match command {
            ReflectorCommand::List(_) => self.counts.lists += 1,
            ReflectorCommand::Watch(_) => self.counts.opened += 1,
            ReflectorCommand::Wait => {}
        }
    }

    /// Records the outcome of a batch of a stream, and its unreadable objects; returns those that
    /// are to be logged, without the lock.
    pub(super) fn outcome<N, T>(
        &mut self,
        stream: Tenure,
        outcome: &Outcome<N, T>,
        unreadable: &BTreeMap<ObjectKey, Unreadable>,
    ) -> Vec<Unreadable> {
        self.counts.troubles += outcome.errors.len() as u64;
        self.counts.late += outcome.late;
        self.counts.unreadable += outcome.unreadable;
        if outcome.recovered {
            self.troubles.remove(&stream);
        } else if let Some(trouble) = outcome.errors.last() {
            self.troubles.insert(stream, trouble.clone());
        }
        let count = self.unreadable.get(&stream).map_or(0, Vec::len);
        if unreadable.is_empty() {
            self.unreadable.remove(&stream);
        } else if outcome.relisted || outcome.unreadable > 0 || count != unreadable.len() {
            let now: Vec<_> = unreadable.values().cloned().collect();
            let before = self.unreadable.insert(stream, now.clone()).unwrap_or_default();
            return newly_unreadable(&before, &now);
        }
        Vec::new()
    }

    pub(super) fn record_error(&mut self, stream: Tenure, trouble: ReflectorError) {
        self.counts.troubles += 1;
        self.troubles.insert(stream, trouble);
    }

    /// Replaces the keys that the source refuses on the one stream; returns whether one is new.
    pub(super) fn set_refused(&mut self, tenures: impl Iterator<Item = Tenure>) -> bool {
        let reason = self.troubles.values().find(|trouble| trouble.is_refusal()).cloned();
        let before = std::mem::take(&mut self.refused);
        let error = |tenure: &Tenure| before.get(tenure).cloned().or_else(|| reason.clone());
        self.refused = tenures.filter_map(|tenure| Some((tenure, error(&tenure)?))).collect();
        self.refused.keys().any(|tenure| !before.contains_key(tenure))
    }

    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns the error because of which the objects of a key will not be cached.
    pub(super) fn refusal(&self, tenure: Tenure) -> Option<ReflectorError> {
        let own = self.troubles.get(&tenure).filter(|trouble| trouble.is_refusal());
        let not_served = || {
            let streams = [tenure, ONE_STREAM];
            streams
                .iter()
                .filter_map(|stream| self.troubles.get(stream))
                .find(|trouble| trouble.is_not_served())
        };
        self.refused.get(&tenure).or(own).or_else(not_served).cloned()
    }

    /// Forgets a closed stream.
    pub(super) fn remove_stream(&mut self, stream: Tenure) {
        self.troubles.remove(&stream);
        self.unreadable.remove(&stream);
    }

    /// Returns the unreadable objects, up to the limit.
    pub(super) fn unreadable(&self) -> Vec<Unreadable> {
        self.unreadable.values().flatten().take(UNREADABLE).cloned().collect()
    }
}

/// Maximum number of unreadable objects that are reported.
const UNREADABLE: usize = 1000;
