//! A control plane as one thing: who has the objects, informers of them, and what runs on top.

mod asked;
mod begin;
mod controller;
#[cfg(feature = "kube")]
mod define;
mod end;
mod error;
mod fenced;
mod handle;
mod kinds;
mod lease;
mod locks;
mod news;
mod objects;
mod recorder;
mod road;
mod running;
mod signals;

pub use begin::Begin;
#[cfg(feature = "embedded")]
pub use begin::embedded;
#[cfg(all(feature = "kube", feature = "embedded"))]
pub use begin::from_args;
#[cfg(feature = "kube")]
pub use begin::{kube_client, kube_config, kubeconfig};
pub use controller::PlaneController;
pub use end::Stopped;
pub use error::PlaneError;
pub use handle::Plane;
pub use kinds::{Kinds, ObjectType, Part};
pub use lease::{Led, LedEnded};
pub use objects::Objects;
#[cfg(feature = "diagnostics")]
pub(crate) use running::Running;
