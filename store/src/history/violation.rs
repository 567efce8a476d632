//! What can be wrong with a record.

use machinery_objects::Revision;
use thiserror::Error;

/// One thing that a record shows and a right store cannot do. Watches and calls are told by their place in the record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
    /// The record is not one that can be judged.
    #[error("the record cannot be judged: {0}")]
    Assumption(String),
    /// Two commits were acknowledged with one revision.
    #[error("calls {first} and {second} were both acknowledged as revision {revision}")]
    RevisionReused {
        /// The revision.
        revision: Revision,
        /// One call.
        first: usize,
        /// The other.
        second: usize,
    },
    /// No order of the calls explains all answers.
    #[error("no order explains the answers: at revision {revision} none of these can be next: {stuck:?}")]
    NotLinearizable {
        /// How far an order goes.
        revision: Revision,
        /// The calls that would have to be next, and why they cannot.
        stuck: Vec<String>,
    },
    /// The search was given up. That is a failure: what was not judged is not right.
    #[error("the search was given up after {steps} steps: too many commits have an unknown outcome")]
    TooHard {
        /// How far it went.
        steps: usize,
    },
    /// A read, or a refusal of one, contradicts the order.
    #[error("call {call}: {why}")]
    WrongRead {
        /// The call.
        call: usize,
        /// What is wrong.
        why: String,
    },
    /// A watch was begun, refused or ended without reason.
    #[error("watch {watch}: {why}")]
    WrongEnd {
        /// The watch.
        watch: usize,
        /// What is wrong.
        why: String,
    },
    /// An event is not of what the watch is about.
    #[error("watch {watch}, filter: revision {revision} told of `{key}`")]
    Filter {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key that is not in the span; empty if nothing was told.
        key: String,
    },
    /// A revision was told after a later one.
    #[error("watch {watch}, ordered: revision {revision} told after {before}")]
    Ordered {
        /// The watch.
        watch: usize,
        /// The one before.
        before: Revision,
        /// The one told.
        revision: Revision,
    },
    /// An event was told twice.
    #[error("watch {watch}, unique: revision {revision} told twice of `{key}`")]
    Unique {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
    },
    /// A revision was told in parts.
    #[error("watch {watch}, atomic: revision {revision} told in parts")]
    Atomic {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
    },
    /// A mark is out of step.
    #[error("watch {watch}, bookmarkable: mark {mark}: {why}")]
    Bookmarkable {
        /// The watch.
        watch: usize,
        /// The mark.
        mark: Revision,
        /// What is wrong.
        why: &'static str,
    },
    /// What was told first is not what comes first behind where the watch began.
    #[error("watch {watch}, resumable: after {after} comes {expected}, and {told} was told first")]
    Resumable {
        /// The watch.
        watch: usize,
        /// Where it began.
        after: Revision,
        /// What comes first.
        expected: Revision,
        /// What was told first.
        told: Revision,
    },
    /// What was told is not what happened.
    #[error("watch {watch}, reliable: {expected} is expected at {revision}, and told was {told}")]
    Reliable {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// What happened.
        expected: String,
        /// What was told.
        told: String,
    },
    /// An event tells another state before than the one that was.
    #[error("watch {watch}, before: the state of `{key}` before {revision} is not what was")]
    Before {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
    },
    /// An event calls something a creation that is not one, or the other way round.
    #[error("watch {watch}, is-create: `{key}` at {revision}: creation is {told}")]
    IsCreate {
        /// The watch.
        watch: usize,
        /// The revision.
        revision: Revision,
        /// The key.
        key: String,
        /// What was told.
        told: bool,
    },
}

impl Violation {
    /// Its name, without what it is about.
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
