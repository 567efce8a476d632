//! Statistics of a recorded run, and the minimum for a conclusive one.

use thiserror::Error;

use super::calls::{Exchange, History};
use super::traffic::TrafficPlan;
use crate::{CommitError, ReadError, WatchError, WatchItem};

/// Statistics of a recorded run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficStats {
    /// Commits that made a revision.
    pub commits: usize,
    /// Commits that failed a condition.
    pub conflicts: usize,
    /// Successful reads.
    pub reads: usize,
    /// Successful reads at a past revision.
    pub past_reads: usize,
    /// Reads and watches refused for a compacted revision.
    pub compacted: usize,
    /// Reads and watches refused for a future revision.
    pub future: usize,
    /// Compactions.
    pub compactions: usize,
    /// Watches that yielded changes.
    pub watches: usize,
    /// Watches resumed from a past revision.
    pub resumed: usize,
    /// Watch items with changes.
    pub changes: usize,
    /// Progress items of watches.
    pub marks: usize,
}

/// The run had too little traffic to be conclusive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("seed {seed}: {count} {kind}, and a conclusive run has at least {minimum}: {load:?}")]
pub struct InsufficientTraffic {
    /// The seed of the run.
    pub seed: u64,
    /// The kind of traffic.
    pub kind: &'static str,
    /// The count.
    pub count: usize,
    /// The minimum count.
    pub minimum: usize,
    /// The statistics of the run.
    pub load: Box<TrafficStats>,
}

impl TrafficStats {
    /// Computes the statistics of `history`.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut load = Self::default();
        for call in &history.calls {
            match &call.exchange {
                Exchange::Commit(_, Some(Ok(commit))) => load.commits += usize::from(commit.changed),
                Exchange::Commit(_, Some(Err(CommitError::Conflict(_)))) => load.conflicts += 1,
                Exchange::Range(_, Some(Ok(page))) => {
                    load.reads += 1;
                    load.past_reads += usize::from(page.at < page.current);
                }
                Exchange::Range(_, Some(Err(ReadError::Compacted { .. }))) => load.compacted += 1,
                Exchange::Range(_, Some(Err(ReadError::Future { .. }))) => load.future += 1,
                Exchange::Compact(_, Some(Ok(()))) => load.compactions += 1,
                _ => {}
            }
        }
        for watched in &history.watches {
            let is_change = |seen: &&(u64, WatchItem)| matches!(seen.1, WatchItem::Changes { .. });
            let count = watched.seen.iter().filter(is_change).count();
            load.changes += count;
            load.marks += watched.seen.len() - count;
            load.watches += usize::from(count > 0);
            load.resumed += usize::from(count > 0 && watched.after > history.first);
            load.compacted += usize::from(matches!(watched.end, Some(WatchError::Compacted { .. })));
            load.future += usize::from(matches!(watched.end, Some(WatchError::Future { .. })));
        }
        load
    }

    pub(super) fn suffices(self, plan: &TrafficPlan) -> Result<(), InsufficientTraffic> {
        let steps = plan.clients * plan.steps;
        let floors = [
            ("commits", self.commits, steps / 4),
            ("conflicts", self.conflicts, steps / 100),
            ("reads", self.reads, steps / 20),
            ("reads of the past", self.past_reads, steps / 100),
            ("refusals of what is compacted", self.compacted, 1),
            ("refusals of the future", self.future, 1),
            ("compactions", self.compactions, 3),
            ("watches", self.watches, plan.watchers * 3),
            ("watches that were resumed", self.resumed, plan.watchers * 2),
            ("changes changes", self.changes, steps / 8),
            ("progress marks", self.marks, plan.watchers),
        ];
        match floors.into_iter().find(|(_, count, minimum)| count < minimum) {
            None => Ok(()),
            Some((kind, count, minimum)) => {
                Err(InsufficientTraffic { seed: plan.seed, kind, count, minimum, load: Box::new(self) })
            }
        }
    }
}
