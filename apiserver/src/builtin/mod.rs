//! The built-in kinds of Kubernetes as data: their message types, and the checks based on these.

mod check;
pub(crate) mod quantity;
mod time;
mod types;

pub(crate) use check::{decode_base64, type_errors, unknown_fields};
pub(crate) use time::{KubeTime, Precision};
pub(crate) use types::{Base, Cardinality, Merge, MessageField, Omit, Type, table};
