//! Parsing of requests, once per request: RequestInfo (path and verb), options (query) and bodies.

mod body;
mod continue_token;
mod delete;
mod duration;
mod list;
mod list_at;
mod path;
mod query;
mod selector_text;
mod selectors;
mod verb;
mod write;

pub(crate) use body::{Expected, Format, cannot_be_handled, duplicate_fields, not_patched, object};
pub(crate) use continue_token::{ContinueAt, ContinueToken};
pub(crate) use delete::{DeleteOptions, Propagation};
pub(crate) use duration::time_limit;
pub(crate) use list::{GetOptions, ListOptions, parse_revision};
pub(crate) use list_at::{ListAt, Match};
pub(crate) use path::{Resource, Target, decode};
pub(crate) use query::Query;
pub(crate) use selectors::{FieldLabels, check_fields, field_selector, label_selector, unsupported};
pub(crate) use verb::{Verb, not_allowed};
pub(crate) use write::{FieldValidation, WriteOptions};
