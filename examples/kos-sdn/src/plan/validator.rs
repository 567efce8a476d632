//! Subnet validation without the guard: at most one of several conflicting subnets is validated,
//! with any number of validators.
//!
//! The argument: a subnet is examined after its creation, against a live list. Of two conflicting
//! subnets, the list for the later one contains the earlier one. A cache would not do: two
//! validators may see two subnets in opposite orders and validate both.
//!
//! Two conflicting subnets created at the same time usually both fail until one is deleted. "Oldest
//! wins" is impossible here: nothing in two Kubernetes objects states the order of their commits.
//! The guard of our server has that order.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Subnet, SubnetStatus, Vni, overlap, validate_subnet};

/// Namespace and name of a subnet.
type NamespacedName = (String, String);

/// The memory of one validator: conflicts between subnets, so that a deletion triggers examination
/// of the subnets it blocked.
///
/// It drops entries without conflicts, so it never exceeds the number of existing subnets.
#[derive(Clone, Debug, Default)]
pub struct SubnetValidator {
    seen: BTreeMap<NamespacedName, SeenSubnet>,
    /// For each subnet that failed, the subnets that block it.
    blocked_by: BTreeMap<NamespacedName, BTreeSet<NamespacedName>>,
}

/// A subnet under examination or examined.
#[derive(Clone, Debug)]
struct SeenSubnet {
    uid: String,
    /// The subnets that it blocks.
    blocks: BTreeSet<NamespacedName>,
}

/// The result of beginning with a subnet.
#[derive(Clone, Debug, PartialEq)]
pub struct BeginOutcome {
    /// Subnets to examine again: the subnet that blocked them was deleted.
    pub wake: Vec<(String, String)>,
    /// The next step for the subnet itself.
    pub examine: Examination,
}

/// The examination that a subnet needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Examination {
    /// None: it is deleted, validated or already reported invalid.
    Skip,
    /// List the subnets of this network live, then judge.
    List(Vni),
    /// Write this status, with the version that was read as precondition: the subnet is invalid by
    /// itself.
    Write(SubnetStatus),
}

/// The result of judging a subnet.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A conflicting subnet has not begun examination, so its deletion would not trigger this one.
    /// Retry after a short delay.
    Early {
        /// The conflicting subnet.
        rival: (String, String),
    },
    /// The status is up to date.
    Unchanged,
    /// Write this status, with the version that was read as precondition.
    Write(SubnetStatus),
}

impl SubnetValidator {
    /// Creates a validator without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins examination of a subnet, or records its deletion.
    pub fn begin(&mut self, key: &(String, String), found: Option<&Subnet>) -> BeginOutcome {
        let uid = found.map(uid_of);
        let mut wake = BTreeSet::new();
        if self.seen.get(key).map(|seen| seen.uid.as_str()) != uid {
            if let Some(former) = self.seen.remove(key) {
                wake = former.blocks;
                wake.remove(key);
            }
            self.forget(key);
        }
        if let Some(subnet) = found {
            let seen = || SeenSubnet { uid: uid_of(subnet).to_owned(), blocks: BTreeSet::new() };
            self.seen.entry(key.clone()).or_insert_with(seen);
        }
        BeginOutcome {
            wake: wake.into_iter().collect(),
            examine: found.map_or(Examination::Skip, examination),
        }
    }

    /// Judges a subnet by a live list of its network, taken after [`Self::begin`].
    pub fn judge(&mut self, subnet: &Subnet, listed: &[Subnet]) -> Verdict {
        let key = key_of(subnet);
        let others = listed.iter().filter(|other| uid_of(other) != uid_of(subnet));
        let found: Vec<(NamespacedName, Vec<String>)> = others
            .map(|other| (key_of(other), conflicts(subnet, other)))
            .filter(|(_, conflicts)| !conflicts.is_empty())
            .collect();
        let begun =
            |other: &&Subnet| self.seen.get(&key_of(other)).is_some_and(|seen| seen.uid == uid_of(other));
        let in_the_way = listed.iter().filter(|other| found.iter().any(|(key, _)| *key == key_of(other)));
        if let Some(early) =
            in_the_way.filter(|other| uid_of(other) != uid_of(subnet)).find(|other| !begun(other))
        {
            return Verdict::Early { rival: key_of(early) };
        }
        self.forget(&key);
        for (rival, _) in &found {
            if let Some(seen) = self.seen.get_mut(rival) {
                seen.blocks.insert(key.clone());
            }
            self.blocked_by.entry(key.clone()).or_default().insert(rival.clone());
        }
        let mut errors: Vec<String> = found.into_iter().flat_map(|(_, conflicts)| conflicts).collect();
        errors.sort();
        let conditions = subnet.status.conditions.clone();
        let status = SubnetStatus { validated: errors.is_empty(), errors, conditions };
        if status == subnet.status { Verdict::Unchanged } else { Verdict::Write(status) }
    }

    /// Returns the number of subnets and of conflicts in memory.
    #[must_use]
    pub fn remembered(&self) -> (usize, usize) {
        (self.seen.len(), self.seen.values().map(|seen| seen.blocks.len()).sum())
    }

    /// Drops the conflicts of a subnet.
    fn forget(&mut self, key: &NamespacedName) {
        for rival in self.blocked_by.remove(key).into_iter().flatten() {
            if let Some(seen) = self.seen.get_mut(&rival) {
                seen.blocks.remove(key);
            }
        }
    }
}

/// A validated subnet stays validated. Without our server, nothing else rejects invalid subnets.
fn examination(subnet: &Subnet) -> Examination {
    let status = SubnetStatus {
        validated: false,
        errors: validate_subnet(subnet, None).into_iter().map(|wrong| wrong.to_string()).collect(),
        conditions: subnet.status.conditions.clone(),
    };
    match (Vni::new(subnet.spec.vni), status.errors.is_empty()) {
        _ if subnet.status.validated => Examination::Skip,
        (Ok(vni), true) => Examination::List(vni),
        _ if subnet.status == status => Examination::Skip,
        _ => Examination::Write(status),
    }
}

/// Returns the conflicts of a subnet with another.
#[must_use]
pub fn conflicts(subnet: &Subnet, other: &Subnet) -> Vec<String> {
    let (namespace, name) = key_of(other);
    let mut found = Vec::new();
    if subnet.spec.vni != other.spec.vni {
        return found;
    }
    if overlap(subnet, other) {
        found.push(format!("CIDR overlaps with {namespace}/{name}'s ({})", other.spec.ipv4));
    }
    if subnet.metadata.namespace != other.metadata.namespace {
        found.push(format!("same VNI but different namespace wrt {namespace}/{name}"));
    }
    found
}

fn uid_of(subnet: &Subnet) -> &str {
    subnet.metadata.uid.as_deref().unwrap_or_default()
}

fn key_of(subnet: &Subnet) -> NamespacedName {
    let metadata = &subnet.metadata;
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests;
