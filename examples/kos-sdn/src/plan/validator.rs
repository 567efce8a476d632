//! Which subnets count, where no guard keeps them apart: at most one of those in each other's way, with any number of validators.
//!
//! It rests on one thing: a subnet is examined after it is made, by a list of what is there now. Of two in each other's way the list of the
//! later one has the earlier one. A cache would not do: two validators may see two subnets in opposite orders, and bless both.
//!
//! Two that are made at once usually lose both, until one goes. That the older one wins cannot be had from here: nothing that Kubernetes
//! tells of two objects says in which order they were committed. The guard of our server has it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Subnet, SubnetStatus, Vni, overlap, validate_subnet};

/// Where a subnet is: its namespace and its name.
type Place = (String, String);

/// What one validator remembers: who is in whose way, so that they are looked at again when that goes.
///
/// It forgets whom nobody waits for, so it holds no more than the subnets that are there.
#[derive(Clone, Debug, Default)]
pub struct Validator {
    seen: BTreeMap<Place, Seen>,
    /// In whose way the subnets are that each was found against.
    against: BTreeMap<Place, BTreeSet<Place>>,
}

/// A subnet that was begun with.
#[derive(Clone, Debug)]
struct Seen {
    uid: String,
    /// Whom it was in the way of.
    rivals: BTreeSet<Place>,
}

/// What to do about a subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// These are to be looked at again: what was in their way is gone.
    pub wake: Vec<(String, String)>,
    /// What to do about the subnet itself.
    pub examine: Examine,
}

/// How a subnet is to be examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examine {
    /// Not at all: it is gone, or counts, or all is said.
    Not,
    /// The subnets of this network are to be listed, as they are now; then it is to be judged.
    List(Vni),
    /// It can never count, whatever others there are. Its status is to be this, if it is as it was read.
    Write(SubnetStatus),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// One in its way has not been begun with yet as it is now: nobody would wake this one when that goes. Try again a little later.
    Early {
        /// Which.
        rival: (String, String),
    },
    /// Its status says so already.
    Same,
    /// Its status is to be this, if it is as it was read.
    Write(SubnetStatus),
}

impl Validator {
    /// One that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins with what is at a place, or is there no more.
    pub fn begin(&mut self, place: &(String, String), found: Option<&Subnet>) -> Begin {
        let uid = found.map(uid_of);
        let mut wake = BTreeSet::new();
        if self.seen.get(place).map(|seen| seen.uid.as_str()) != uid {
            if let Some(former) = self.seen.remove(place) {
                wake = former.rivals;
                wake.remove(place);
            }
            self.forget(place);
        }
        if let Some(subnet) = found {
            let seen = || Seen { uid: uid_of(subnet).to_owned(), rivals: BTreeSet::new() };
            self.seen.entry(place.clone()).or_insert_with(seen);
        }
        Begin { wake: wake.into_iter().collect(), examine: found.map_or(Examine::Not, examined) }
    }

    /// Judges a subnet by a list of its network that was made after it was begun with.
    pub fn judge(&mut self, subnet: &Subnet, listed: &[Subnet]) -> Judged {
        let place = place_of(subnet);
        let others = listed.iter().filter(|other| uid_of(other) != uid_of(subnet));
        let found: Vec<(Place, Vec<String>)> = others
            .map(|other| (place_of(other), conflicts(subnet, other)))
            .filter(|(_, conflicts)| !conflicts.is_empty())
            .collect();
        let begun =
            |other: &&Subnet| self.seen.get(&place_of(other)).is_some_and(|seen| seen.uid == uid_of(other));
        let in_the_way =
            listed.iter().filter(|other| found.iter().any(|(place, _)| *place == place_of(other)));
        if let Some(early) =
            in_the_way.filter(|other| uid_of(other) != uid_of(subnet)).find(|other| !begun(other))
        {
            return Judged::Early { rival: place_of(early) };
        }
        self.forget(&place);
        for (rival, _) in &found {
            if let Some(seen) = self.seen.get_mut(rival) {
                seen.rivals.insert(place.clone());
            }
            self.against.entry(place.clone()).or_default().insert(rival.clone());
        }
        let mut errors: Vec<String> = found.into_iter().flat_map(|(_, conflicts)| conflicts).collect();
        errors.sort();
        let status = SubnetStatus { validated: errors.is_empty(), errors };
        if status == subnet.status { Judged::Same } else { Judged::Write(status) }
    }

    /// How many it remembers of: subnets, and subnets in the way of others.
    #[must_use]
    pub fn remembered(&self) -> (usize, usize) {
        (self.seen.len(), self.seen.values().map(|seen| seen.rivals.len()).sum())
    }

    /// Nobody is in its way, as far as one knows.
    fn forget(&mut self, place: &Place) {
        for rival in self.against.remove(place).into_iter().flatten() {
            if let Some(seen) = self.seen.get_mut(&rival) {
                seen.rivals.remove(place);
            }
        }
    }
}

/// What counts goes on counting. Where nobody refuses what is wrong by itself, it is said here.
fn examined(subnet: &Subnet) -> Examine {
    let status = SubnetStatus {
        validated: false,
        errors: validate_subnet(subnet, None).into_iter().map(|wrong| wrong.to_string()).collect(),
    };
    match (Vni::new(subnet.spec.vni), status.errors.is_empty()) {
        _ if subnet.status.validated => Examine::Not,
        (Ok(vni), true) => Examine::List(vni),
        _ if subnet.status == status => Examine::Not,
        _ => Examine::Write(status),
    }
}

/// What one subnet has against another.
#[must_use]
pub fn conflicts(subnet: &Subnet, other: &Subnet) -> Vec<String> {
    let (namespace, name) = place_of(other);
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

fn place_of(subnet: &Subnet) -> Place {
    let metadata = &subnet.metadata;
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests;
