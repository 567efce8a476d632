//! The owner graph of the garbage collector, which decides the next action on an object. Pure:
//! reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::Revision;
use machinery_store::{Entry, Key};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::request::Propagation;
use crate::storage::Stored;

/// The finalizer of foreground deletion: blocks until the dependents are deleted.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of orphaning: blocks until the dependents are released.
const ORPHAN: &str = "orphan";

/// Objects and their owner references at one revision.
#[derive(Default)]
pub(super) struct Family {
    members: BTreeMap<Key, Member>,
    by_uid: BTreeMap<String, Key>,
    /// By the owner's UID.
    owned: BTreeMap<String, BTreeSet<Key>>,
    /// UIDs of deleted owners that still have dependents.
    gone: BTreeSet<String>,
}

struct Member {
    uid: String,
    namespace: String,
    revision: Revision,
    owners: Vec<Owner>,
    is_deleting: bool,
    waits: Option<Waits>,
}

/// The finalizer that an object in deletion waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// Until its dependents are deleted.
    Foreground,
    /// Until its dependents are released.
    Orphans,
}

pub(super) struct Owner {
    pub(super) uid: String,
    pub(super) version: String,
    group: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// `blockOwnerDeletion`: foreground deletion of the owner waits for this dependent.
    blocks: bool,
}

/// The next action on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Delete it.
    Delete(Option<Propagation>),
    /// Remove these owner references.
    Disown(Vec<String>),
    /// Clear `blockOwnerDeletion`: the object and one of its owners own each other in a cycle.
    Unblock,
    /// Remove this finalizer.
    Release(&'static str),
}

/// The state of an owner as seen by a dependent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It exists and is not waiting for dependents.
    Solid,
    /// It is in foreground deletion.
    Waiting,
    /// It is being deleted and orphans its dependents.
    Leaving,
    Absent,
    /// It is not known whether it exists.
    Unknown,
}

