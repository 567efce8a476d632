//! Recent revisions, shared by all watchers of a kind.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::{State, What};
use crate::accept;
use crate::table::Include;

/// The changes of one revision to objects of a kind; never empty.
pub(crate) struct Revised {
    pub(crate) revision: Revision,
    pub(crate) changes: Box<[Change]>,
}

/// The change of one object. At least one of the two states is present.
pub(crate) struct Change {
    pub(crate) before: Option<Arc<State>>,
    pub(crate) after: Option<Arc<State>>,
    /// Encodings for watches, by format. `None`: no longer cached.
    forms: Mutex<Option<Vec<(Form, Bytes)>>>,
}

/// The format of a change in a watch over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) answer: accept::ResponseFormat,
    pub(crate) include: Include,
    pub(crate) what: What,
}

impl Change {
    pub(crate) fn new(before: Option<Arc<State>>, after: Option<Arc<State>>) -> Self {
        Self { before, after, forms: Mutex::new(Some(Vec::new())) }
    }

    /// Returns the encoding, cached by the first caller.
    pub(crate) fn written<E>(
        &self,
        form: Form,
        write: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let mut forms = self.forms.lock();
        let Some(kept) = &mut *forms else {
            drop(forms);
            return write();
        };
        if let Some((_, bytes)) = kept.iter().find(|(other, _)| *other == form) {
            return Ok(bytes.clone());
        }
        let bytes = write()?;
        kept.push((form, bytes.clone()));
        Ok(bytes)
    }

    /// Drops the cached encodings; later callers encode again.
    fn forget_forms(&self) {
        let _forms = self.forms.lock().take();
    }

    fn bytes(&self) -> usize {
        let bytes = |state: &Option<Arc<State>>| state.as_ref().map_or(0, |state| state.entry.value.len());
        bytes(&self.before) + bytes(&self.after)
    }
}

impl Revised {
    fn bytes(&self) -> usize {
        self.changes.iter().map(Change::bytes).sum()
    }
}

/// The newest revisions, numbered consecutively.
pub(super) struct Ring {
    revised: VecDeque<Arc<Revised>>,
    /// The number of the first revision in the ring.
    first: u64,
    /// All revisions after this one are in the ring.
    since: Revision,
    bytes: usize,
    /// The number of the first revision with cached encodings, and the bytes of objects from there
    /// on.
    written: u64,
    written_bytes: usize,
    most: Most,
}

/// Limits of revisions with cached encodings: nearly all watchers read within them.
const WRITTEN: Most = Most { revisions: 1024, bytes: 4 << 20 };

/// Limits on revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) revisions: usize,
    /// Bytes of the objects' states.
    pub(crate) bytes: usize,
}

impl Ring {
    pub(super) const fn new(since: Revision, most: Most) -> Self {
        Self { revised: VecDeque::new(), first: 0, since, bytes: 0, written: 0, written_bytes: 0, most }
    }

    pub(super) fn push(&mut self, revised: Arc<Revised>) {
        let bytes = revised.bytes();
        self.bytes += bytes;
        self.written_bytes += bytes;
        self.revised.push_back(revised);
        while self.end() - self.written > WRITTEN.revisions as u64
            || self.written_bytes > WRITTEN.bytes && self.end() - self.written > 1
        {
            self.forget_forms();
        }
        while self.revised.len() > self.most.revisions.max(1)
            || self.bytes > self.most.bytes && self.revised.len() > 1
        {
            if self.written == self.first {
                self.forget_forms();
            }
            let Some(gone) = self.revised.pop_front() else { break };
            self.bytes -= gone.bytes();
            self.first += 1;
            self.since = gone.revision;
        }
    }

    /// Drops the encodings of the oldest revision that has them.
    fn forget_forms(&mut self) {
        if let Some(old) = self.get(self.written) {
            let bytes = old.bytes();
            old.changes.iter().for_each(Change::forget_forms);
            self.written_bytes -= bytes;
        }
        self.written += 1;
    }

    /// Returns the number of the next revision.
    pub(super) fn end(&self) -> u64 {
        self.first + self.revised.len() as u64
    }

