//! The interest watch: a watch whose keys are edited while it runs. The protocol is in `docs/designs/009-interest.md`.
//!
//! * [`keys`]: a set of keys that knows what it costs
//! * [`edits`]: which edits are accepted, and what they come to: no clock, no lock
//! * [`mod@line`]: what the stream of an interest and those who edit it share
//! * [`registry`]: the interests of the wire, by their names
//! * [`witness`]: of what an interest's keys are values, and whether an object is under them
//! * [`found`]: what is there under new keys at one moment
//! * [`feed`]: the stream
//! * [`ask`]: what a request says
//! * [`serve`]: the requests

mod ask;
mod edits;
mod feed;
mod found;
mod keys;
mod line;
mod registry;
mod serve;
mod witness;

#[cfg(feature = "testing")]
pub(crate) use ask::Ask;
pub(crate) use edits::{Bounds, Wrong};
pub(crate) use feed::{Asked, Feed, Lost, Told};
pub(crate) use line::{Line, NotMade};
pub(crate) use registry::Interests;
pub(crate) use serve::{edit, misnamed, run, stream};
pub(crate) use witness::by;
#[cfg(test)]
pub(crate) use {found::Found, keys::Keys};
