//! What keyed informers are made of, besides what is held.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use machinery_objects::{Filter, InterestBy, ListWatch};
use machinery_sync::Mutex;

use super::holdings::Holdings;
use super::shelves::{Find, Key};
use super::wanted::Tenure;
use crate::cache::Outcome;
use crate::reflect::{Limits, Order, Trouble};

/// A key with the text by which it is selected.
pub trait Text: Key + Display {}

impl<F: Key + Display> Text for F {}

pub(crate) struct Shared<F, T> {
    pub(super) source: Arc<dyn ListWatch<Arc<T>>>,
    pub(super) by: InterestBy,
    pub(super) find: Find<F, T>,
    pub(super) filter: Filter,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    pub(super) linger: Duration,
    pub(super) per_key: bool,
    pub(super) holdings: Arc<Holdings<F, T>>,
    pub(super) report: Mutex<Report>,
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
    /// Times that something was wrong.
    pub troubles: u64,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(super) counts: KeyedCounts,
    /// Of each stream that is not up to date.
    pub(super) troubles: BTreeMap<Tenure, Trouble>,
    pub(super) heard: Option<Instant>,
}

impl Report {
    pub(super) fn heard(&mut self, now: Instant, of_an_object: bool) {
        self.heard = Some(now);
        self.counts.events += u64::from(of_an_object);
    }

    pub(super) const fn asked(&mut self, order: &Order) {
        match order {
            Order::List(_) => self.counts.lists += 1,
            Order::Watch(_) => self.counts.opened += 1,
            Order::Wait => {}
        }
    }

    /// What came of a stream.
    pub(super) fn outcome<N, T>(&mut self, stream: Tenure, outcome: &Outcome<N, T>) {
        self.counts.troubles += outcome.troubles.len() as u64;
        if outcome.well {
            self.troubles.remove(&stream);
        } else if let Some(trouble) = outcome.troubles.last() {
            self.troubles.insert(stream, trouble.clone());
        }
    }
}
