//! Network interfaces of the kernel, in the switch's network namespace and in those of workloads.
//!
//! The trait [`Links`] has two implementations: [`KernelLinks`] over netlink, and the stateful
//! [`FakeLinks`] for tests without root.

mod error;
mod events;
mod fake;
mod kernel;
mod link;
mod namespace_name;
mod operations;
mod step;

pub use error::{LinkError, LinkStepError};
pub use events::{LinkEvent, LinkEvents};
pub use fake::FakeLinks;
pub use kernel::{
    KernelLinks, KernelLinksSettings, NAMESPACES, NamespaceDirectory, OwnedNamespaces, owner_mark,
};
pub use link::{InterfaceAddress, Link, LinkList, NamespaceEntry, NamespaceState};
pub use namespace_name::{LinkPlace, NamespaceName};
pub use operations::{EchoRequest, Links};
pub use step::{LinkChange, LinkStep};
