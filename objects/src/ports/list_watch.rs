//! Reading: what is there, and what becomes of it.

use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;

use super::{Filter, InterestSource, Unreadable};
use crate::{
    FieldTerm, ListError, NAME, NAMESPACE, ObjectKey, ResourceVersion, SourceError, WatchError, WatchEvent,
};

/// Whoever has the objects of one kind, to be read from. Made to be used as `Arc<dyn ListWatch<O>>`.
///
/// Every object that it hands out has a key and a version. One that it has and cannot read is told of as
/// [`Unreadable`], and ends neither a list nor a watch. What it cannot do it answers with
/// [`SourceError::Unsupported`], and never with something that is nearly the same.
#[async_trait]
pub trait ListWatch<O: Send + 'static>: Send + Sync + 'static {
    /// What it can do beyond the least.
    fn capabilities(&self) -> Capabilities;

    /// One page of what is there, by key in the order of [`ObjectKey`]. Pages that follow one another by
    /// [`Page::rest`] show one moment. Dropping the future gives the request up.
    async fn list(&self, request: ListRequest) -> Result<Page<O>, ListError>;

    /// What becomes of it. Dropping the future, or the stream, gives the watch up.
    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<O>, WatchError>;

    /// One object, if it is there. Dropping the future gives the request up.
    ///
    /// By default this is a list that selects the name.
    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<O>, ListError> {
        let term = |field, value| {
            FieldTerm::equals(field, value).expect("the names of these two fields can stand in a selector")
        };
        let mut terms = vec![term(NAME, key.name())];
        if key.namespace().is_none() {
            terms.push(term(NAMESPACE, ""));
        }
        let filter = Filter {
            namespace: key.namespace().map(Arc::from),
            fields: terms.into_iter().collect(),
            ..Filter::default()
        };
        let request = ListRequest { filter, at: ListAt::Fresh(fresh), ..ListRequest::default() };
        let Page { mut items, unreadable, .. } = self.list(request).await?;
        if let Some(unreadable) = unreadable.first() {
            return Err(SourceError::Malformed { reason: unreadable.to_string() }.into());
        }
        match items.len() {
            0 | 1 => Ok(items.pop()),
            _ => Err(SourceError::Malformed { reason: format!("two objects are called {key}") }.into()),
        }
    }

    /// The same objects by an interest that changes while it is watched, from a source that has this.
    fn interests(&self) -> Option<Arc<dyn InterestSource<O>>> {
        None
    }
}

/// What a source can do beyond the least, which is to list, and to watch from the version of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// A watch can begin with the state: [`WatchFrom::State`].
    pub watches_state: bool,
    /// Watches carry bookmarks when asked to.
    pub bookmarks: bool,
    /// An object that is no longer selected is told apart from one that is gone.
    pub reports_left: bool,
    /// Versions are [revisions](ResourceVersion::revision) of one store: of two the greater is the later, also of two
    /// objects.
    pub versions_are_ordered: bool,
    /// The [`Object::traceparent`](crate::Object::traceparent) of an object is that of its last change. From others it may be older.
    pub carries_traces: bool,
}

impl Capabilities {
    /// The least.
    pub const LEAST: Self = Self {
        watches_state: false,
        bookmarks: false,
        reports_left: false,
        versions_are_ordered: false,
        carries_traces: false,
    };
    /// All there is.
    pub const ALL: Self = Self {
        watches_state: true,
        bookmarks: true,
        reports_left: true,
        versions_are_ordered: true,
        carries_traces: true,
    };
}

/// A question for what is there. By default: all, now, in one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Which objects.
    pub filter: Filter,
    /// At which moment. Of a page that follows another, that one's moment counts, and this is not looked at.
    pub at: ListAt,
    /// No more than so many in the page; a source may give fewer, but not none while there are any.
    pub limit: Option<NonZeroU32>,
    /// What follows a page: its [`Page::rest`].
    pub rest: Option<Continue>,
}

/// How new an answer must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// It shows every write that was acknowledged before the question.
    #[default]
    Newest,
    /// It is as old as the source likes, and cheap.
    Any,
    /// It is at this version or later.
    AtLeast(ResourceVersion),
}

/// The moment that a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListAt {
    /// One that is new enough.
    Fresh(Freshness),
    /// This one.
    Exactly(ResourceVersion),
}

impl Default for ListAt {
    fn default() -> Self {
        Self::Fresh(Freshness::Newest)
    }
}

/// Where a list goes on: text that only its source understands.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Continue(Arc<str>);

impl Continue {
    /// The place with this text; `None` for the empty one, with which servers say that nothing follows.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Continue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Continue({:?})", &self.0)
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<O> {
    /// The objects, by key.
    pub items: Vec<O>,
    /// Objects that belong there and cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The moment that the whole list shows: a watch after it misses nothing and repeats nothing.
    pub version: ResourceVersion,
    /// What follows.
    pub rest: Option<Continue>,
    /// About how many follow, if the source knows.
    pub remaining: Option<u64>,
}

/// A question for what becomes of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Which objects.
    pub filter: Filter,
    /// From when on.
    pub from: WatchFrom,
    /// Whether bookmarks are wanted, too.
    pub bookmarks: bool,
    /// After what time the source should end the watch; it may do so earlier. A stream that ends without an error is
    /// not a fault: resume it.
    pub timeout: Option<Duration>,
}

/// Where a watch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFrom {
    /// With the first change after this version.
    After(ResourceVersion),
    /// With the state, as one [`WatchEvent::Added`] per object and then, if bookmarks are wanted, one that says that
    /// it was all.
    State(Freshness),
}

/// A watch under way. After an error it ends.
pub type WatchStream<O> = Pin<Box<dyn Stream<Item = Result<WatchEvent<O>, WatchError>> + Send>>;
