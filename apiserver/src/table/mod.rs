//! Responses as tables, for `kubectl get`, and as partial object metadata.

mod age;
mod builtin;
mod column;
mod partial;
mod path;
mod render;

pub(crate) use builtin::builtin;
pub(crate) use column::{Columns, check_columns, crd_columns};
pub(crate) use partial::{cut, list_metadata, partial, partial_list};
pub(crate) use render::{Include, Tables};
