//! The invariants of KOS: of the objects at every revision, and of the nodes after convergence.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use machinery::controllers::name_of_key;
use machinery::objects::{Object as _, ObjectKey};

use super::{AddressKey, Interface, LocalInterface, RemoteInterface, conflicts, desired_local};
use crate::drive::InterfaceList;
use crate::model::{IPLock, NetworkAttachment, Subnet, Vni};

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Two attachments had the same address of a network at the same time.
    #[error("{one} and {other} had {address} of network {vni} at once")]
    Shared {
        /// VNI of the network.
        vni: Vni,
        /// The address.
        address: Ipv4Addr,
        /// The first holder.
        one: ObjectKey,
        /// The second holder.
        other: ObjectKey,
    },
    /// Two conflicting subnets were validated at the same time.
    #[error("{one} and {other} conflict, and were validated at once")]
    Overlap {
        /// The subnet validated first.
        one: ObjectKey,
        /// The subnet validated second.
        other: ObjectKey,
    },
    /// A node had an interface that no revision of the objects assigns to it.
    #[error("{node} had {what}, which was never desired")]
    Unexpected {
        /// The node.
        node: String,
        /// The interface.
        what: String,
    },
    /// After convergence, actual and desired state differ.
    #[error("not converged: {0}")]
    NotConverged(String),
}

/// The interfaces of one node.
#[derive(Clone, Debug)]
pub struct NodeInterfaces {
    /// Name of the node.
    pub node: String,
    /// Underlay address of the node.
    pub host: Ipv4Addr,
    /// Interfaces of the node.
    pub interfaces: InterfaceList,
}

/// Checks each change of the objects against the state before it. Memory grows with history: for
/// tests.
#[derive(Debug, Default)]
pub struct Invariants {
    addresses: BTreeMap<ObjectKey, AddressKey>,
    holders: BTreeMap<AddressKey, ObjectKey>,
    validated: BTreeMap<ObjectKey, Subnet>,
    /// Every local interface that a node ever should have had.
    locals: BTreeSet<(String, AddressKey)>,
    /// Every network that a node ever had an attachment in.
    networks: BTreeSet<(String, Vni)>,
    /// Every node that ever reported an address.
    hosts: BTreeSet<(AddressKey, Ipv4Addr)>,
}

impl Invariants {
    /// Applies a change of an attachment, or its deletion.
    pub fn attachment(&mut self, key: &ObjectKey, now: Option<&NetworkAttachment>) -> Option<Violation> {
        if let Some(before) = self.addresses.remove(key)
            && self.holders.get(&before) == Some(key)
        {
            self.holders.remove(&before);
        }
        let now = now?;
        let place = address_key(now)?;
        if let Some(Interface::Local(_)) = desired_local(now) {
            self.locals.insert((now.spec.node.clone(), place));
            self.networks.insert((now.spec.node.clone(), place.vni));
        }
        if let Ok(host) = now.status.host_ip.parse() {
            self.hosts.insert((place, host));
        }
        self.addresses.insert(key.clone(), place);
        let one = self.holders.insert(place, key.clone())?;
        Some(Violation::Shared { vni: place.vni, address: place.address, one, other: key.clone() })
    }

    /// Applies a change of a subnet, or its deletion.
    pub fn subnet(&mut self, key: &ObjectKey, now: Option<&Subnet>) -> Option<Violation> {
        self.validated.remove(key);
        let now = now.filter(|now| now.status.validated)?;
        let conflicting = self.validated.iter().find(|(_, other)| !conflicts(now, other).is_empty());
        let one = conflicting.map(|(one, _)| one.clone());
        self.validated.insert(key.clone(), now.clone());
        Some(Violation::Overlap { one: one?, other: key.clone() })
    }

    /// Checks the interfaces of a node.
    #[must_use]
    pub fn node(&self, node: &NodeInterfaces) -> Vec<Violation> {
        let name = || node.node.clone();
        let local = |local: &&LocalInterface| !self.locals.contains(&(name(), of_local(local)));
        let locals = node.interfaces.locals.iter().filter(local).map(|local| format!("{local:?}"));
        let remote = |remote: &&RemoteInterface| {
            !self.networks.contains(&(name(), remote.vni))
                || !self.hosts.contains(&(of_remote(remote), remote.host))
        };
        let remotes = node.interfaces.remotes.iter().filter(remote).map(|remote| format!("{remote:?}"));
        locals.chain(remotes).map(|what| Violation::Unexpected { node: name(), what }).collect()
    }
}

