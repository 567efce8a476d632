//! The marks between two queued keys. Only the last of each kind is kept, as it supersedes the
//! others.

use machinery_objects::{Bookmark, EditNumber, ResourceVersion};

/// Boxed, because few keys have marks before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(Option<Box<PendingMarks>>);

#[derive(Clone, Debug, Default)]
struct PendingMarks {
    synced: bool,
    complete: Option<EditNumber>,
    progress: Option<ResourceVersion>,
}

impl Marks {
    pub(super) fn add(&mut self, mark: Bookmark) {
        let due = self.0.get_or_insert_default();
        match mark {
            Bookmark::Complete(edit) => due.complete = Some(edit),
            Bookmark::Progress(version) => due.progress = Some(version),
            Bookmark::Synced => due.synced = true,
            _ => unreachable!("every kind of mark has its place here"),
        }
    }

    /// Adds marks that directly follow these.
    pub(super) fn append(&mut self, mut later: Self) {
        while let Some(mark) = later.take() {
            self.add(mark);
        }
    }

    /// Adds marks that directly precede these.
    pub(super) fn prepend(&mut self, earlier: Self) {
        if earlier.0.is_some() {
            let later = std::mem::replace(self, earlier);
            self.append(later);
        }
    }

    pub(super) fn take(&mut self) -> Option<Bookmark> {
        let due = self.0.as_mut()?;
        if std::mem::take(&mut due.synced) {
            return Some(Bookmark::Synced);
        }
        let complete = due.complete.take().map(Bookmark::Complete);
        complete.or_else(|| self.0.take()?.progress.map(Bookmark::Progress))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|due| !due.synced && due.complete.is_none() && due.progress.is_none())
    }
}