impl Family {
    /// Inserts a state. Returns the objects whose action may have changed.
    pub(super) fn put(&mut self, entry: &Entry) -> Vec<Key> {
        let Some(member) = Member::of(entry) else { return Vec::new() };
        let key = &entry.key;
        let waited = self.members.get(key).and_then(|before| before.waits);
        let mut concerned = self.forget(key, &member.uid);
        self.by_uid.insert(member.uid.clone(), key.clone());
        self.gone.remove(&member.uid);
        for owner in &member.owners {
            self.owned.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        if member.waits != waited {
            concerned.extend(self.owned.get(&member.uid).into_iter().flatten().cloned());
        }
        if member.waits.is_some() || !member.owners.is_empty() {
            concerned.push(key.clone());
        }
        self.members.insert(key.clone(), member);
        concerned
    }

    /// Removes an object. Returns the objects whose action may have changed.
    pub(super) fn delete(&mut self, key: &Key) -> Vec<Key> {
        self.forget(key, "")
    }

    /// Returns all objects with owners or in deletion.
    pub(super) fn concerned(&self) -> Vec<Key> {
        let may = |member: &Member| member.waits.is_some() || !member.owners.is_empty();
        self.members.iter().filter(|(_, member)| may(member)).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the revision of an object.
    pub(super) fn revision(&self, key: &Key) -> Option<Revision> {
        self.members.get(key).map(|member| member.revision)
    }

    /// Returns the next action on an object. `namespaced` returns whether a kind, by group and
    /// name, is namespaced, or none for an unknown kind.
    pub(super) fn due(&self, key: &Key, namespaced: impl Fn(&str, &str) -> Option<bool>) -> Option<Due> {
        let member = self.members.get(key)?;
        self.due_as_owned(member, namespaced).or_else(|| self.due_as_owner(key, member))
    }

    /// Returns the owner references that can never hold: to another namespace, or from a
    /// cluster-scoped object to a namespaced one.
    pub(super) fn misplaced(
        &self,
        key: &Key,
        namespaced: impl Fn(&str, &str) -> Option<bool>,
    ) -> Vec<&Owner> {
        let Some(member) = self.members.get(key) else { return Vec::new() };
        let elsewhere =
            |owner: &&Owner| match self.by_uid.get(&owner.uid).and_then(|key| self.members.get(key)) {
                Some(known) => !known.can_own(member),
                None => member.namespace.is_empty() && namespaced(&owner.group, &owner.kind) == Some(true),
            };
        member.owners.iter().filter(elsewhere).collect()
    }

    /// Returns the UID and namespace of an object.
    pub(super) fn place(&self, key: &Key) -> Option<(&str, &str)> {
        self.members.get(key).map(|member| (member.uid.as_str(), member.namespace.as_str()))
    }

    fn due_as_owned(&self, member: &Member, namespaced: impl Fn(&str, &str) -> Option<bool>) -> Option<Due> {
        let standing = |owner| self.standing(owner, member, &namespaced);
        let standings: Vec<(&Owner, Standing)> =
            member.owners.iter().map(|owner| (owner, standing(owner))).collect();
        let has = |wanted| standings.iter().any(|(_, standing)| *standing == wanted);
        let disown = |which: &[Standing]| {
            let of = standings.iter().filter(|(_, standing)| which.contains(standing));
            Some(Due::Disown(of.map(|(owner, _)| owner.uid.clone()).collect()))
        };
        if has(Standing::Leaving) {
            return disown(&[Standing::Leaving]);
        }
        if member.is_deleting || standings.is_empty() || has(Standing::Unknown) {
            return None;
        }
        if has(Standing::Solid) {
            let which = [Standing::Absent, Standing::Waiting];
            return which.into_iter().any(has).then(|| disown(&which))?;
        }
        let owned = self.owned.get(&member.uid);
        if !has(Standing::Waiting) || owned.is_none() {
            return Some(Due::Delete(None));
        }
        // In foreground deletion the dependents of a dependent block it, except in a cycle.
        let mut owned = owned.into_iter().flatten().filter_map(|key| self.members.get(key));
        let circle = owned.any(|owned| owned.waits == Some(Waits::Foreground));
        let blocks = member.owners.iter().any(|owner| owner.blocks);
        Some(if circle && blocks { Due::Unblock } else { Due::Delete(Some(Propagation::Foreground)) })
    }

    fn due_as_owner(&self, key: &Key, member: &Member) -> Option<Due> {
        let waits = member.waits?;
        let holds = |owned: &Member| {
            let mut of = owned.owners.iter().filter(|owner| owner.uid == member.uid);
            member.can_own(owned) && of.any(|owner| owner.blocks || waits == Waits::Orphans)
        };
        let mut owned = self.owned.get(&member.uid).into_iter().flatten().filter(|owned| *owned != key);
        if owned.any(|owned| self.members.get(owned).is_some_and(holds)) {
            return None;
        }
        Some(Due::Release(match waits {
            Waits::Foreground => FOREGROUND,
            Waits::Orphans => ORPHAN,
        }))
    }

    fn standing(
        &self,
        owner: &Owner,
        of: &Member,
        namespaced: &impl Fn(&str, &str) -> Option<bool>,
    ) -> Standing {
        let known = self.by_uid.get(&owner.uid).and_then(|key| self.members.get(key));
        if let Some(known) = known.filter(|known| known.can_own(of)) {
            return match known.waits {
                None => Standing::Solid,
                Some(Waits::Foreground) => Standing::Waiting,
                Some(Waits::Orphans) => Standing::Leaving,
            };
        }
        // A cluster-scoped object cannot name the namespace of its owner.
        let says_where = |namespaced: bool| !(namespaced && of.namespace.is_empty());
        match namespaced(&owner.group, &owner.kind) {
            Some(namespaced) if says_where(namespaced) => Standing::Absent,
            None if self.gone.contains(&owner.uid) => Standing::Absent,
            _ => Standing::Unknown,
        }
    }

    /// Removes the object of a key, unless it has this UID.
    fn forget(&mut self, key: &Key, uid: &str) -> Vec<Key> {
        let Some(member) = self.members.remove(key) else { return Vec::new() };
        let mut concerned = Vec::new();
        for owner in &member.owners {
            if let Some(owned) = self.owned.get_mut(&owner.uid) {
                owned.remove(key);
                if owned.is_empty() {
                    self.owned.remove(&owner.uid);
                    self.gone.remove(&owner.uid);
                }
            }
            let owner = self.by_uid.get(&owner.uid);
            let waits = |owner: &&Key| self.members.get(*owner).is_some_and(|owner| owner.waits.is_some());
            concerned.extend(owner.filter(waits).cloned());
        }
        if member.uid != uid {
            self.by_uid.remove(&member.uid);
            if let Some(owned) = self.owned.get(&member.uid) {
                concerned.extend(owned.iter().cloned());
                self.gone.insert(member.uid);
            }
        }
        concerned
    }
}

impl Member {
    fn of(entry: &Entry) -> Option<Self> {
        let stored = Stored::of(&entry.value).ok()?;
        let Head { metadata } = serde_json::from_slice(stored.json()).ok()?;
        let is_deleting = metadata.deletion_timestamp.is_some();
        let has = |finalizer: &str| metadata.finalizers.iter().any(|one| one == finalizer);
        let waits = match is_deleting {
            true if has(ORPHAN) => Some(Waits::Orphans),
            true if has(FOREGROUND) => Some(Waits::Foreground),
            _ => None,
        };
        let owners = metadata.owner_references.into_iter().map(Owner::of).collect();
        let (uid, namespace) = (metadata.uid, metadata.namespace);
        Some(Self { uid, namespace, revision: entry.modified, owners, is_deleting, waits })
    }

    /// Owners are cluster-scoped or in the same namespace.
    fn can_own(&self, other: &Self) -> bool {
        self.namespace.is_empty() || self.namespace == other.namespace
    }
}

impl Owner {
    fn of(reference: Reference) -> Self {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
        let blocks = reference.block_owner_deletion == Some(true);
        let Reference { uid, api_version: version, kind, name, .. } = reference;
        Self { uid, version, group, kind, name, blocks }
    }
}

/// The metadata that the garbage collector reads.
#[derive(Deserialize)]
struct Head {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    owner_references: Vec<Reference>,
    #[serde(default)]
    finalizers: Vec<String>,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    block_owner_deletion: Option<bool>,
}

#[cfg(test)]
mod tests;
