//! [`Links`](super::Links) over netlink.

mod connection;
mod descriptor;
mod directory;
mod links;
mod named;
mod owned;
mod ping;
mod switch;
#[cfg(test)]
mod tests;
mod thread;
mod watch;

pub(super) use connection::errno;
pub use directory::NamespaceDirectory;
pub use links::{KernelLinks, KernelLinksSettings};
pub use named::NAMESPACES;
pub use owned::{OwnedNamespaces, owner_mark};
