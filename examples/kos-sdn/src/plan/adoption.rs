//! The interfaces that exist when an agent starts, until each is adopted or deleted. Pure.

use std::collections::BTreeMap;

use super::{AddressKey, Interface};
use crate::drive::{BrokenInterface, InterfaceList};
use crate::model::Vni;

/// Interfaces that the fabric listed at start, and that no attachment has claimed yet.
#[derive(Clone, Debug, Default)]
pub struct UnclaimedInterfaces(BTreeMap<AddressKey, UnclaimedInterface>);

#[derive(Clone, Debug)]
struct UnclaimedInterface {
    interface: Interface,
    is_broken: bool,
    /// Failed deletions, and the text of the last one.
    failures: u32,
    reason: String,
}

/// The result of a claim for a desired interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptionClaim {
    /// The interface exists: no call is needed.
    Adopted,
    /// The interface exists and is broken: creating it again repairs it.
    Broken,
    /// Another interface has the address, and has to be deleted first.
    Blocked(Interface),
    /// Nothing has the address.
    Vacant,
}

/// The peers of a network, as far as the agent knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKnowledge {
    /// No attachment of the node is in the network: it has no remote interfaces.
    Unneeded,
    /// The peers are not known yet: remote interfaces stay as they are.
    Pending,
    /// All peers are known.
    Complete,
}

impl UnclaimedInterfaces {
    /// Returns the interfaces of a list.
    #[must_use]
    pub fn new(listed: InterfaceList) -> Self {
        let InterfaceList { locals, remotes, broken } = listed;
        let whole =
            locals.into_iter().map(Interface::Local).chain(remotes.into_iter().map(Interface::Remote));
        let whole = whole.map(|interface| (interface, false));
        let broken = broken.into_iter().map(|BrokenInterface { interface, .. }| (interface, true));
        let entry = |(interface, is_broken): (Interface, bool)| {
            let key = interface.key();
            (key, UnclaimedInterface { interface, is_broken, failures: 0, reason: String::new() })
        };
        Self(whole.chain(broken).map(entry).collect())
    }

    /// Returns the number of interfaces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if all interfaces are claimed or deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Claims a desired interface. An existing one is no longer unclaimed; a blocking one stays
    /// until [`remove`](Self::remove).
    pub fn claim(&mut self, desired: &Interface) -> AdoptionClaim {
        let key = desired.key();
        let claim = match self.0.get(&key) {
            None => AdoptionClaim::Vacant,
            Some(found) if found.interface != *desired => AdoptionClaim::Blocked(found.interface.clone()),
            Some(found) if found.is_broken => AdoptionClaim::Broken,
            Some(_) => AdoptionClaim::Adopted,
        };
        if claim == AdoptionClaim::Adopted || claim == AdoptionClaim::Broken {
            self.0.remove(&key);
        }
        claim
    }

    /// Removes an interface that was deleted. Returns false if it was claimed meanwhile.
    pub fn remove(&mut self, interface: &Interface) -> bool {
        let key = interface.key();
        let is_there = self.0.get(&key).is_some_and(|found| found.interface == *interface);
        if is_there {
            self.0.remove(&key);
        }
        is_there
    }

    /// Returns true if the interface is still unclaimed.
    #[must_use]
    pub fn contains(&self, interface: &Interface) -> bool {
        self.0.get(&interface.key()).is_some_and(|found| found.interface == *interface)
    }

    /// Records a failed deletion. Returns true if its reason is new.
    pub fn failed(&mut self, interface: &Interface, reason: String) -> bool {
        let Some(found) = self.0.get_mut(&interface.key()) else { return false };
        let is_new = found.reason != reason;
        (found.failures, found.reason) = (found.failures.saturating_add(1), reason);
        is_new
    }

    /// Returns the interfaces without an owner, each with its number of failed deletions.
    /// `is_desired` looks for the attachment of an interface in the caches.
    pub fn orphans(
        &self,
        is_desired: impl Fn(&Interface) -> bool,
        peers_of: impl Fn(Vni) -> PeerKnowledge,
    ) -> Vec<(Interface, u32)> {
        let is_orphan = |found: &&UnclaimedInterface| match &found.interface {
            Interface::Local(_) => !is_desired(&found.interface),
            Interface::Remote(remote) => match peers_of(remote.vni) {
                PeerKnowledge::Unneeded => true,
                PeerKnowledge::Pending => false,
                PeerKnowledge::Complete => !is_desired(&found.interface),
            },
        };
        let orphans = self.0.values().filter(is_orphan);
        orphans.map(|found| (found.interface.clone(), found.failures)).collect()
    }
}

#[cfg(test)]
mod tests;
