//! Watches whose keys are edited.

use std::collections::{BTreeSet, VecDeque};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use machinery_objects::{
    EditNumber, Interest, InterestEdit, InterestRequest, InterestSource, InterestWatch, Object, SourceError,
    WatchError, WatchEvent,
};

use super::fault::OnEdit;
use super::plane::Plane;
use super::selection::Selection;

/// What is to become of the keys of a watch.
#[derive(Default)]
pub(super) struct Edits {
    last: u64,
    due: VecDeque<Due>,
    /// The last one that was told.
    told: Option<EditNumber>,
    /// Those who answer when one is.
    answering: Vec<Waker>,
}

struct Due {
    number: EditNumber,
    edit: InterestEdit,
    /// Not before the watches have said so often how far they are.
    marks: u64,
}

impl Edits {
    /// The next that is to be done now.
    pub(super) fn next(&mut self, marks: u64) -> Option<(EditNumber, InterestEdit)> {
        let due = self.due.pop_front_if(|due| due.marks <= marks)?;
        Some((due.number, due.edit))
    }

    /// There is no watch any more.
    pub(super) fn end(self) {
        self.answering.into_iter().for_each(Waker::wake);
    }

    /// All of an edit has been told.
    pub(super) fn told(&mut self, edit: EditNumber) {
        self.told = self.told.max(Some(edit));
        self.answering.drain(..).for_each(Waker::wake);
    }
}

#[async_trait]
impl<T: Object + Clone> InterestSource<T> for Plane<T> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<T>, WatchError> {
        let fault = self.on_watch().await?;
        let InterestRequest { by, keys, filter, after } = request;
        self.takes(keys.len(), &keys)?;
        let selection = Selection { filter, keys: Some((by, keys)) };
        let mut stream = self.begin(selection, after.as_ref(), true, fault.as_ref())?;
        let mut edits = Edits::default();
        if after.is_some() {
            // What happened since is told first.
            edits.due.push_back(Due { number: EditNumber::FIRST, edit: InterestEdit::default(), marks: 0 });
        } else {
            let version = stream.version();
            stream.due.push_back(WatchEvent::Complete { edit: EditNumber::FIRST, version });
        }
        let watch = stream.id;
        self.0.inside.lock().edits.insert(watch, edits);
        Ok(InterestWatch {
            events: Box::pin(stream),
            interest: Arc::new(Editing { plane: self.clone(), watch }),
        })
    }
}

impl<T> Plane<T> {
    /// Refuses requests that ask for this key of an interest, until it is to [behave](Self::behave).
    pub fn refuse_key(&self, key: &str) {
        self.0.inside.lock().refused_keys.insert(key.into());
    }

    /// Whether so many keys are not too many for one request, and none is refused of those that are asked for.
    fn takes(&self, keys: usize, asked: &BTreeSet<Arc<str>>) -> Result<(), SourceError> {
        let inside = self.0.inside.lock();
        let limit = inside.keys_at_once;
        let reason = match inside.refused_keys.intersection(asked).next() {
            None if keys <= limit => return Ok(()),
            None => format!("there are {keys} keys in the request, and {limit} is the limit"),
            Some(refused) => format!("nobody is told of {refused}"),
        };
        Err(SourceError::Invalid { reason, causes: Vec::new() })
    }
}

struct Editing<T> {
    plane: Plane<T>,
    watch: u64,
}

#[async_trait]
impl<T: Object + Clone> Interest for Editing<T> {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        self.plane.takes(edit.remove.len() + edit.add.len(), &edit.add)?;
        let (number, fault) = {
            let mut inside = self.plane.0.inside.lock();
            let inside = &mut *inside;
            inside.asked.edits += 1;
            let edits = inside.edits.get_mut(&self.watch).ok_or(WatchError::Ended)?;
            let fault = inside.faults.edit.next();
            inside.asked.faults += u64::from(fault.is_some());
            inside.asked.spoiled_edits += u64::from(fault.is_some());
            if let Some(OnEdit::Fails(error)) = fault {
                return Err(error);
            }
            edits.last += 1;
            let number = EditNumber(edits.last);
            let marks = match fault {
                Some(OnEdit::Late) => inside.marks + 1,
                Some(OnEdit::NoEcho) => u64::MAX,
                _ => 0,
            };
            edits.due.push_back(Due { number, edit, marks });
            (number, fault)
        };
        self.plane.wake(self.watch);
        match fault {
            Some(OnEdit::MadeAndFails(error)) => Err(error),
            Some(OnEdit::NoAnswer) => pending().await,
            Some(OnEdit::AnsweredLast) => self.told(number).await,
            _ => Ok(number),
        }
    }
}

impl<T: Object + Clone> Editing<T> {
    /// Waits until the watch has told all of an edit.
    async fn told(&self, number: EditNumber) -> Result<EditNumber, WatchError> {
        poll_fn(|cx| {
            let mut inside = self.plane.0.inside.lock();
            let Some(edits) = inside.edits.get_mut(&self.watch) else {
                return Poll::Ready(Err(WatchError::Ended));
            };
            if edits.told >= Some(number) {
                return Poll::Ready(Ok(number));
            }
            edits.answering.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
