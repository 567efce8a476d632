//! Evidence of the answers about the order of the calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::Revision;

use super::calls::{Compactions, Exchange, History};
use crate::{
    Commit, CommitError, Condition, Conflict, Entry, Key, Page, Range, ReadError, Transaction, Value,
    WatchError,
};

/// A call, as input of the search.
pub(super) struct SearchStep<'h> {
    pub(super) call: usize,
    pub(super) called: u64,
    pub(super) answered: u64,
    pub(super) compacted: Option<Revision>,
    pub(super) says: Observation<'h>,
}

pub(super) enum Observation<'h> {
    /// The newest revision.
    Newest(Revision),
    /// The newest revision and a page of entries.
    Held(&'h Range, &'h Page),
    Done(&'h Transaction, &'h Commit),
    Refused(&'h Transaction, &'h Conflict),
    /// A commit with an unknown outcome.
    Unknown(&'h Transaction),
}

pub(super) fn steps(history: &History) -> Vec<SearchStep<'_>> {
    let compactions = Compactions::of(history);
    let mut steps = Vec::new();
    for (place, call) in history.calls.iter().enumerate() {
        let answered = call.answered.unwrap_or(u64::MAX);
        let compacted = compactions.possible(answered);
        let mut say = |answered, says| {
            steps.push(SearchStep { call: place, called: call.called, answered, compacted, says })
        };
        match &call.exchange {
            Exchange::Commit(transaction, Some(Ok(commit))) => {
                say(answered, Observation::Done(transaction, commit))
            }
            Exchange::Commit(transaction, Some(Err(CommitError::Conflict(conflict)))) => {
                say(answered, Observation::Refused(transaction, conflict));
            }
            Exchange::Commit(transaction, None | Some(Err(CommitError::Unknown { .. }))) => {
                say(u64::MAX, Observation::Unknown(transaction));
            }
            Exchange::Range(range, Some(Ok(page))) => {
                if range.at.is_none() {
                    say(answered, Observation::Held(range, page));
                }
                if range.at.is_some() || page.current != page.at {
                    say(answered, Observation::Newest(page.current));
                }
            }
            Exchange::Range(_, Some(Err(ReadError::Future { current, .. }))) => {
                say(answered, Observation::Newest(*current))
            }
            Exchange::Revision(Some(Ok(revision))) => say(answered, Observation::Newest(*revision)),
            _ => {}
        }
    }
    for watched in &history.watches {
        if let (Some(answered), Some(WatchError::Future { current, .. })) = (watched.answered, &watched.end) {
            let says = Observation::Newest(*current);
            steps.push(SearchStep {
                call: usize::MAX,
                called: watched.called,
                answered,
                compacted: None,
                says,
            });
        }
    }
    steps
}

pub(super) fn guarded(steps: &[SearchStep<'_>]) -> BTreeSet<Key> {
    let conditions = steps.iter().flat_map(|step| match step.says {
        Observation::Done(transaction, _)
        | Observation::Refused(transaction, _)
        | Observation::Unknown(transaction) => &transaction.conditions[..],
        Observation::Newest(_) | Observation::Held(..) => &[],
    });
    let guarded = conditions.filter(|condition| matches!(condition, Condition::Unchanged(..)));
    guarded.map(|condition| Arc::clone(condition.key())).collect()
}

/// Returns an entry put by each revision, as read by a client.
pub(super) fn evidence(history: &History) -> BTreeMap<Revision, (Key, Value)> {
    let mut evidence = BTreeMap::new();
    let mut note = |entry: &Arc<Entry>| {
        evidence.insert(entry.modified, (Arc::clone(&entry.key), Arc::clone(&entry.value)));
    };
    for call in &history.calls {
        match &call.exchange {
            Exchange::Range(_, Some(Ok(page))) => page.entries.iter().for_each(&mut note),
            Exchange::Commit(_, Some(Ok(commit))) => commit.before.iter().flatten().for_each(&mut note),
            Exchange::Commit(_, Some(Err(CommitError::Conflict(conflict)))) => {
                conflict.current.iter().for_each(&mut note)
            }
            _ => {}
        }
    }
    evidence
}
