//! What keyed informers are made of, besides what is held.

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
use crate::reflect::{ReflectorCommand, ReflectorError, ReflectorLimits};

/// A key with the text by which it is selected.
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
    /// How many there are.
    pub(super) streams: AtomicU64,
}

/// What has happened to keyed informers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyedCounts {
    /// Pages that were asked for.
    pub lists: u64,
    /// Watches that were asked for, and streams of interest.
    pub opened: u64,
    /// Edits of a stream of interest that were asked for.
    pub edits: u64,
    /// Events of objects that came.
    pub events: u64,
    /// Those of them that came for a key that nobody wanted any more, and changed nothing.
    pub fenced: u64,
    /// Changes that came after those that they came before, and were dropped.
    pub late: u64,
    /// Objects that could not be read, each time.
    pub unreadable: u64,
    /// Times that something was wrong.
    pub troubles: u64,
}

#[derive(Default)]
pub(crate) struct KeyedReport {
    pub(super) counts: KeyedCounts,
    /// Of each stream that is not up to date.
    pub(super) troubles: BTreeMap<Tenure, ReflectorError>,
    /// Of each stream, what it cannot read.
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

    /// What came of a stream, and what it cannot read now.
    pub(super) fn outcome<N, T>(
        &mut self,
        stream: Tenure,
        outcome: &Outcome<N, T>,
        unreadable: &BTreeMap<ObjectKey, Unreadable>,
    ) {
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
            self.unreadable.insert(stream, unreadable.values().cloned().collect());
        }
    }

    pub(super) fn record_error(&mut self, stream: Tenure, trouble: ReflectorError) {
        self.counts.troubles += 1;
        self.troubles.insert(stream, trouble);
    }

    /// There is no such stream any more.
    pub(super) fn remove_stream(&mut self, stream: Tenure) {
        self.troubles.remove(&stream);
        self.unreadable.remove(&stream);
    }

    /// What cannot be read, as much as is shown.
    pub(super) fn unreadable(&self) -> Vec<Unreadable> {
        self.unreadable.values().flatten().take(UNREADABLE).cloned().collect()
    }
}

/// So many objects that cannot be read are shown.
const UNREADABLE: usize = 1000;
