//! Flaws that can be injected into a backend.

/// A defect of a backend. It shows only now and then, between correct answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Flaw {
    /// A watch drops a revision.
    DropsEvent,
    /// A watch drops one of several events of a revision.
    DropsPartOfRevision,
    /// A watch yields two revisions in the wrong order.
    SwapsRevisions,
    /// A watch yields an event twice.
    RepeatsEvent,
    /// A watch yields a revision in two parts.
    SplitsRevision,
    /// A watch yields keys outside its span.
    LeaksOtherKeys,
    /// An event has a wrong previous state.
    WrongBefore,
    /// An event of an existing key reports a creation, or the reverse.
    WrongCreate,
    /// An event has a wrong value.
    WrongValue,
    /// A progress item precedes earlier changes.
    MarksTooEarly,
    /// A progress revision decreases.
    MarksGoBack,
    /// A watch drops the first revision after its start.
    ResumesTooLate,
    /// A watch that starts at the compacted revision drops a delete right after it.
    LosesDeleteAtCompaction,
    /// A watch that is too slow continues after the gap.
    HidesGap,
    /// A watch that has caught up ends as too slow.
    EndsQuietWatch,
    /// A read of the newest revision returns an earlier one.
    ReadsStale,
    /// A read of a future revision succeeds.
    ReadsFuture,
    /// A read of a compacted revision succeeds, with the remaining data.
    ReadsCompacted,
    /// A read at a revision returns the newest state.
    ReadsNowForThen,
    /// A list continues at the newest revision instead of its first page's.
    TearsPages,
    /// A page drops its last entry.
    DropsLastEntry,
    /// A prefix is taken for a directory.
    TakesPrefixForDirectory,
    /// An acknowledged write is not applied.
    LosesWrite,
    /// Two commits are acknowledged with one revision.
    ReusesRevision,
    /// The newest revision is reported as an earlier one than acknowledged.
    TellsOldRevision,
    /// A transaction of several operations is applied in two steps.
    HalvesTransaction,
    /// A transaction that is reported as a conflict is applied.
    AppliesRefused,
    /// A recreated key satisfies a condition on the old one.
    IgnoresAba,
    /// `Unchanged` fails for any change since, even if the state is the same.
    CountsChanges,
    /// A delete of an absent key takes a revision.
    CountsNoOps,
    /// Compaction removes a live entry.
    CompactsLiving,
}

impl Flaw {
    /// All flaws.
    pub const ALL: [Self; 31] = [
        Self::DropsEvent,
        Self::DropsPartOfRevision,
        Self::SwapsRevisions,
        Self::RepeatsEvent,
        Self::SplitsRevision,
        Self::LeaksOtherKeys,
        Self::WrongBefore,
        Self::WrongCreate,
        Self::WrongValue,
        Self::MarksTooEarly,
        Self::MarksGoBack,
        Self::ResumesTooLate,
        Self::LosesDeleteAtCompaction,
        Self::HidesGap,
        Self::EndsQuietWatch,
        Self::ReadsStale,
        Self::ReadsFuture,
        Self::ReadsCompacted,
        Self::ReadsNowForThen,
        Self::TearsPages,
        Self::DropsLastEntry,
        Self::TakesPrefixForDirectory,
        Self::LosesWrite,
        Self::ReusesRevision,
        Self::TellsOldRevision,
        Self::HalvesTransaction,
        Self::AppliesRefused,
        Self::IgnoresAba,
        Self::CountsChanges,
        Self::CountsNoOps,
        Self::CompactsLiving,
    ];
}