    /// Returns a revision by number, if still in the ring.
    pub(super) fn get(&self, number: u64) -> Option<&Arc<Revised>> {
        self.revised.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Returns the number of the first revision after a revision, if the ring has all of them.
    pub(super) fn after(&self, revision: Revision) -> Option<u64> {
        let known = self.revised.partition_point(|revised| revised.revision <= revision);
        (revision >= self.since).then_some(self.first + known as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_store::Entry;

    fn revised(revision: u64, bytes: usize) -> Arc<Revised> {
        let (created, modified) = (Revision(1), Revision(revision));
        let entry = Entry { key: "k".into(), value: vec![0; bytes].into(), created, modified };
        let change = Change::new(None, Some(Arc::new(State::bare(Arc::new(entry)))));
        Arc::new(Revised { revision: modified, changes: [change].into() })
    }

    #[test]
    fn it_keeps_the_newest_and_knows_what_it_has() {
        let mut ring = Ring::new(Revision(5), Most { revisions: 3, bytes: 100 });
        assert_eq!((ring.after(Revision(5)), ring.after(Revision(4)), ring.end()), (Some(0), None, 0));
        for revision in [7, 9, 10] {
            ring.push(revised(revision, 10));
        }
        let after = |ring: &Ring, revision| ring.after(Revision(revision));
        assert_eq!(
            [5, 6, 7, 8, 9, 10, 11].map(|revision| after(&ring, revision)),
            [0, 0, 1, 1, 2, 3, 3].map(Some)
        );
        ring.push(revised(12, 10));
        assert_eq!((after(&ring, 6), after(&ring, 7), ring.end()), (None, Some(1), 4));
        assert!(ring.get(0).is_none() && ring.get(4).is_none());
        assert_eq!(ring.get(1).map(|revised| revised.revision), Some(Revision(9)));
        ring.push(revised(13, 85));
        assert_eq!((after(&ring, 9), after(&ring, 10), ring.bytes), (None, Some(3), 95));
        ring.push(revised(14, 1000));
        assert_eq!((after(&ring, 13), ring.get(5).is_some()), (Some(5), true), "the newest is always there");
    }

    #[test]
    fn what_was_written_is_kept_for_the_newest() {
        let mut ring = Ring::new(Revision(0), Most { revisions: 3, bytes: usize::MAX });
        let is_kept = |ring: &Ring, number| {
            ring.get(number).is_some_and(|revised: &Arc<Revised>| revised.changes[0].forms.lock().is_some())
        };
        let megabyte = 1 << 20;
        for (revision, bytes) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 4 * megabyte - 2)] {
            ring.push(revised(revision, bytes));
        }
        assert_eq!([2, 3, 4].map(|number| is_kept(&ring, number)), [true; 3]);
        assert_eq!(ring.written_bytes, 4 * megabyte, "as much as may be");
        ring.push(revised(6, 2));
        assert_eq!([3, 4, 5].map(|number| is_kept(&ring, number)), [false, true, true]);
        ring.push(revised(7, 5 * megabyte));
        assert_eq!([4, 5, 6].map(|number| is_kept(&ring, number)), [false, false, true], "the newest always");

        let mut ring = Ring::new(Revision(0), Most { revisions: 2000, bytes: usize::MAX });
        (0..1500).for_each(|revision| ring.push(revised(revision, 1)));
        assert_eq!([475, 476, 1499].map(|number| is_kept(&ring, number)), [false, true, true]);
        assert_eq!(ring.written_bytes, 1024);
    }

    #[test]
    fn a_change_is_written_once_a_form() {
        let change = Change::new(None, None);
        let mut times = 0;
        for what in [What::Added, What::Modified, What::Added, What::Modified, What::Added] {
            let form = Form { answer: accept::ResponseFormat::default(), include: Include::default(), what };
            let bytes = || Bytes::from(format!("{what:?}"));
            let written: Result<_, ()> = change.written(form, || {
                times += 1;
                Ok(bytes())
            });
            assert_eq!(written, Ok(bytes()));
        }
        assert_eq!(times, 2);
        change.forget_forms();
        for _ in 0..2 {
            let form = Form {
                answer: accept::ResponseFormat::default(),
                include: Include::default(),
                what: What::Left,
            };
            let written: Result<_, ()> = change.written(form, || {
                times += 1;
                Ok(Bytes::new())
            });
            assert_eq!(written, Ok(Bytes::new()));
        }
        assert_eq!(times, 4, "nothing is kept any more");
    }
}
