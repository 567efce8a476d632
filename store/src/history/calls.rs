//! Records of calls, their answers, and their times.

use std::collections::BTreeMap;

use machinery_objects::Revision;

use super::violation::Violation;
use crate::{
    Commit, CommitError, CompactError, KeySpan, Page, Range, ReadError, Transaction, WatchError, WatchItem,
};

/// A recorded history. Times are positions in one order of all calls and answers.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The revision of the empty store at the start.
    pub first: Revision,
    /// The calls, in order.
    pub calls: Vec<CallRecord>,
    /// The watches, in the order of their calls.
    pub watches: Vec<WatchRecord>,
}

/// A call and its answer.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The client.
    pub client: usize,
    /// The time of the call.
    pub called: u64,
    /// The time of the answer; `None` if the client cancelled the call.
    pub answered: Option<u64>,
    /// The request and its answer.
    pub exchange: Exchange,
}

/// A request, and its answer if there was one.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// A transaction.
    Commit(Transaction, Option<Result<Commit, CommitError>>),
    /// A read.
    Range(Range, Option<Result<Page, ReadError>>),
    /// A read of the newest revision.
    Revision(Option<Result<Revision, ReadError>>),
    /// A compaction.
    Compact(Revision, Option<Result<(), CompactError>>),
}

/// A watch, from its call to its last item.
#[derive(Clone, Debug)]
pub struct WatchRecord {
    /// The client.
    pub client: usize,
    /// The span.
    pub span: KeySpan,
    /// The start revision.
    pub after: Revision,
    /// The time of the call.
    pub called: u64,
    /// The time of its start or refusal; `None` if the client cancelled the call.
    pub answered: Option<u64>,
    /// The times of progress requests.
    pub requests: Vec<u64>,
    /// The items, each with its time.
    pub seen: Vec<(u64, WatchItem)>,
    /// The error that ended or refused it, if any.
    pub end: Option<WatchError>,
}

impl CallRecord {
    /// Returns a revision that was the newest at some time during the call, according to its
    /// answer.
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

/// Bounds of the compacted revision over time: certain and possible compactions.
///
/// Revisions before the store's first count as compacted.
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

    /// Returns the compacted revision acknowledged before `time`.
    pub(super) fn certain(&self, time: u64) -> Option<Revision> {
        let done = |answered: &Option<u64>| answered.is_some_and(|answered| answered < time);
        self.0.iter().filter(|(_, answered, _)| done(answered)).map(|(.., to)| *to).max()
    }

    /// Returns the highest compaction requested before `time`.
    pub(super) fn possible(&self, time: u64) -> Option<Revision> {
        self.0.iter().filter(|(called, ..)| *called < time).map(|(.., to)| *to).max()
    }
}

/// Checks the preconditions of the analysis: each client waits for its answers, and the last call
/// succeeded, so that the final state is known.
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
