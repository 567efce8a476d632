//! What was asked, what was answered, and when.

use std::collections::BTreeMap;

use machinery_objects::Revision;

use super::violation::Violation;
use crate::{
    Commit, CommitError, CompactError, KeySpan, Page, Range, ReadError, Transaction, WatchError, WatchItem,
};

/// All that was recorded. Times are places in one order of all calls and answers.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The store's revision at the beginning, when it was empty.
    pub first: Revision,
    /// The calls, in the order in which they were made.
    pub calls: Vec<CallRecord>,
    /// The watches, in the order in which they were asked for.
    pub watches: Vec<WatchRecord>,
}

/// One call and its answer.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Whose.
    pub client: usize,
    /// When it was made.
    pub called: u64,
    /// When it was answered; none if the client went away before.
    pub answered: Option<u64>,
    /// What was said.
    pub exchange: Exchange,
}

/// A question, and its answer if there was one.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// A transaction.
    Commit(Transaction, Option<Result<Commit, CommitError>>),
    /// A read.
    Range(Range, Option<Result<Page, ReadError>>),
    /// The newest revision.
    Revision(Option<Result<Revision, ReadError>>),
    /// A compaction.
    Compact(Revision, Option<Result<(), CompactError>>),
}

/// One watch, from its call to the last thing that it told.
#[derive(Clone, Debug)]
pub struct WatchRecord {
    /// Whose.
    pub client: usize,
    /// What of.
    pub span: KeySpan,
    /// From where.
    pub after: Revision,
    /// When it was asked for.
    pub called: u64,
    /// When it began or was refused; none if the client went away before.
    pub answered: Option<u64>,
    /// When marks were asked for.
    pub requests: Vec<u64>,
    /// What it told, and when.
    pub seen: Vec<(u64, WatchItem)>,
    /// Why it ended or did not begin, if the store said so.
    pub end: Option<WatchError>,
}

impl CallRecord {
    /// A revision that was the newest at some moment of the call, by its answer.
    pub(super) fn newest(&self) -> Option<Revision> {
        match &self.exchange {
            Exchange::Commit(_, Some(Ok(commit))) => Some(commit.revision),
            Exchange::Commit(_, Some(Err(CommitError::Conflict(conflict)))) => Some(conflict.revision),
            Exchange::Range(_, Some(Ok(page))) => Some(page.current),
            Exchange::Range(_, Some(Err(ReadError::Future { current, .. }))) => Some(*current),
            Exchange::Revision(Some(Ok(revision))) => Some(*revision),
            _ => None,
        }
    }
}

/// How far the store was compacted: what a call may have met, and what it must have.
///
/// What was before the store's first revision is as good as compacted.
pub(super) struct Compactions(Vec<(u64, Option<u64>, Revision)>);

impl Compactions {
    pub(super) fn of(history: &History) -> Self {
        let compactions = history.calls.iter().filter_map(|call| match &call.exchange {
            Exchange::Compact(_, Some(Err(CompactError::Future { .. } | CompactError::Refused { .. }))) => {
                None
            }
            Exchange::Compact(to, Some(Ok(()))) => Some((call.called, call.answered, *to)),
            Exchange::Compact(to, _) => Some((call.called, None, *to)),
            _ => None,
        });
        Self([(0, None, history.first)].into_iter().chain(compactions).collect())
    }

    /// Acknowledged before `time`.
    pub(super) fn certain(&self, time: u64) -> Option<Revision> {
        let done = |answered: &Option<u64>| answered.is_some_and(|answered| answered < time);
        self.0.iter().filter(|(_, answered, _)| done(answered)).map(|(.., to)| *to).max()
    }

    /// Asked for before `time`.
    pub(super) fn possible(&self, time: u64) -> Option<Revision> {
        self.0.iter().filter(|(called, ..)| *called < time).map(|(.., to)| *to).max()
    }
}

/// What the judgement rests on: each client waits for its answers, and the last call succeeded, so that the record ends in a
/// state that is known.
pub(super) fn assume(history: &History) -> Result<(), Violation> {
    let mut busy: BTreeMap<usize, u64> = BTreeMap::new();
    for call in &history.calls {
        let free = busy.insert(call.client, call.answered.unwrap_or(call.called));
        if free.is_some_and(|free| free > call.called) {
            return Err(Violation::Assumption(format!(
                "client {} made a call before its last was answered",
                call.client
            )));
        }
    }
    match history.calls.last().map(CallRecord::newest) {
        Some(Some(_)) => Ok(()),
        _ => Err(Violation::Assumption("the last call of a record reads the store, and succeeds".into())),
    }
}
