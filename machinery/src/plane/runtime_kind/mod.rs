//! Kinds known at run time: by name, while they are served.
//!
//! [`follow`] resolves a name and publishes the [`state`]; [`source`] lists and watches the objects
//! of the present kind, and no objects between two kinds, so that one informer lasts through all of
//! them; [`served`] is the state as an object, for controllers.

#[cfg(feature = "kube")]
mod definitions;
#[cfg(feature = "kube")]
mod discovery;
mod follow;
mod handle;
mod name;
mod plane;
mod served;
#[cfg(feature = "kube")]
mod shared_objects;
mod source;
mod state;
mod writer;

#[cfg(feature = "kube")]
pub(super) use definitions::{DefinitionMark, definitions_kind};
pub use handle::RuntimeKind;
pub use name::{KindName, KindNameError};
pub(super) use plane::RuntimeKinds;
pub use served::ServedKind;
#[cfg(feature = "kube")]
pub(super) use shared_objects::SharedObjects;
