//! The mistakes that can be planted.

/// One way in which a store can be wrong. Each happens once in a while, so that much goes right beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Flaw {
    /// A watch leaves out a revision.
    DropsEvent,
    /// A watch leaves out one of several events of a revision.
    DropsPartOfRevision,
    /// A watch tells of two revisions in the wrong order.
    SwapsRevisions,
    /// A watch tells an event twice.
    RepeatsEvent,
    /// A watch tells of one revision in two parts.
    SplitsRevision,
    /// A watch tells of keys outside its span.
    LeaksOtherKeys,
    /// An event carries another state before than the one that was.
    WrongBefore,
    /// An event of a key that existed says that it was created, or the other way round.
    WrongCreate,
    /// An event carries another value than the one that was put.
    WrongValue,
    /// A mark passes changes that have not been told.
    MarksTooEarly,
    /// A mark is before one that came earlier.
    MarksGoBack,
    /// A watch leaves out the first revision behind where it begins.
    ResumesTooLate,
    /// A watch that begins at the compacted revision leaves out a delete right behind it.
    LosesDeleteAtCompaction,
    /// A watch that was too slow goes on behind what it missed.
    HidesGap,
    /// A watch ends as too slow though it has heard everything.
    EndsQuietWatch,
    /// A read of now is of a moment before.
    ReadsStale,
    /// A read of what has not happened is answered.
    ReadsFuture,
    /// A read of what is compacted is answered, from what is left.
    ReadsCompacted,
    /// A read at a revision is answered as of now.
    ReadsNowForThen,
    /// A list goes on as of now, and not as of its first page.
    TearsPages,
    /// A page leaves out the last of its entries.
    DropsLastEntry,
    /// A prefix ends at a slash.
    TakesPrefixForDirectory,
    /// An acknowledged write did not happen.
    LosesWrite,
    /// Two commits are acknowledged with one revision.
    ReusesRevision,
    /// The revision that is told is before one that was acknowledged.
    TellsOldRevision,
    /// A transaction of several changes is made in two steps.
    HalvesTransaction,
    /// A transaction whose condition failed is made all the same, and called refused.
    AppliesRefused,
    /// A key that was put again passes for the one that was there.
    IgnoresAba,
    /// `Unchanged` looks for changes and not at the state.
    CountsChanges,
    /// A delete of nothing takes a revision.
    CountsNoOps,
    /// Compaction takes an entry that lives.
    CompactsLiving,
}

impl Flaw {
    /// All of them.
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
