//! The read port: get, list and watch.

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

/// A source of objects of one kind (client-go: `ListerWatcher`). Used as `Arc<dyn ListWatch<O>>`.
///
/// Every returned object has a key and a version. An object that cannot be decoded is reported as
/// [`Unreadable`], and ends neither a list nor a watch. An unsupported operation is
/// [`SourceError::Unsupported`], never an approximation.
#[async_trait]
pub trait ListWatch<O: Send + 'static>: Send + Sync + 'static {
    /// Returns the optional features of the source.
    fn capabilities(&self) -> Capabilities;

    /// Returns one page of a list, sorted by [`ObjectKey`]. Pages linked by [`Page::rest`] are of
    /// one version. Dropping the future cancels the request.
    async fn list(&self, request: ListRequest) -> Result<Page<O>, ListError>;

    /// Watches for changes. Dropping the future or the stream cancels the watch.
    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<O>, WatchError>;

    /// Returns one object, if it exists. Dropping the future cancels the request.
    ///
    /// The default implementation lists by name.
    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<O>, ListError> {
        let term = |field, value| {
            FieldTerm::equals(field, value).expect("the names of these two fields can stand in a selector")
        };
        let mut terms = vec![term(NAME, key.name())];
        // A filter without a namespace selects namesakes in all of them.
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

    /// Returns the interface for watches by interest, if the source supports them.
    fn interests(&self) -> Option<Arc<dyn InterestSource<O>>> {
        None
    }
}

/// Optional features of a source, beyond a list and a watch from the version of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// A watch can begin with the state: [`WatchFrom::State`].
    pub watches_state: bool,
    /// Watches send bookmarks on request.
    pub bookmarks: bool,
    /// Watches distinguish an object that is no longer selected from a deleted one.
    pub reports_left: bool,
    /// Versions are [revisions](ResourceVersion::revision) of one store: the greater is the later,
    /// also of different objects.
    pub versions_are_ordered: bool,
    /// The [`Object::traceparent`](crate::Object::traceparent) of an object is that of its last
    /// change. From other sources it may be older.
    pub carries_traces: bool,
}

impl Capabilities {
    /// No optional features.
    pub const LEAST: Self = Self {
        watches_state: false,
        bookmarks: false,
        reports_left: false,
        versions_are_ordered: false,
        carries_traces: false,
    };
    /// All optional features.
    pub const ALL: Self = Self {
        watches_state: true,
        bookmarks: true,
        reports_left: true,
        versions_are_ordered: true,
        carries_traces: true,
    };
}

/// A list request. By default all objects, at the newest version, in one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Selects objects.
    pub filter: Filter,
    /// The version of the list. Ignored for a page after the first.
    pub at: ListAt,
    /// Maximum number of objects in the page; a source may return fewer, but not none while objects
    /// remain.
    pub limit: Option<NonZeroU32>,
    /// The [`Page::rest`] of the preceding page.
    pub rest: Option<Continue>,
}

/// The required freshness of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// A consistent read: includes every write that was acknowledged before the request.
    #[default]
    Newest,
    /// Any version; cheap.
    Any,
    /// This version or a later one.
    AtLeast(ResourceVersion),
}

/// The version of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListAt {
    /// A version of this freshness.
    Fresh(Freshness),
    /// Exactly this version.
    Exactly(ResourceVersion),
}

impl Default for ListAt {
    fn default() -> Self {
        Self::Fresh(Freshness::Newest)
    }
}

/// The continue token of a list (Kubernetes: `metadata.continue`), opaque to clients.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Continue(Arc<str>);

impl Continue {
    /// Creates a token from its text; `None` if empty, which in Kubernetes means the end of the
    /// list.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the text.
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

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<O> {
    /// The objects, sorted by key.
    pub items: Vec<O>,
    /// Objects of the page that cannot be decoded.
    pub unreadable: Vec<Unreadable>,
    /// The version of the whole list: a watch after it neither misses nor repeats a change.
    pub version: ResourceVersion,
    /// The token of the next page.
    pub rest: Option<Continue>,
    /// Estimated number of remaining objects, if the source gives it.
    pub remaining: Option<u64>,
}

/// A watch request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Selects objects.
    pub filter: Filter,
    /// The start of the watch.
    pub from: WatchFrom,
    /// Whether to send bookmarks.
    pub bookmarks: bool,
    /// Time after which the source should end the watch; it may do so earlier. A stream that ends
    /// without an error is not a fault: resume it.
    pub timeout: Option<Duration>,
}

/// The start of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFrom {
    /// The first change after this version.
    After(ResourceVersion),
    /// The state, as one [`WatchEvent::Added`] per object, followed by a bookmark with
    /// `initial_state_ends` if bookmarks are requested.
    State(Freshness),
}

/// The events of a watch. It ends after an error.
pub type WatchStream<O> = Pin<Box<dyn Stream<Item = Result<WatchEvent<O>, WatchError>> + Send>>;
