//! Observed links and namespaces.

use std::net::Ipv4Addr;

use super::{LinkPlace, NamespaceName};
use crate::plan::Mac;

/// An IPv4 address of an interface, with its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Number of leading bits of the subnet, at most 32.
    pub prefix: u8,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The namespace.
    pub place: LinkPlace,
    /// Interface index, unique in its namespace.
    pub index: u32,
    /// Interface name, unique in its namespace.
    pub name: String,
    /// MAC address; `None` for links without one.
    pub mac: Option<Mac>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Whether the link is administratively up.
    pub up: bool,
    /// Whether the link has a carrier. An internal port without a switch process has none. The
    /// kernel reports a carrier only for links that are up.
    pub carrier: bool,
    /// IPv4 addresses in ascending order.
    pub addresses: Vec<InterfaceAddress>,
}

/// State of a namespace that carries the owner's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    /// The namespace exists.
    Live,
    /// Only the name exists: somebody unmounted the namespace, or its creation was interrupted.
    /// [`LinkStep::DeleteNamespace`](super::LinkStep::DeleteNamespace) removes the name.
    NameOnly,
}

/// A named namespace of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceEntry {
    /// The name below `/run/netns`.
    pub name: NamespaceName,
    /// Whether the namespace exists.
    pub state: NamespaceState,
    /// Whether its loopback interface is up.
    pub loopback_up: bool,
}

/// The links of the switch's namespace, and the owner's namespaces with their links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkList {
    /// All links except loopback interfaces, by place and index.
    pub links: Vec<Link>,
    /// The owner's namespaces, by name. Namespaces of others are absent.
    pub namespaces: Vec<NamespaceEntry>,
}

impl LinkList {
    /// Returns the links with a name, in all places: an orphan and its successor have the same.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Link> {
        self.links.iter().filter(move |link| link.name == name)
    }

    /// Returns the MTU of the underlay: of the switch's link that has the node's address.
    #[must_use]
    pub fn underlay_mtu(&self, host: Ipv4Addr) -> Option<u32> {
        let in_switch = self.links.iter().filter(|link| link.place == LinkPlace::Switch);
        let mut holders = in_switch.filter(|link| link.addresses.iter().any(|held| held.address == host));
        holders.next().map(|link| link.mtu)
    }
}
