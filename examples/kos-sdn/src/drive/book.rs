//! The table of a fabric's interfaces.

use std::collections::BTreeMap;

use super::{FabricError, InterfaceList};
use crate::plan::{AddressKey, LocalInterface, RemoteInterface};

/// The interfaces of a fabric: one per address of a network. Pure.
#[derive(Debug)]
pub struct InterfaceBook {
    limit: usize,
    interfaces: BTreeMap<AddressKey, BookEntry>,
}

#[derive(Debug, PartialEq, Eq)]
enum BookEntry {
    Local(LocalInterface),
    Remote(RemoteInterface),
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
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.add(key, BookEntry::Local(interface.clone()))
    }

    /// Adds a remote interface.
    ///
    /// # Errors
    /// The address has an interface, or the capacity is reached.
    pub fn add_remote(&mut self, interface: &RemoteInterface) -> Result<(), FabricError> {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.add(key, BookEntry::Remote(interface.clone()))
    }

    /// Removes a local interface. Returns true if it existed.
    pub fn remove_local(&mut self, interface: &LocalInterface) -> bool {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.remove(&key, &BookEntry::Local(interface.clone()))
    }

    /// Removes a remote interface. Returns true if it existed.
    pub fn remove_remote(&mut self, interface: &RemoteInterface) -> bool {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.remove(&key, &BookEntry::Remote(interface.clone()))
    }

    /// Returns all interfaces, ordered by network and address.
    #[must_use]
    pub fn listed(&self) -> InterfaceList {
        let mut listed = InterfaceList::default();
        for known in self.interfaces.values() {
            match known {
                BookEntry::Local(local) => listed.locals.push(local.clone()),
                BookEntry::Remote(remote) => listed.remotes.push(remote.clone()),
            }
        }
        listed
    }

    /// Returns the number of local interfaces.
    #[must_use]
    pub fn locals(&self) -> usize {
        self.interfaces.values().filter(|entry| matches!(entry, BookEntry::Local(_))).count()
    }

    fn add(&mut self, key: AddressKey, interface: BookEntry) -> Result<(), FabricError> {
        if let Some(existing) = self.interfaces.get(&key) {
            let by = match existing {
                BookEntry::Local(local) => format!("the interface {}", local.name),
                BookEntry::Remote(remote) => format!("an interface on {}", remote.host),
            };
            return Err(FabricError::Taken { vni: key.vni, address: key.address, by });
        }
        if self.interfaces.len() >= self.limit {
            return Err(FabricError::Full { limit: self.limit });
        }
        self.interfaces.insert(key, interface);
        Ok(())
    }

    fn remove(&mut self, key: &AddressKey, interface: &BookEntry) -> bool {
        // Compared in full: a late deletion must not remove the successor of an interface.
        let exists = self.interfaces.get(key) == Some(interface);
        if exists {
            self.interfaces.remove(key);
        }
        exists
    }
}
