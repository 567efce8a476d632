//! Objects, references, revisions, selectors, typed events, and the ports that controllers stand on.
//!
//! Caches, controllers, stores and servers are written against what is here, and against one another only through it. A
//! control plane brings objects of its own, or takes those of Kubernetes; it reads them through a [`ListWatch`], or an
//! [`Interest`] that changes while it runs, and writes through a [`Writer`]. Who is behind these, a store in the
//! process or a server far away, is not for their users to know.
//!
//! # What it promises
//!
//! Each promise names its tests, in `tests/it/` or beside the code. Selectors, labels and fields are also held
//! against naive ones over thousands of random cases (`model.rs`), and all parsers against mutated bytes
//! (`testing::texts`).
//!
//! 1. **Versions come back as they came**, from whichever server; a plain decimal one is a [`Revision`], is ordered,
//!    and allocates nothing (`every_version_text_round_trips`, `numbers_are_ordered_and_nothing_else_is`,
//!    `a_version_is_two_words`, `a_revision_has_one_text`).
//! 2. **Label selectors have the grammar of Kubernetes.** What is refused is refused with its place and with what
//!    could stand there. Selectors that say the same in another order are equal, and are written in a form that is
//!    read as the same (`p02_…`).
//! 3. **They match as in Kubernetes**: `!=` and `notin` also what lacks the label, `>` and `<` only numbers, nothing
//!    asked everything (`p03_…`).
//! 4. **Equalities can be indexed**: whatever a selector selects has all of its [`LabelSelector::equalities`], and so
//!    for fields (`p04_…`, `p03_a_selector_matches_like_its_naive_model`).
//! 5. **Field selectors have the grammar of Kubernetes**, escapes included (`p05_…`).
//! 6. **They match as in Kubernetes**: a field that is absent is empty. Every kind has its name and namespace as
//!    [`Fields`]; a field that a kind has not is an error, not a selector of nothing (`p06_…`).
//! 7. **Labels are small**: two words, one allocation for all of them, none for none; any texts, and the rules of
//!    Kubernetes on demand (`p07_…`).
//! 8. **Names are held against the rules of Kubernetes**, with the place of what is wrong (`p08_…`).
//! 9. **A key is one text**: two words, in the order of Kubernetes' lists, and maps of keys are asked with a `&str`
//!    (`p09_…`).
//! 10. **Every `kube_core::Resource` is an [`Object`]**, under the feature `k8s` (`p10_…`).
//! 11. **The ports to read can be used as `dyn`**, with pages of one moment, a watch that goes on from there, and
//!     leaving a selector told apart from deletion (`p11_…`).
//! 12. **An interest is edited while it is watched**, and says when an edit is complete (`p12_…`).
//! 13. **A write has preconditions**: UID, version and [`Fence`]; a writer that cannot hold one says so (`p13_…`).
//! 14. **A [`Traceparent`] is read as W3C Trace Context has it**, strictly, and written as version 00. [`traced`] says to
//!     writers in which trace they are called (`p14_…`).
//!
//! What 11 to 13 say of a source is for whoever implements the port to hold; the tests show that it can be done, and
//! how, on a plane of a few hundred lines (`tests/it/plane.rs`).
//!
//! # What it does not do
//!
//! - It has no cache, client, server or store, links nothing with sockets, and runs nothing in the background.
//! - It carries no `tracestate` and no baggage.
//! - It neither encodes nor decodes objects: who implements a port does.
//! - It does not compare versions that are not plain numbers, and cannot know whether two numbers came from one server.
//! - Selectors compare with no negative number: the value of a label cannot begin with `-`, and theirs are such
//!   values.
//!
//! # Example
//!
//! A control plane with its own objects, selected by labels and by fields:
//!
//! ```
//! use machinery_objects::{Field, Fields, Filter, Labels, Object, ObjectKey, ResourceVersion, Revision};
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
//! fields.check(&filter.fields)?;                          // it asks for no field that hosts have not
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
//! assert_eq!(wrong.to_string(), "at byte 11 of the selector there is the end, and it takes a comma or `)`");
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! `k8s`: [`Object`] for every `kube_core::Resource`, kinds of typed and of discovered resources, selectors from
//! those of specs. `testing`: what the fuzz target runs. Neither is on by default.

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
