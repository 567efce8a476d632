//! Metadata of objects: decoding, validation, and its changes by create and update. Pure: time and
//! randomness are parameters.

mod coerce;
mod create;
pub(crate) mod names;
mod owners;
mod place;
pub(crate) mod time;
mod update;
mod validate;
mod warn;

pub(crate) use coerce::coerce;
pub(crate) use create::{Creation, for_create};
pub(crate) use owners::dedup_owners;
pub(crate) use place::check_name;
pub(crate) use update::{Update, for_update};
pub(crate) use validate::{MAX_ANNOTATIONS, embedded as check_embedded};
pub(crate) use warn::finalizer_warnings;
