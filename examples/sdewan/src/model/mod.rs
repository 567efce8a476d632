//! The kinds, as rows of one table, and the objects of the REST API that they become.

mod check;
mod collection;
mod desired;
mod field;
mod kind;
pub mod names;
mod rest_object;
mod table;

pub use check::{Check, ZONE_NAME_LENGTH};
pub use collection::{COLLECTIONS, Collection, CollectionId, Service};
pub use desired::{ConfigDocument, ConfigEntry, Desired, Observed, ObservedObject, secret_mac};
pub use field::{Field, Reference, RestName, Shape};
pub use kind::{KINDS, ObjectRule, SdewanKind, ServedResource, StatusForm};
pub use rest_object::{NotAnObject, RestObject};
