//! What must hold of the objects at every moment, and of the nodes when all has come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use machinery::controllers::name_of_key;
use machinery::objects::{Object as _, ObjectKey};

use super::{AddressKey, Interface, Local, Remote, conflicts, wanted_here};
use crate::drive::Listed;
use crate::model::{IPLock, NetworkAttachment, Subnet, Vni};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// Two attachments had one address of a network.
    #[error("{one} and {other} had {address} of network {vni} at once")]
    Shared {
        /// The network.
        vni: Vni,
        /// The address.
        address: Ipv4Addr,
        /// Who had it first.
        one: ObjectKey,
        /// Who had it then, too.
        other: ObjectKey,
    },
    /// Two subnets counted that were in each other's way.
    #[error("{one} and {other} are in each other's way, and counted at once")]
    Overlap {
        /// Which counted first.
        one: ObjectKey,
        /// Which counted then, too.
        other: ObjectKey,
    },
    /// A node had what it never had any business with.
    #[error("{node} had {what}, and never was to")]
    Stray {
        /// Which node.
        node: String,
        /// What it had.
        what: String,
    },
    /// When all was at rest, something was not as it should be.
    #[error("at rest {0}")]
    AtRest(String),
    /// Something may have been missed.
    #[error("nothing was told for a while: {0}")]
    Blind(String),
}

/// A node as it is: what it is called, where it is, what it has.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub node: String,
    /// Its address in the network below.
    pub host: Ipv4Addr,
    /// Its interfaces.
    pub has: Listed,
}

/// All changes, each held against what was there. It remembers what ever was, so it is for tests.
#[derive(Debug, Default)]
pub struct Changes {
    places: BTreeMap<ObjectKey, AddressKey>,
    having: BTreeMap<AddressKey, ObjectKey>,
    counting: BTreeMap<ObjectKey, Subnet>,
    /// Which node was to have which interface, at any time.
    locals: BTreeSet<(String, AddressKey)>,
    /// Which network mattered to which node, at any time.
    networks: BTreeSet<(String, Vni)>,
    /// Where each address was, at any time.
    hosts: BTreeSet<(AddressKey, Ipv4Addr)>,
}

impl Changes {
    /// An attachment is this now, or is there no more.
    pub fn attachment(&mut self, key: &ObjectKey, now: Option<&NetworkAttachment>) -> Option<Finding> {
        if let Some(before) = self.places.remove(key)
            && self.having.get(&before) == Some(key)
        {
            self.having.remove(&before);
        }
        let now = now?;
        let place = place_of(now)?;
        if let Some(Interface::Local(_)) = wanted_here(now) {
            self.locals.insert((now.spec.node.clone(), place));
            self.networks.insert((now.spec.node.clone(), place.vni));
        }
        if let Ok(host) = now.status.host_ip.parse() {
            self.hosts.insert((place, host));
        }
        self.places.insert(key.clone(), place);
        let one = self.having.insert(place, key.clone())?;
        Some(Finding::Shared { vni: place.vni, address: place.address, one, other: key.clone() })
    }

    /// Whether it has heard of all that attachments have now, and of all subnets that count.
    #[must_use]
    pub fn has_heard_of(&self, attachments: &[Arc<NetworkAttachment>], subnets: &[Arc<Subnet>]) -> bool {
        let now = attachments.iter().filter_map(|one| Some((one.key(), place_of(one)?)));
        let counting = subnets.iter().filter(|subnet| subnet.status.validated);
        now.collect::<BTreeMap<_, _>>() == self.places
            && counting.map(|subnet| (subnet.key(), &subnet.spec)).collect::<BTreeMap<_, _>>()
                == self.counting.iter().map(|(key, subnet)| (key.clone(), &subnet.spec)).collect()
    }

    /// A subnet is this now, or is there no more.
    pub fn subnet(&mut self, key: &ObjectKey, now: Option<&Subnet>) -> Option<Finding> {
        self.counting.remove(key);
        let now = now.filter(|now| now.status.validated)?;
        let in_the_way = self.counting.iter().find(|(_, other)| !conflicts(now, other).is_empty());
        let one = in_the_way.map(|(one, _)| one.clone());
        self.counting.insert(key.clone(), now.clone());
        Some(Finding::Overlap { one: one?, other: key.clone() })
    }

