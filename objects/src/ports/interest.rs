//! A watch of which one says, while it runs, what it is to be of.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Filter, WatchStream};
use crate::{ResourceVersion, WatchError};

/// A source that can watch by a set of keys that changes meanwhile.
///
/// A key is a value of one field or label; of an object it selects those that have it. Compared with a watch per key
/// there is one stream, each object is told once, and one that goes from a key of the set to another is [modified],
/// not deleted and added.
///
/// What the stream promises beyond any watch:
/// 1. It begins with the state under the first keys, as [added] objects, and a [complete] of [`EditNumber::FIRST`].
///    With [`InterestRequest::after`] it begins with what changed since instead.
/// 2. An edit adds the state under the new keys in the same way, between changes of the others, and then comes a
///    [complete] of its number. Numbers rise; one that is complete completes all before it.
/// 3. After that nothing comes any more under the keys that the edit removed, until they are added again. The objects
///    under them are not told one by one: whoever removed the key knows them.
/// 4. An object that goes out from under all keys has [left], and is so told apart from one that is [deleted].
/// 5. Nothing is told that is newer than what has been told of the keys that are complete: with those another watch goes
///    on after the greatest version that came, if it only came with the state of others too.
///
/// [added]: crate::WatchEvent::Added
/// [modified]: crate::WatchEvent::Modified
/// [deleted]: crate::WatchEvent::Deleted
/// [left]: crate::WatchEvent::Left
/// [complete]: crate::WatchEvent::Complete
#[async_trait]
pub trait InterestSource<O: Send + 'static>: Send + Sync + 'static {
    /// Begins to watch. Dropping the future, or the stream, gives the watch up.
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<O>, WatchError>;
}

/// The other end of a watch by interest: where its keys are changed.
#[async_trait]
pub trait Interest: Send + Sync + 'static {
    /// Changes the keys; adding one that is there, or removing one that is not, changes nothing. The number is that
    /// of the [`Complete`](crate::WatchEvent::Complete) to come.
    ///
    /// Once the future is dropped it is not known whether the edit was made; making it again does no harm.
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError>;
}

/// A watch by interest, and the means to change it. It is given up by dropping the stream.
pub struct InterestWatch<O> {
    /// What happens.
    pub events: WatchStream<O>,
    /// Where the keys are changed.
    pub interest: Arc<dyn Interest>,
}

impl<O> fmt::Debug for InterestWatch<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InterestWatch")
    }
}

/// A question for what becomes of the objects under some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterestRequest {
    /// What the keys are values of.
    pub by: InterestBy,
    /// The keys to begin with; there may be none.
    pub keys: BTreeSet<Arc<str>>,
    /// Only such objects, whatever their key.
    pub filter: Filter,
    /// To go on after a watch by the same keys that came as far as this version.
    pub after: Option<ResourceVersion>,
}

/// What the keys of an interest are values of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InterestBy {
    /// A field by which the kind is selected, as [`NAMESPACE`](crate::NAMESPACE).
    Field(Arc<str>),
    /// The label of this key.
    Label(Arc<str>),
}

/// A change of the keys of an interest. A key that it both removes and adds is told anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterestEdit {
    /// Keys to watch no longer.
    pub remove: BTreeSet<Arc<str>>,
    /// Keys to watch from now on.
    pub add: BTreeSet<Arc<str>>,
}

/// Which edit of the keys of one watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditNumber(pub u64);

impl EditNumber {
    /// The keys that the watch began with.
    pub const FIRST: Self = Self(0);
}
