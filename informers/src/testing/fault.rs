//! How the source misbehaves, and when.

use std::collections::VecDeque;

use machinery_objects::{ListError, WatchError};

/// One way to misbehave, at the next occasion for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// When the first page of a list is asked for.
    List(OnList),
    /// When a later one is.
    Page(OnList),
    /// When one object is asked for.
    Get(OnList),
    /// When a watch is asked for.
    Watch(OnWatch),
    /// When a watch has something to tell: an object of the state, a change, a bookmark.
    Event(OnEvent),
    /// When the keys of a watch are edited.
    Edit(OnEdit),
}

/// What may go wrong with an edit of an interest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnEdit {
    /// It is not made, and answered with this.
    Fails(WatchError),
    /// It is made, and answered with this.
    MadeAndFails(WatchError),
    /// It is made, and not answered, ever.
    NoAnswer,
    /// It is answered when the watch has told all of it.
    AnsweredLast,
    /// It is answered, and the watch does it when all watches next say how far they are.
    Late,
    /// It is answered, and the watch never does it, nor any that comes after it.
    NoEcho,
}

/// What may go wrong with a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnList {
    /// It is answered with this.
    Fails(ListError),
    /// It is not answered, ever.
    NoAnswer,
    /// A replica answers that is so many revisions behind.
    Behind(u64),
    /// The page has nothing, and is not the last.
    Empty,
    /// The page is not the last, even if it is: it all comes again.
    Endless,
}

/// What may go wrong with the beginning of a watch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnWatch {
    /// It is answered with this.
    Fails(WatchError),
    /// It is not answered, ever.
    NoAnswer,
    /// A replica answers that is so many revisions behind.
    Behind(u64),
    /// It begins, and ends.
    EndsAtOnce,
    /// Where the state ends is not told.
    NoEnd,
    /// It is told twice.
    EndTwice,
}

/// What may go wrong on the way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OnEvent {
    /// The watch ends with this instead.
    Fails(WatchError),
    /// The watch ends instead.
    Ends,
    /// The watch says nothing any more, ever.
    Silent,
    /// It is told twice.
    Twice,
    /// What was told before it is told again after it.
    EarlierAgain,
    /// A bookmark comes after it that is so many revisions late.
    LateBookmark(u64),
    /// It is not told at all. No honest source does that.
    Lost,
}

/// For one place: what happens next time, and what always happens after that.
pub(super) struct FaultScript<F> {
    once: VecDeque<F>,
    always: Option<F>,
}

/// For all places.
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
