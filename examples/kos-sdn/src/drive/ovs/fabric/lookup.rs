//! Answers from the state of the actor.

use std::collections::{BTreeMap, BTreeSet};

use super::actor::Actor;
use super::request::FoundInterface;
use crate::drive::ovs::links::{LinkPlace, NamespaceName};
use crate::drive::{BrokenInterface, FabricError, InterfaceList};
use crate::plan::ovs::place_of;
use crate::plan::{AddressKey, Interface, local_cookie, remote_cookie};

impl Actor {
    /// Returns the interfaces, and the broken ones apart.
    pub(super) fn list(&self) -> InterfaceList {
        let mut list = self.book.listed();
        list.locals.retain(|local| !self.broken.contains_key(&Interface::Local(local.clone()).key()));
        list.remotes.retain(|remote| !self.broken.contains_key(&Interface::Remote(remote.clone()).key()));
        list.broken = self.broken();
        list
    }

    /// Finds an interface and its port.
    pub(super) fn find(&self, key: &AddressKey) -> FoundInterface {
        let interface = self.book.get(key).cloned();
        let number = |name: &str| self.observer.switch.ports.as_ref()?.get(name).copied();
        let port = match &interface {
            Some(Interface::Local(local)) => number(&local.name),
            _ => None,
        };
        FoundInterface { interface, port, tunnel: number(&self.settings.tunnel_port()) }
    }

    /// Finds the interfaces that flows belong to.
    pub(super) fn owners(&self, cookies: &BTreeSet<u64>) -> BTreeMap<u64, Interface> {
        let owner = |interface: &Interface| match interface {
            Interface::Local(local) => local_cookie(local.mac),
            Interface::Remote(remote) => remote_cookie(remote.mac),
        };
        let owned = self.book.iter().map(|(_, interface)| (owner(interface), interface));
        owned
            .filter(|(cookie, _)| cookies.contains(cookie))
            .map(|(cookie, interface)| (cookie, interface.clone()))
            .collect()
    }

    /// Returns the broken interfaces.
    pub(super) fn broken(&self) -> Vec<BrokenInterface> {
        let interface = |(key, error): (&AddressKey, &FabricError)| {
            Some(BrokenInterface { interface: self.book.get(key)?.clone(), error: error.clone() })
        };
        self.broken.iter().filter_map(interface).collect()
    }

    /// Returns the namespace of an interface's workload.
    pub(super) fn namespace_of(&self, interface: &Interface) -> Option<NamespaceName> {
        let Interface::Local(local) = interface else { return None };
        match place_of(&self.settings, local) {
            Ok(LinkPlace::Workload(name)) => Some(name),
            _ => None,
        }
    }
}
