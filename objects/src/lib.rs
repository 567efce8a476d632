//! Objects, references, revisions, selectors, typed events, and the ports between clients and
//! servers.
//!
//! Caches, controllers, stores and servers depend on this crate, and on one another only through
//! it. A control plane defines its own object types or uses those of Kubernetes. It reads them
//! through a [`ListWatch`], or an [`Interest`] with keys that are edited while it runs, and writes
//! through a [`Writer`]. Clients cannot see whether a port is implemented by a store in the process
//! or by a remote server.
//!
//! # Promises
//!
//! A test belongs to promise *n* if its name begins with `p`*nn*`_` (in `tests/it/`). Selectors,
//! labels and fields are also compared with naive models over thousands of random cases
//! (`model.rs`), and all parsers run on mutated bytes (`testing::texts`).
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | A resourceVersion round-trips unchanged; a decimal one is a [`Revision`] | below |
//! | 2 | Label selectors have the grammar of Kubernetes | `p02_` |
//! | 3 | Label selectors match as in Kubernetes | `p03_` |
//! | 4 | Equalities can be indexed: each selected object has all of them | `p04_`, `p03_` |
//! | 5 | Field selectors have the grammar of Kubernetes, escapes included | `p05_` |
//! | 6 | Field selectors match as in Kubernetes: an absent field is empty | `p06_` |
//! | 7 | Labels are small: two words, one allocation for all, none if empty | `p07_` |
//! | 8 | Names are checked by the rules of Kubernetes, with the position of the error | `p08_` |
//! | 9 | A key is one text: two words, ordered as lists of Kubernetes | `p09_` |
//! | 10 | Every `kube_core::Resource` is an [`Object`], with the feature `k8s` | `p10_` |
//! | 11 | The read ports are `dyn`-safe, with consistent pages and resumable watches | `p11_` |
//! | 12 | The keys of an interest are edited while it is watched | `p12_` |
//! | 13 | A write has preconditions: UID, version and [`Fence`] | `p13_` |
//! | 14 | A [`Traceparent`] is parsed as W3C Trace Context specifies, strictly | `p14_` |
//!
//! - 1: decimal versions are ordered and allocate nothing. `every_version_text_round_trips`,
//!   `numbers_are_ordered_and_nothing_else_is`, `a_version_is_two_words`,
//!   `a_revision_has_one_text`.
//! - 2: an error has the position and the expected tokens. Selectors that differ only in order are
//!   equal, and are written in a form that parses to an equal selector.
//! - 3: `!=` and `notin` match objects without the label, `>` and `<` only numbers, an empty
//!   selector everything.
//! - 4: [`LabelSelector::equalities`] and its counterpart for fields;
//!   `p03_a_selector_matches_like_its_naive_model`.
//! - 6: every kind has its name and namespace as [`Fields`]; an unknown field is an error.
//! - 7: any texts are allowed; the rules of Kubernetes are checked on demand.
//! - 9: maps of keys can be searched with a `&str`.
//! - 11: leaving a selector is distinguished from deletion.
//! - 12: the end of each edit is an event.
//! - 13: a writer that does not support a precondition returns an error.
//! - 14: it is written as version 00; [`traced`] passes the current trace to writers.
//!
//! Implementations of the ports must keep 11 to 13; the tests show on a control plane of a few
//! hundred lines that this is possible (`tests/it/plane.rs`).
//!
//! # Non-goals
//!
//! - It has no cache, client, server or store, links no socket code, and runs no background tasks.
//! - It carries no `tracestate` and no baggage.
//! - It neither encodes nor decodes objects: implementations of the ports do.
//! - It does not compare resourceVersions that are not decimal numbers, and cannot detect that two
//!   numbers came from different servers.
//! - Selectors compare with no negative number: a label value cannot begin with `-`, nor can the
//!   operand.
//!
//! # Example
//!
//! A control plane with its own objects, selected by labels and by fields:
//!
//! ```
//! use machinery_objects::{
//!     Field, Fields, Filter, Labels, Object, ObjectKey, ResourceVersion, Revision,
//! };
//!
//! struct Host {
//!     key: ObjectKey,
//!     revision: Revision,
//!     labels: Labels,
//!     rack: u32,
//! }
//!
//! impl Object for Host {
//!     fn key(&self) -> ObjectKey { self.key.clone() }
//!     fn version(&self) -> Option<ResourceVersion> { Some(self.revision.into()) }
//!     fn labels(&self) -> Labels { self.labels.clone() }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fields = Fields::new([Field::new("spec.rack", |host: &Host| Some(host.rack.to_string()))?]);
//! let filter = Filter {
//!     labels: "role in (db, cache), !retired".parse()?,
//!     fields: "spec.rack=17,metadata.name!=spare".parse()?,
//!     ..Filter::default()
//! };
//! fields.check(&filter.fields)?;                          // hosts have all its fields
//!
//! let host = Host {
//!     key: "lab/db-0".parse()?,
//!     revision: Revision(7),
//!     labels: Labels::from([("role", "db"), ("zone", "a")]),
//!     rack: 17,
//! };
//! assert!(filter.matches(&host, &fields));
//!
//! let wrong = "role in (db".parse::<machinery_objects::LabelSelector>().unwrap_err();
//! assert_eq!(
//!     wrong.to_string(),
//!     "at byte 11 of the selector there is the end, and it takes a comma or `)`",
//! );
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `k8s`: [`Object`] for every `kube_core::Resource`, kinds of typed and of discovered resources,
//!   selectors from those of specs.
//! - `testing`: the code of the fuzz target.
//!
//! Neither is on by default.

mod error;
mod event;
mod excerpt;
mod field;
mod key;
mod kind;
mod labels;
mod name;
mod object;
mod pairs;
mod ports;
mod reference;
mod revision;
mod selector;
mod trace;
mod version;

#[cfg(feature = "k8s")]
mod k8s;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::{Conflict, InvalidField, ListError, SourceError, WatchError, WriteError};
pub use event::{Bookmark, Event, LeaveReason, WatchEvent};
pub use field::{Field, FieldValues, Fields, NAME, NAMESPACE, UnknownField};
#[cfg(feature = "k8s")]
pub use k8s::KnownScope;
pub use key::ObjectKey;
pub use kind::{Kind, KindError, Scope};
pub use labels::{LabelError, Labels};
pub use name::{NameError, NameRule};
pub use object::Object;
pub use ports::{
    Capabilities, Continue, Deleted, Deletion, EditNumber, Fence, Filter, Freshness, Interest, InterestBy,
    InterestEdit, InterestRequest, InterestSource, InterestWatch, ListAt, ListRequest, ListWatch, Page,
    Patch, PatchFormat, Preconditions, Propagation, Unreadable, WatchFrom, WatchRequest, WatchStream,
    WriteOutcome, WriteToken, Writer, WriterCapabilities, Written,
};
pub use reference::{ObjectRef, OwnerRef, Uid};
pub use revision::{Revision, RevisionError};
pub use selector::{
    FieldSelector, FieldTerm, LabelSelector, LabelTest, Requirement, RequirementError, SelectorError,
};
pub use trace::{SpanId, SpanIds, TraceId, Traceparent, TraceparentError, traced};
pub use version::ResourceVersion;
