//! Interest watches and the edits of their keys.

use std::collections::{BTreeSet, VecDeque};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use machinery_objects::{
    EditNumber, Interest, InterestEdit, InterestRequest, InterestSource, InterestWatch, Object, SourceError,
    WatchError, WatchEvent,
};

use super::fake_source::FakeSource;
use super::fault::OnEdit;
use super::selection::WatchSelection;

/// The edits of an interest watch.
#[derive(Default)]
pub(super) struct InterestEdits {
    last: u64,
    due: VecDeque<QueuedEdit>,
    /// The last completed edit.
    completed: Option<EditNumber>,
    /// Waiters for a completion.
    wakers: Vec<Waker>,
}

struct QueuedEdit {
    number: EditNumber,
    edit: InterestEdit,
    /// Number of bookmarks before which the edit is not applied.
    marks: u64,
}

impl InterestEdits {
    /// Takes the next edit to apply.
    pub(super) fn next(&mut self, marks: u64) -> Option<(EditNumber, InterestEdit)> {
        let due = self.due.pop_front_if(|due| due.marks <= marks)?;
        Some((due.number, due.edit))
    }

    /// Wakes the waiters after the end of the watch.
    pub(super) fn end(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }

    /// Records that an edit is complete.
    pub(super) fn complete(&mut self, edit: EditNumber) {
        self.completed = self.completed.max(Some(edit));
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

#[async_trait]
impl<T: Object + Clone> InterestSource<T> for FakeSource<T> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<T>, WatchError> {
        let fault = self.on_watch().await?;
        let InterestRequest { by, keys, filter, after } = request;
        self.check_keys(keys.len(), &keys)?;
        let selection = WatchSelection { filter, keys: Some((by, keys)) };
        let mut stream = self.begin(selection, after.as_ref(), true, fault.as_ref())?;
        let mut edits = InterestEdits::default();
        if after.is_some() {
            // The changes after the resume version are sent first.
            edits.due.push_back(QueuedEdit {
                number: EditNumber::FIRST,
                edit: InterestEdit::default(),
                marks: 0,
            });
        } else {
            let version = stream.version();
            stream.due.push_back(WatchEvent::Complete { edit: EditNumber::FIRST, version });
        }
        let watch = stream.id;
        self.0.inner.lock().edits.insert(watch, edits);
        Ok(InterestWatch {
            events: Box::pin(stream),
            interest: Arc::new(InterestEditor { source: self.clone(), watch }),
        })
    }
}

impl<T> FakeSource<T> {
    /// Refuses requests with this key of an interest, until faults are
    /// [cleared](Self::clear_faults).
    pub fn refuse_key(&self, key: &str) {
        self.0.inner.lock().refused_keys.insert(key.into());
    }

    /// Checks the number of keys of a request, and that none of them is refused.
    fn check_keys(&self, keys: usize, added: &BTreeSet<Arc<str>>) -> Result<(), SourceError> {
        let inner = self.0.inner.lock();
        let limit = inner.max_keys;
        let reason = match inner.refused_keys.intersection(added).next() {
            None if keys <= limit => return Ok(()),
            None => format!("there are {keys} keys in the request, and {limit} is the limit"),
            Some(refused) => format!("the key {refused} is refused"),
        };
        Err(SourceError::Invalid { reason, causes: Vec::new() })
    }
}

struct InterestEditor<T> {
    source: FakeSource<T>,
    watch: u64,
}

#[async_trait]
impl<T: Object + Clone> Interest for InterestEditor<T> {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        self.source.check_keys(edit.remove.len() + edit.add.len(), &edit.add)?;
        let (number, fault) = {
            let mut inner = self.source.0.inner.lock();
            let inner = &mut *inner;
            inner.calls.edits += 1;
            let edits = inner.edits.get_mut(&self.watch).ok_or(WatchError::Ended)?;
            let fault = inner.faults.edit.next();
            inner.calls.faults += u64::from(fault.is_some());
            inner.calls.faulty_edits += u64::from(fault.is_some());
            if let Some(OnEdit::Fails(error)) = fault {
                return Err(error);
            }
            edits.last += 1;
            let number = EditNumber(edits.last);
            let marks = match fault {
                Some(OnEdit::Late) => inner.marks + 1,
                Some(OnEdit::NoEcho) => u64::MAX,
                _ => 0,
            };
            edits.due.push_back(QueuedEdit { number, edit, marks });
            (number, fault)
        };
        self.source.wake(self.watch);
        match fault {
            Some(OnEdit::MadeAndFails(error)) => Err(error),
            Some(OnEdit::NoAnswer) => pending().await,
            Some(OnEdit::AnsweredLast) => self.completion(number).await,
            _ => Ok(number),
        }
    }
}

impl<T: Object + Clone> InterestEditor<T> {
    /// Waits until an edit is complete.
    async fn completion(&self, number: EditNumber) -> Result<EditNumber, WatchError> {
        poll_fn(|cx| {
            let mut inner = self.source.0.inner.lock();
            let Some(edits) = inner.edits.get_mut(&self.watch) else {
                return Poll::Ready(Err(WatchError::Ended));
            };
            if edits.completed >= Some(number) {
                return Poll::Ready(Ok(number));
            }
            edits.wakers.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
