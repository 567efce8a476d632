//! What came about, and whether it is enough to show something.

use thiserror::Error;

use super::calls::{Exchange, History};
use super::traffic::Plan;
use crate::{CommitError, ReadError, Seen, WatchError};

/// What came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Commits that made a revision.
    pub commits: usize,
    /// Commits that were refused for a condition.
    pub conflicts: usize,
    /// Reads that were answered.
    pub reads: usize,
    /// Of these, at a revision before the newest.
    pub past_reads: usize,
    /// Reads and watches that were refused because of compaction.
    pub compacted: usize,
    /// Reads and watches that were refused because they asked for the future.
    pub future: usize,
    /// Compactions.
    pub compactions: usize,
    /// Watches that told something.
    pub watches: usize,
    /// Of these, such as began in the past.
    pub resumed: usize,
    /// Changes that were told.
    pub told: usize,
    /// Marks that were told.
    pub marks: usize,
}

/// A run that did not load the store is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("seed {seed}: there were {there} {what}, and {least} are the least that shows something: {load:?}")]
pub struct TooLittle {
    /// The run's.
    pub seed: u64,
    /// What is missing.
    pub what: &'static str,
    /// How many there were.
    pub there: usize,
    /// How many there should have been.
    pub least: usize,
    /// Everything that came about.
    pub load: Box<Load>,
}

impl Load {
    /// What came about in `history`.
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
            let told = |seen: &&(u64, Seen)| matches!(seen.1, Seen::Changes { .. });
            let count = watched.seen.iter().filter(told).count();
            load.told += count;
            load.marks += watched.seen.len() - count;
            load.watches += usize::from(count > 0);
            load.resumed += usize::from(count > 0 && watched.after > history.first);
            load.compacted += usize::from(matches!(watched.end, Some(WatchError::Compacted { .. })));
            load.future += usize::from(matches!(watched.end, Some(WatchError::Future { .. })));
        }
        load
    }

    pub(super) fn suffices(self, plan: &Plan) -> Result<(), TooLittle> {
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
            ("changes told", self.told, steps / 8),
            ("marks", self.marks, plan.watchers),
        ];
        match floors.into_iter().find(|(_, there, least)| there < least) {
            None => Ok(()),
            Some((what, there, least)) => {
                Err(TooLittle { seed: plan.seed, what, there, least, load: Box::new(self) })
            }
        }
    }
}
