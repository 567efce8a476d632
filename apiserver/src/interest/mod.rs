//! Interest watches: the keys of a watch are edited while it runs. Protocol:
//! `docs/designs/009-interest.md`.
//!
//! * [`keys`]: a set of keys that tracks its memory
//! * [`edits`]: validation, order and merging of edits: no clock, no lock
//! * [`channel`]: the state shared between the stream and the editors of an interest
//! * [`registry`]: the interests of clients on the wire, by name
//! * [`relevance`]: the index of an interest, and the relevance check of its events
//! * [`lookup`]: the objects under added keys at one revision
//! * [`feed`]: the event stream
//! * [`edit_request`]: parses requests
//! * [`serve`]: HTTP requests

mod channel;
mod edit_request;
mod edits;
mod feed;
mod keys;
mod lookup;
mod registry;
mod relevance;
mod serve;

pub(crate) use channel::{EditChannel, EditError};
#[cfg(feature = "testing")]
pub(crate) use edit_request::EditRequest;
pub(crate) use edits::{InvalidEdit, KeyLimits};
pub(crate) use feed::{InterestEvent, InterestFeed, StreamError, StreamRequest};
pub(crate) use registry::Interests;
pub(crate) use relevance::index_for;
pub(crate) use serve::{edit, misnamed, run, stream};
#[cfg(test)]
pub(crate) use {keys::KeySet, lookup::KeyLookup};
