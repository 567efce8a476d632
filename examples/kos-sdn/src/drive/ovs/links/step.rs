//! Changes of links and namespaces.

use super::{InterfaceAddress, LinkPlace, NamespaceName};
use crate::plan::Mac;

/// One change: one netlink request, or one change of a name below `/run/netns`.
///
/// A step that finds its result already there succeeds: an existing namespace of the owner, an
/// address that the link has, a missing link or namespace to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkStep {
    /// Creates a named namespace with the owner's mark. Fails with
    /// [`LinkError::NamespaceTaken`](super::LinkError::NamespaceTaken) if somebody else's has the
    /// name.
    CreateNamespace(NamespaceName),
    /// Deletes a named namespace of the owner, with all that is in it. Another's is refused.
    DeleteNamespace(NamespaceName),
    /// Moves a link from the switch's namespace into a workload's. The kernel takes milliseconds
    /// for it, and sets the link down.
    Move {
        /// Interface name.
        name: String,
        /// The expected index: another link with this name is not touched.
        index: u32,
        /// The destination, a namespace of the owner.
        to: NamespaceName,
    },
    /// Changes attributes of a link in one request.
    Set {
        /// The namespace.
        place: LinkPlace,
        /// Interface name; `lo` is the loopback interface.
        name: String,
        /// The new values.
        change: LinkChange,
    },
    /// Adds an address to a link.
    AddAddress {
        /// The namespace.
        place: LinkPlace,
        /// Interface name.
        name: String,
        /// The address.
        address: InterfaceAddress,
    },
    /// Removes an address from a link. A missing one is removed already.
    DeleteAddress {
        /// The namespace.
        place: LinkPlace,
        /// Interface name.
        name: String,
        /// The address.
        address: InterfaceAddress,
    },
    /// Deletes a link, such as an orphan of a killed switch. A missing one is deleted already.
    Delete {
        /// The namespace.
        place: LinkPlace,
        /// Interface name.
        name: String,
        /// The expected index: another link with this name is not touched.
        index: u32,
    },
}

impl LinkStep {
    /// Returns the place that the step changes, except for changes of namespaces themselves.
    #[must_use]
    pub const fn place(&self) -> Option<&LinkPlace> {
        match self {
            Self::CreateNamespace(_) | Self::DeleteNamespace(_) => None,
            Self::Move { .. } => Some(&LinkPlace::Switch),
            Self::Set { place, .. }
            | Self::AddAddress { place, .. }
            | Self::DeleteAddress { place, .. }
            | Self::Delete { place, .. } => Some(place),
        }
    }

    /// Returns a step that sets the loopback interface of a workload's namespace up.
    #[must_use]
    pub fn loopback_up(namespace: NamespaceName) -> Self {
        let change = LinkChange { up: Some(true), ..LinkChange::default() };
        Self::Set { place: LinkPlace::Workload(namespace), name: "lo".into(), change }
    }
}

/// New values of attributes; `None` leaves an attribute alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkChange {
    /// MAC address.
    pub mac: Option<Mac>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Whether the link is administratively up.
    pub up: Option<bool>,
}
