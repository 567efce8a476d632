//! The table of a fabric's interfaces.

use std::collections::BTreeMap;

use super::{FabricError, InterfaceList};
use crate::plan::{AddressKey, Interface, LocalInterface, RemoteInterface};

/// The interfaces of a fabric: one per address of a network. Pure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceBook {
    limit: usize,
    interfaces: BTreeMap<AddressKey, Interface>,
}

impl InterfaceBook {
    /// Creates an empty table with a capacity.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, interfaces: BTreeMap::new() }
    }

    /// Adds a local interface.
    ///
    /// # Errors
    /// The address has an interface, or the capacity is reached.
    pub fn add_local(&mut self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.add(Interface::Local(interface.clone()))
    }

    /// Adds a remote interface.
    ///
    /// # Errors
    /// The address has an interface, or the capacity is reached.
    pub fn add_remote(&mut self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.add(Interface::Remote(interface.clone()))
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// The address has an interface, or the capacity is reached.
    pub fn add(&mut self, interface: Interface) -> Result<(), FabricError> {
        let key = interface.key();
        if let Some(existing) = self.interfaces.get(&key) {
            let by = match existing {
                Interface::Local(local) => format!("the interface {}", local.name),
                Interface::Remote(remote) => format!("an interface on {}", remote.host),
            };
            return Err(FabricError::Taken { vni: key.vni, address: key.address, by });
        }
        if self.interfaces.len() >= self.limit {
            return Err(FabricError::Full { limit: self.limit });
        }
        self.interfaces.insert(key, interface);
        Ok(())
    }

    /// Removes a local interface. Returns true if it existed.
    pub fn remove_local(&mut self, interface: &LocalInterface) -> bool {
        self.remove(&Interface::Local(interface.clone()))
    }

    /// Removes a remote interface. Returns true if it existed.
    pub fn remove_remote(&mut self, interface: &RemoteInterface) -> bool {
        self.remove(&Interface::Remote(interface.clone()))
    }

    /// Removes an interface. Returns true if it existed.
    pub fn remove(&mut self, interface: &Interface) -> bool {
        let key = interface.key();
        // Compared in full: a late deletion must not remove the successor of an interface.
        let exists = self.interfaces.get(&key) == Some(interface);
        if exists {
            self.interfaces.remove(&key);
        }
        exists
    }

    /// Replaces the interface of an address, or removes it.
    pub fn set(&mut self, key: AddressKey, interface: Option<Interface>) {
        match interface {
            Some(interface) => drop(self.interfaces.insert(key, interface)),
            None => drop(self.interfaces.remove(&key)),
        }
    }

    /// Returns the interface of an address.
    #[must_use]
    pub fn get(&self, key: &AddressKey) -> Option<&Interface> {
        self.interfaces.get(key)
    }

    /// Iterates over the interfaces, ordered by network and address.
    pub fn iter(&self) -> impl Iterator<Item = (&AddressKey, &Interface)> {
        self.interfaces.iter()
    }

    /// Iterates over the local interfaces.
    pub fn local_interfaces(&self) -> impl Iterator<Item = &LocalInterface> {
        self.interfaces.values().filter_map(|interface| match interface {
            Interface::Local(local) => Some(local),
            Interface::Remote(_) => None,
        })
    }

    /// Returns the number of local interfaces.
    #[must_use]
    pub fn locals(&self) -> usize {
        self.local_interfaces().count()
    }

    /// Returns all interfaces, ordered by network and address.
    #[must_use]
    pub fn listed(&self) -> InterfaceList {
        let mut listed = InterfaceList::default();
        for interface in self.interfaces.values() {
            match interface {
                Interface::Local(local) => listed.locals.push(local.clone()),
                Interface::Remote(remote) => listed.remotes.push(remote.clone()),
            }
        }
        listed
    }
}
