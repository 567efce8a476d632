//! Interests: watches by a set of keys that is edited while they run.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Filter, WatchStream};
use crate::{ResourceVersion, WatchError};

/// A source that can watch by a set of keys, edited while the watch runs.
///
/// A key is a value of one field or label, and selects the objects with that value. Compared with a
/// watch per key, there is one stream, each object is sent once, and an object that moves from one
/// key of the set to another is [modified], not deleted and added.
///
/// Guarantees of the stream beyond those of any watch:
/// 1. It begins with the state under the first keys, as [added] objects, and a [complete] of
///    [`EditNumber::FIRST`]. With [`InterestRequest::after`] it begins with the changes since that
///    version instead.
/// 2. An edit sends the state under the new keys in the same way, between changes of other objects,
///    followed by a [complete] with its number. Numbers rise; a complete edit completes all before
///    it.
/// 3. After that, no events follow under the keys that the edit removed, until they are added
///    again. No event is sent for each object under them: the client that removed the key knows
///    them.
/// 4. An object that leaves all keys has [left], which is distinct from [deleted].
/// 5. No event is newer than the events sent for the keys that are complete: with these keys,
///    another watch can resume after the greatest version received, even if that version was
///    received with the state of other keys.
///
/// [added]: crate::WatchEvent::Added
/// [modified]: crate::WatchEvent::Modified
/// [deleted]: crate::WatchEvent::Deleted
/// [left]: crate::WatchEvent::Left
/// [complete]: crate::WatchEvent::Complete
#[async_trait]
pub trait InterestSource<O: Send + 'static>: Send + Sync + 'static {
    /// Opens a watch. Dropping the future or the stream cancels it.
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<O>, WatchError>;
}

/// The control end of a watch by interest, which edits its keys.
#[async_trait]
pub trait Interest: Send + Sync + 'static {
    /// Edits the keys, and returns the number of the [`Complete`](crate::WatchEvent::Complete) to
    /// follow. Adding a present key or removing an absent one has no effect.
    ///
    /// If the future is dropped, the edit may or may not be applied; repeating it is harmless.
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError>;
}

/// A watch by interest, with its control end. Dropping the stream cancels it.
pub struct InterestWatch<O> {
    /// The events.
    pub events: WatchStream<O>,
    /// Edits the keys.
    pub interest: Arc<dyn Interest>,
}

impl<O> fmt::Debug for InterestWatch<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InterestWatch")
    }
}

/// A request to watch the objects under some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterestRequest {
    /// The field or label of the keys.
    pub by: InterestBy,
    /// The initial keys; may be empty.
    pub keys: BTreeSet<Arc<str>>,
    /// Selects objects, in addition to their key.
    pub filter: Filter,
    /// Resumes a watch by the same keys after this version.
    pub after: Option<ResourceVersion>,
}

/// The field or label that an interest's keys are values of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InterestBy {
    /// A selectable field of the kind, such as [`NAMESPACE`](crate::NAMESPACE).
    Field(Arc<str>),
    /// The label of this key.
    Label(Arc<str>),
}

/// An edit of the keys of an interest. A key that is both removed and added is listed again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterestEdit {
    /// Keys to remove.
    pub remove: BTreeSet<Arc<str>>,
    /// Keys to add.
    pub add: BTreeSet<Arc<str>>,
}

/// The number of an edit of one watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditNumber(pub u64);

impl EditNumber {
    /// The initial keys of the watch.
    pub const FIRST: Self = Self(0);
}