    /// A node has this now.
    #[must_use]
    pub fn node(&self, seen: &Seen) -> Vec<Finding> {
        let node = || seen.node.clone();
        let local = |local: &&Local| !self.locals.contains(&(node(), of_local(local)));
        let locals = seen.has.locals.iter().filter(local).map(|local| format!("{local:?}"));
        let remote = |remote: &&Remote| {
            !self.networks.contains(&(node(), remote.vni))
                || !self.hosts.contains(&(of_remote(remote), remote.host))
        };
        let remotes = seen.has.remotes.iter().filter(remote).map(|remote| format!("{remote:?}"));
        locals.chain(remotes).map(|what| Finding::Stray { node: node(), what }).collect()
    }
}

/// What is wrong, if nothing is under way any more: with locks, and with nodes.
#[must_use]
pub fn at_rest(
    attachments: &[Arc<NetworkAttachment>],
    locks: &[Arc<IPLock>],
    nodes: &[Seen],
) -> Vec<Finding> {
    let mut wrong = of_locks(attachments, locks);
    let nodes: Vec<_> = nodes.iter().map(|seen| (seen, wanted_at(seen, attachments))).collect();
    for (seen, (locals, remotes)) in nodes {
        let node = &seen.node;
        let has: BTreeSet<_> = seen.has.locals.iter().map(of_local).collect();
        wrong.extend(has.symmetric_difference(&locals).map(|place| {
            let what = if has.contains(place) { "has, and should not have," } else { "has not" };
            format!("{node} {what} the interface of {place:?}")
        }));
        let has: BTreeSet<_> =
            seen.has.remotes.iter().map(|remote| (of_remote(remote), remote.host)).collect();
        wrong.extend(has.symmetric_difference(&remotes).map(|way| {
            let what = if has.contains(way) { "has, and should not have," } else { "has not" };
            format!("{node} {what} the way to {way:?}")
        }));
    }
    wrong.into_iter().map(Finding::AtRest).collect()
}

/// Each address that is told of is locked, by that lock; and no living owner has a lock besides. One who waits without an address may keep one.
fn of_locks(attachments: &[Arc<NetworkAttachment>], locks: &[Arc<IPLock>]) -> Vec<String> {
    let by_uid: BTreeMap<_, _> =
        attachments.iter().map(|one| (one.metadata.uid.as_deref().unwrap_or_default(), one)).collect();
    let mut wrong = Vec::new();
    let mut told = BTreeSet::new();
    for lock in locks {
        let name = lock.metadata.name.as_deref().unwrap_or_default();
        let owner = lock.metadata.owner_references.iter().flatten().next();
        let Some(owner) = owner.and_then(|owner| by_uid.get(&*owner.uid)) else {
            wrong.push(format!("the lock {name} is nobody's"));
            continue;
        };
        let status = &owner.status;
        let is_told = lock.metadata.uid.as_deref() == Some(&*status.lock_uid);
        let is_so = place_of(owner).is_some_and(|place| name_of_key(&place).is_ok_and(|key| key == name));
        match (is_told, is_so) {
            (true, true) => drop(told.insert(owner.key())),
            (false, _) if status.lock_uid.is_empty() => {}
            _ => wrong.push(format!("the lock {name} is of {}, which tells of another", owner.key())),
        }
    }
    let having = attachments.iter().filter(|one| place_of(one).is_some() && !told.contains(&one.key()));
    wrong.extend(having.map(|one| format!("{} has an address without a lock", one.key())));
    wrong
}

/// The interfaces that a node should have, and the ways to others.
fn wanted_at(
    seen: &Seen,
    attachments: &[Arc<NetworkAttachment>],
) -> (BTreeSet<AddressKey>, BTreeSet<(AddressKey, Ipv4Addr)>) {
    let here = attachments.iter().filter(|one| one.spec.node == seen.node && wanted_here(one).is_some());
    let locals: BTreeSet<AddressKey> = here.filter_map(|one| place_of(one)).collect();
    let networks: BTreeSet<Vni> = locals.iter().map(|place| place.vni).collect();
    let elsewhere = attachments.iter().filter(|one| one.spec.node != seen.node);
    let remotes = elsewhere.filter_map(|one| Some((place_of(one)?, one.status.host_ip.parse().ok()?)));
    (locals, remotes.filter(|(place, _)| networks.contains(&place.vni)).collect())
}

/// The address that an attachment has, and in which network.
#[must_use]
pub fn place_of(attachment: &NetworkAttachment) -> Option<AddressKey> {
    let status = &attachment.status;
    let (vni, address) = (Vni::new(status.address_vni).ok()?, status.ipv4.parse().ok()?);
    Some(AddressKey { vni, address })
}

const fn of_local(local: &Local) -> AddressKey {
    AddressKey { vni: local.vni, address: local.address }
}

const fn of_remote(remote: &Remote) -> AddressKey {
    AddressKey { vni: remote.vni, address: remote.address }
}

#[cfg(test)]
mod tests;
