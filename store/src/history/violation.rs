//! Violations of the contract.

use machinery_objects::Revision;
use thiserror::Error;

/// A violation that a history shows. Watches and calls are named by their index in the history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
    /// The history does not satisfy the preconditions of the analysis.
    #[error("the record cannot be judged: {0}")]
    Assumption(String),
    /// Two commits were acknowledged with one revision.
    #[error("calls {first} and {second} were both acknowledged as revision {revision}")]
    RevisionReused {
        /// The revision.
        revision: Revision,
        /// The first call.
        first: usize,
        /// The second call.
        second: usize,
    },
    /// No order of the calls explains all answers.
    #[error("no order explains the answers: at revision {revision} none of these can be next: {stuck:?}")]
    NotLinearizable {
        /// The revision at which the search is stuck.
        revision: Revision,
        /// The candidates for the next call, and why each is impossible.
        stuck: Vec<String>,
    },
    /// The search reached its limit of steps, which counts as a failure.
    #[error("the search was given up after {steps} steps: too many commits have an unknown outcome")]
    TooHard {
        /// The number of steps.
        steps: usize,
    },
    /// A read or its refusal contradicts the order.
    #[error("call {call}: {why}")]
    WrongRead {
        /// The call.
        call: usize,
        /// The cause.
        why: String,
    },
    /// A watch was started, refused or ended without reason.
    #[error("watch {watch}: {why}")]
    WrongEnd {
        /// The watch.
        watch: usize,
        /// The cause.
        why: String,
    },
    /// An event is outside the span of the watch.
    #[error("watch {watch}, filter: revision {revision} has an event of `{key}`")]
    Filter {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key outside the span; empty if the item had no events.
        key: String,
    },
    /// A revision was yielded after a later one.
    #[error("watch {watch}, ordered: revision {revision} yielded after {before}")]
    Ordered {
        /// The watch.
        watch: usize,
        /// The earlier item.
        before: Revision,
        /// The revision of the item.
        revision: Revision,
    },
    /// An event was yielded twice.
    #[error("watch {watch}, unique: revision {revision} has two events of `{key}`")]
    Unique {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
    },
    /// A revision was yielded in parts.
    #[error("watch {watch}, atomic: revision {revision} yielded in parts")]
    Atomic {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
    },
    /// A progress item is out of order.
    #[error("watch {watch}, bookmarkable: progress {mark}: {why}")]
    Bookmarkable {
        /// The watch.
        watch: usize,
        /// The progress revision.
        mark: Revision,
        /// The cause.
        why: &'static str,
    },
    /// The first item is not the first change after the start revision.
    #[error("watch {watch}, resumable: after {after} comes {expected}, and {actual} was yielded first")]
    Resumable {
        /// The watch.
        watch: usize,
        /// The start revision.
        after: Revision,
        /// The first change.
        expected: Revision,
        /// The first item.
        actual: Revision,
    },
    /// The items differ from the committed changes.
    #[error("watch {watch}, reliable: expected {expected} at {revision}, yielded was {actual}")]
    Reliable {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The committed change.
        expected: String,
        /// The yielded value.
        actual: String,
    },
    /// An event has a wrong previous state.
    #[error("watch {watch}, before: the state of `{key}` before {revision} is not what was")]
    Before {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
    },
    /// An event reports a creation that was none, or the reverse.
    #[error("watch {watch}, is-create: `{key}` at {revision}: creation is {actual}")]
    IsCreate {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
        /// The yielded value.
        actual: bool,
    },
}

impl Violation {
    /// Returns the name of the kind of violation.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Assumption(_) => "assumption",
            Self::RevisionReused { .. } => "revision-reused",
            Self::NotLinearizable { .. } => "linearizable",
            Self::TooHard { .. } => "too-hard",
            Self::WrongRead { .. } => "read",
            Self::WrongEnd { .. } => "end",
            Self::Filter { .. } => "filter",
            Self::Ordered { .. } => "ordered",
            Self::Unique { .. } => "unique",
            Self::Atomic { .. } => "atomic",
            Self::Bookmarkable { .. } => "bookmarkable",
            Self::Resumable { .. } => "resumable",
            Self::Reliable { .. } => "reliable",
            Self::Before { .. } => "before",
            Self::IsCreate { .. } => "is-create",
        }
    }
}
