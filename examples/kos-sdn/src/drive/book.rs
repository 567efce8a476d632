//! Which interfaces a fabric has.

use std::collections::BTreeMap;

use super::{FabricError, Listed};
use crate::plan::{AddressKey, Local, Remote};

/// The interfaces of a fabric: one for each address of a network. Pure.
#[derive(Debug)]
pub struct Book {
    limit: usize,
    interfaces: BTreeMap<AddressKey, Known>,
}

#[derive(Debug, PartialEq, Eq)]
enum Known {
    Local(Local),
    Remote(Remote),
}

impl Book {
    /// One with room for so many.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, interfaces: BTreeMap::new() }
    }

    /// Notes one on this node.
    ///
    /// # Errors
    /// The address is another one already, or there are too many.
    pub fn add_local(&mut self, interface: &Local) -> Result<(), FabricError> {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.add(key, Known::Local(interface.clone()))
    }

    /// Notes one on another node.
    ///
    /// # Errors
    /// The address is another one already, or there are too many.
    pub fn add_remote(&mut self, interface: &Remote) -> Result<(), FabricError> {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.add(key, Known::Remote(interface.clone()))
    }

    /// Forgets one on this node. Whether it was there.
    pub fn remove_local(&mut self, interface: &Local) -> bool {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.remove(&key, &Known::Local(interface.clone()))
    }

    /// Forgets one on another node. Whether it was there.
    pub fn remove_remote(&mut self, interface: &Remote) -> bool {
        let key = AddressKey { vni: interface.vni, address: interface.address };
        self.remove(&key, &Known::Remote(interface.clone()))
    }

    /// All of them, by network and address.
    #[must_use]
    pub fn listed(&self) -> Listed {
        let mut listed = Listed::default();
        for known in self.interfaces.values() {
            match known {
                Known::Local(local) => listed.locals.push(local.clone()),
                Known::Remote(remote) => listed.remotes.push(remote.clone()),
            }
        }
        listed
    }

    fn add(&mut self, key: AddressKey, interface: Known) -> Result<(), FabricError> {
        if let Some(there) = self.interfaces.get(&key) {
            let by = match there {
                Known::Local(local) => format!("the interface {}", local.name),
                Known::Remote(remote) => format!("an interface on {}", remote.host),
            };
            return Err(FabricError::Taken { vni: key.vni, address: key.address, by });
        }
        if self.interfaces.len() >= self.limit {
            return Err(FabricError::Full { limit: self.limit });
        }
        self.interfaces.insert(key, interface);
        Ok(())
    }

    fn remove(&mut self, key: &AddressKey, interface: &Known) -> bool {
        let is_there = self.interfaces.get(key) == Some(interface);
        if is_there {
            self.interfaces.remove(key);
        }
        is_there
    }
}
