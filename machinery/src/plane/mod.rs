//! The control plane: transport, shared informers, controllers and shutdown.

mod beside;
mod builder;
#[cfg(feature = "server")]
mod component;
mod controller;
mod controller_run;
#[cfg(feature = "kube")]
mod define;
mod error;
mod fenced;
mod fights;
mod handle;
mod kinds;
mod lease;
mod live_list;
mod locks;
mod named;
mod objects;
mod owned_fields;
mod predicates;
mod recorder;
mod reporting;
mod runtime_kind;
mod served;
#[cfg(feature = "server")]
mod serving;
mod shutdown;
mod signals;
mod silence;
mod surroundings;
mod tasks;
mod transport;
mod until;
mod written_fields;

pub use builder::PlaneBuilder;
#[cfg(feature = "embedded")]
pub use builder::embedded;
#[cfg(all(feature = "kube", feature = "embedded"))]
pub use builder::from_args;
#[cfg(feature = "kube")]
pub use builder::{kube_client, kube_config, kubeconfig};
#[cfg(feature = "server")]
pub use component::Component;
pub use controller::PlaneController;
pub use error::PlaneError;
pub use handle::Plane;
pub use kinds::{Kinds, ObjectType, PartialObject};
pub use lease::{LedController, LedShutdownReport};
pub use named::NamedObject;
pub use objects::Objects;
pub use owned_fields::OwnedFields;
pub use runtime_kind::{KindName, KindNameError, RuntimeKind, ServedKind};
pub use shutdown::PlaneShutdownReport;
pub use signals::ShutdownSignals;
#[cfg(feature = "diagnostics")]
pub(crate) use tasks::TaskGroup;
pub use until::UntilError;
