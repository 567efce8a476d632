//! Answers about interfaces from the last observation, for traces.

use std::collections::{BTreeMap, BTreeSet};

use super::state::FabricState;
use crate::plan::ovs::SwitchSettings;
use crate::plan::{AddressKey, Interface, Port, local_cookie, remote_cookie};

/// An interface with its port.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundInterface {
    pub(super) interface: Option<Interface>,
    /// Port of a local interface.
    pub(super) port: Option<Port>,
    /// The tunnel port.
    pub(super) tunnel: Option<Port>,
}

impl FabricState {
    /// Finds an interface and its port.
    pub(super) fn find(&self, settings: &SwitchSettings, key: &AddressKey) -> FoundInterface {
        let interface = self.book.get(key).cloned();
        let number = |name: &str| self.observer.switch.ports.as_ref()?.get(name).copied();
        let port = match &interface {
            Some(Interface::Local(local)) => number(&local.name),
            _ => None,
        };
        FoundInterface { interface, port, tunnel: number(&settings.tunnel_port()) }
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
}
