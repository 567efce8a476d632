//! The kinds, as rows of one table, and the objects of the REST API that they become.

mod canonical;
mod check;
mod collection;
mod convert;
mod definition;
mod desired;
mod field;
mod kind;
pub mod names;
mod networks;
mod object;
mod references;
mod rest_object;
mod status;
mod table;

pub use canonical::{CanonicalSpec, FieldError};
pub use check::{Check, ZONE_NAME_LENGTH};
pub use collection::{COLLECTIONS, Collection, CollectionId, Service};
pub use convert::{ConvertContext, SECRET_REFERENCE, broken, convert};
pub use definition::{definition, definitions};
pub use desired::{ConfigDocument, ConfigEntry, Desired, Observed, ObservedObject, secret_mac};
pub use field::{Field, Reference, RestName, Shape};
pub use kind::{KINDS, ObjectRule, SdewanKind, ServedResource, StatusForm};
pub use networks::Networks;
pub use object::{CnfKey, DEFAULT_ORDER, MAX_ORDER, SdewanObject};
pub use references::{is_built_in, references};
pub use rest_object::{NotAnObject, RestObject};
pub use status::{AppliedTo, PodSync, SyncCondition, SyncStatus};
