//! Field managers and field ownership: `metadata.managedFields`, and server-side apply.

mod apply;
#[cfg(test)]
mod arbitrary;
mod cap;
mod check;
mod client_side;
mod codec;
mod compare;
mod entry;
mod field_set;
mod manager;
mod merge;
mod of;
mod path;
#[cfg(test)]
mod properties;
mod prune;
mod reconcile;
#[cfg(test)]
mod recorded;
mod scale;
#[cfg(test)]
mod tests;
mod topology;
#[cfg(test)]
mod typed;
mod update;
mod versions;

pub(crate) use apply::{Conflict, Conflicts, NotApplied, applied};
pub(crate) use check::check_items;
pub(crate) use codec::MalformedFields;
pub(crate) use compare::Comparison;
#[cfg(test)]
pub(crate) use compare::compare;
pub(crate) use field_set::FieldSet;
pub(crate) use manager::{manager_name, problems};
pub(crate) use path::{Literal, PathElement};
pub(crate) use scale::{entries_of_object, entries_of_scale};
pub(crate) use topology::{Deduced, EMBEDDED_METADATA, EMPTY, ListMeta, ListType};
pub(crate) use update::{Write, keep_readable, keep_times, updated};
pub(crate) use versions::Versions;