/// Returns the violations, on locks and nodes, of a state that should have converged.
#[must_use]
pub fn converged_violations(
    attachments: &[Arc<NetworkAttachment>],
    locks: &[Arc<IPLock>],
    nodes: &[NodeInterfaces],
) -> Vec<Violation> {
    let mut wrong = lock_violations(attachments, locks);
    let nodes: Vec<_> = nodes.iter().map(|node| (node, desired_on(node, attachments))).collect();
    for (node, (locals, remotes)) in nodes {
        let name = &node.node;
        let actual: BTreeSet<_> = node.interfaces.locals.iter().map(of_local).collect();
        wrong.extend(actual.symmetric_difference(&locals).map(|place| {
            let what = if actual.contains(place) { "has an undesired" } else { "lacks the" };
            format!("{name} {what} interface of {place:?}")
        }));
        let actual: BTreeSet<_> =
            node.interfaces.remotes.iter().map(|remote| (of_remote(remote), remote.host)).collect();
        wrong.extend(actual.symmetric_difference(&remotes).map(|remote| {
            let what = if actual.contains(remote) { "has an undesired" } else { "lacks the" };
            format!("{name} {what} remote interface {remote:?}")
        }));
    }
    wrong.into_iter().map(Violation::NotConverged).collect()
}

/// Each address in a status has its lock, and no existing owner has another lock. An attachment
/// without an address may keep a lock.
fn lock_violations(attachments: &[Arc<NetworkAttachment>], locks: &[Arc<IPLock>]) -> Vec<String> {
    let by_uid: BTreeMap<_, _> =
        attachments.iter().map(|one| (one.metadata.uid.as_deref().unwrap_or_default(), one)).collect();
    let mut wrong = Vec::new();
    let mut locked = BTreeSet::new();
    for lock in locks {
        let name = lock.metadata.name.as_deref().unwrap_or_default();
        let owner = lock.metadata.owner_references.iter().flatten().next();
        let Some(owner) = owner.and_then(|owner| by_uid.get(&*owner.uid)) else {
            wrong.push(format!("the lock {name} has no owner"));
            continue;
        };
        let status = &owner.status;
        let is_in_status = lock.metadata.uid.as_deref() == Some(&*status.lock_uid);
        let is_its_address =
            address_key(owner).is_some_and(|place| name_of_key(&place).is_ok_and(|key| key == name));
        match (is_in_status, is_its_address) {
            (true, true) => drop(locked.insert(owner.key())),
            (false, _) if status.lock_uid.is_empty() => {}
            _ => wrong.push(format!("the lock {name} is owned by {}, whose status has another", owner.key())),
        }
    }
    let holders = attachments.iter().filter(|one| address_key(one).is_some() && !locked.contains(&one.key()));
    wrong.extend(holders.map(|one| format!("{} has an address without a lock", one.key())));
    wrong
}

/// Returns the interfaces that a node should have: local ones, and remote ones with their nodes.
fn desired_on(
    node: &NodeInterfaces,
    attachments: &[Arc<NetworkAttachment>],
) -> (BTreeSet<AddressKey>, BTreeSet<(AddressKey, Ipv4Addr)>) {
    let here = attachments.iter().filter(|one| one.spec.node == node.node && desired_local(one).is_some());
    let locals: BTreeSet<AddressKey> = here.filter_map(|one| address_key(one)).collect();
    let networks: BTreeSet<Vni> = locals.iter().map(|place| place.vni).collect();
    let elsewhere = attachments.iter().filter(|one| one.spec.node != node.node);
    let remotes = elsewhere.filter_map(|one| Some((address_key(one)?, one.status.host_ip.parse().ok()?)));
    (locals, remotes.filter(|(place, _)| networks.contains(&place.vni)).collect())
}

/// Returns the address of an attachment, and its network.
#[must_use]
pub fn address_key(attachment: &NetworkAttachment) -> Option<AddressKey> {
    let status = &attachment.status;
    let (vni, address) = (Vni::new(status.address_vni).ok()?, status.ipv4.parse().ok()?);
    Some(AddressKey { vni, address })
}

const fn of_local(local: &LocalInterface) -> AddressKey {
    AddressKey { vni: local.vni, address: local.address }
}

const fn of_remote(remote: &RemoteInterface) -> AddressKey {
    AddressKey { vni: remote.vni, address: remote.address }
}

#[cfg(test)]
mod tests;
