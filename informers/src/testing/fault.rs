//! The faults of a fake source, and their occasions.

use std::collections::VecDeque;

use machinery_objects::{ListError, WatchError};

/// A fault at its next occasion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// On a request for the first page of a list.
    List(OnList),
    /// On a request for a later page.
    Page(OnList),
    /// On a read of one object.
    Get(OnList),
    /// On opening a watch.
    Watch(OnWatch),
    /// On an event of a watch: an object of the state, a change, or a bookmark.
    Event(OnEvent),
    /// On an edit of an interest.
    Edit(OnEdit),
}

/// Faults of an edit of an interest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnEdit {
    /// The edit is not applied, and answered with this error.
    Fails(WatchError),
    /// The edit is applied, and answered with this error.
    MadeAndFails(WatchError),
    /// The edit is applied, and never answered.
    NoAnswer,
    /// The answer arrives after the watch has sent all events of the edit.
    AnsweredLast,
    /// The edit is answered, and applied at the next bookmark.
    Late,
    /// The edit is answered and never applied, nor are later edits.
    NoEcho,
}

/// Faults of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnList {
    /// The request is answered with this error.
    Fails(ListError),
    /// The request is never answered.
    NoAnswer,
    /// The request is answered by a replica that is this many revisions behind.
    Behind(u64),
    /// The page is empty, and not the last.
    Empty,
    /// The page is never the last; the list repeats.
    Endless,
}

/// Faults of opening a watch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnWatch {
    /// The request is answered with this error.
    Fails(WatchError),
    /// The request is never answered.
    NoAnswer,
    /// The request is answered by a replica that is this many revisions behind.
    Behind(u64),
    /// The watch is opened, and ends.
    EndsAtOnce,
    /// The end of the state is not marked.
    NoEnd,
    /// The end of the state is marked twice.
    EndTwice,
}

/// Faults of a watch event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnEvent {
    /// The watch ends with this error instead.
    Fails(WatchError),
    /// The watch ends instead.
    Ends,
    /// The watch is silent from now on.
    Silent,
    /// The event is sent twice.
    Twice,
    /// The previous event is repeated after it.
    EarlierAgain,
    /// A bookmark that is this many revisions late follows it.
    LateBookmark(u64),
    /// The event is lost. Only a broken source does that.
    Lost,
}

/// The faults of one occasion: first those to inject once, then the permanent one.
pub(super) struct FaultScript<F> {
    once: VecDeque<F>,
    always: Option<F>,
}

/// The faults of all occasions.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) list: FaultScript<OnList>,
    pub(super) page: FaultScript<OnList>,
    pub(super) get: FaultScript<OnList>,
    pub(super) watch: FaultScript<OnWatch>,
    pub(super) event: FaultScript<OnEvent>,
    pub(super) edit: FaultScript<OnEdit>,
}

impl<F> Default for FaultScript<F> {
    fn default() -> Self {
        Self { once: VecDeque::new(), always: None }
    }
}

impl<F: Clone> FaultScript<F> {
    pub(super) fn next(&mut self) -> Option<F> {
        self.once.pop_front().or_else(|| self.always.clone())
    }

    fn add(&mut self, fault: F, always: bool) {
        if always {
            self.always = Some(fault);
        } else {
            self.once.push_back(fault);
        }
    }
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault, always: bool) {
        match fault {
            Fault::List(fault) => self.list.add(fault, always),
            Fault::Page(fault) => self.page.add(fault, always),
            Fault::Get(fault) => self.get.add(fault, always),
            Fault::Watch(fault) => self.watch.add(fault, always),
            Fault::Event(fault) => self.event.add(fault, always),
            Fault::Edit(fault) => self.edit.add(fault, always),
        }
    }
}
