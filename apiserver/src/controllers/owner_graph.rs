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
pub(super) struct OwnerGraph {
    nodes: BTreeMap<Key, GraphNode>,
    by_uid: BTreeMap<String, Key>,
    /// By the owner's UID.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// UIDs of deleted owners that still have dependents.
    deleted_owners: BTreeSet<String>,
}

struct GraphNode {
    uid: String,
    namespace: String,
    revision: Revision,
    owners: Vec<Owner>,
    is_deleting: bool,
    waits: Option<DeletionWait>,
}

/// The finalizer that an object in deletion waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeletionWait {
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
pub(super) enum DueAction {
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
enum OwnerState {
    /// It exists and is not waiting for dependents.
    Present,
    /// It is in foreground deletion.
    Waiting,
    /// It is being deleted and orphans its dependents.
    Orphaning,
    Absent,
    /// Its existence cannot be determined: its kind is not served, or it is namespaced and the
    /// dependent is cluster-scoped.
    Unknown,
}

impl OwnerGraph {
    /// Inserts a state. Returns the objects that may need another action.
    pub(super) fn put(&mut self, entry: &Entry) -> Vec<Key> {
        let Some(node) = GraphNode::of(entry) else { return Vec::new() };
        let key = &entry.key;
        let waited = self.nodes.get(key).and_then(|before| before.waits);
        let mut candidates = self.remove_node(key, &node.uid);
        self.by_uid.insert(node.uid.clone(), key.clone());
        self.deleted_owners.remove(&node.uid);
        for owner in &node.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        if node.waits != waited {
            candidates.extend(self.dependents.get(&node.uid).into_iter().flatten().cloned());
        }
        if node.waits.is_some() || !node.owners.is_empty() {
            candidates.push(key.clone());
        }
        self.nodes.insert(key.clone(), node);
        candidates
    }

    /// Removes an object. Returns the objects that may need another action.
    pub(super) fn delete(&mut self, key: &Key) -> Vec<Key> {
        self.remove_node(key, "")
    }

    /// Returns all objects with owners or in deletion.
    pub(super) fn candidates(&self) -> Vec<Key> {
        let may = |node: &GraphNode| node.waits.is_some() || !node.owners.is_empty();
        self.nodes.iter().filter(|(_, node)| may(node)).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the revision of an object.
    pub(super) fn revision(&self, key: &Key) -> Option<Revision> {
        self.nodes.get(key).map(|node| node.revision)
    }

    /// Returns the next action on an object. `namespaced` returns whether a kind, by group and
    /// name, is namespaced, or none for an unknown kind.
    pub(super) fn next_action(
        &self,
        key: &Key,
        namespaced: impl Fn(&str, &str) -> Option<bool>,
    ) -> Option<DueAction> {
        let node = self.nodes.get(key)?;
        self.dependent_action(node, namespaced).or_else(|| self.owner_action(key, node))
    }

    /// Returns the owner references that can never hold: to another namespace, or from a
    /// cluster-scoped object to a namespaced one.
    pub(super) fn misplaced(
        &self,
        key: &Key,
        namespaced: impl Fn(&str, &str) -> Option<bool>,
    ) -> Vec<&Owner> {
        let Some(node) = self.nodes.get(key) else { return Vec::new() };
        let elsewhere = |owner: &&Owner| match self.by_uid.get(&owner.uid).and_then(|key| self.nodes.get(key))
        {
            Some(known) => !known.can_own(node),
            None => node.namespace.is_empty() && namespaced(&owner.group, &owner.kind) == Some(true),
        };
        node.owners.iter().filter(elsewhere).collect()
    }

    /// Returns the UID and namespace of an object.
    pub(super) fn place(&self, key: &Key) -> Option<(&str, &str)> {
        self.nodes.get(key).map(|node| (node.uid.as_str(), node.namespace.as_str()))
    }

    fn dependent_action(
        &self,
        node: &GraphNode,
        namespaced: impl Fn(&str, &str) -> Option<bool>,
    ) -> Option<DueAction> {
        let owner_state = |owner| self.owner_state(owner, node, &namespaced);
        let states: Vec<(&Owner, OwnerState)> =
            node.owners.iter().map(|owner| (owner, owner_state(owner))).collect();
        let has = |wanted| states.iter().any(|(_, owner_state)| *owner_state == wanted);
        let disown = |which: &[OwnerState]| {
            let of = states.iter().filter(|(_, owner_state)| which.contains(owner_state));
            Some(DueAction::Disown(of.map(|(owner, _)| owner.uid.clone()).collect()))
        };
        if has(OwnerState::Orphaning) {
            return disown(&[OwnerState::Orphaning]);
        }
        if node.is_deleting || states.is_empty() || has(OwnerState::Unknown) {
            return None;
        }
        if has(OwnerState::Present) {
            let which = [OwnerState::Absent, OwnerState::Waiting];
            return which.into_iter().any(has).then(|| disown(&which))?;
        }
        let owned = self.dependents.get(&node.uid);
        if !has(OwnerState::Waiting) || owned.is_none() {
            return Some(DueAction::Delete(None));
        }
        // In foreground deletion the dependents of a dependent block it, except in a cycle.
        let mut owned = owned.into_iter().flatten().filter_map(|key| self.nodes.get(key));
        let circle = owned.any(|owned| owned.waits == Some(DeletionWait::Foreground));
        let blocks = node.owners.iter().any(|owner| owner.blocks);
        Some(if circle && blocks {
            DueAction::Unblock
        } else {
            DueAction::Delete(Some(Propagation::Foreground))
        })
    }

    fn owner_action(&self, key: &Key, node: &GraphNode) -> Option<DueAction> {
        let waits = node.waits?;
        let holds = |owned: &GraphNode| {
            let mut of = owned.owners.iter().filter(|owner| owner.uid == node.uid);
            node.can_own(owned) && of.any(|owner| owner.blocks || waits == DeletionWait::Orphans)
        };
        let mut owned = self.dependents.get(&node.uid).into_iter().flatten().filter(|owned| *owned != key);
        if owned.any(|owned| self.nodes.get(owned).is_some_and(holds)) {
            return None;
        }
        Some(DueAction::Release(match waits {
            DeletionWait::Foreground => FOREGROUND,
            DeletionWait::Orphans => ORPHAN,
        }))
    }

    fn owner_state(
        &self,
        owner: &Owner,
        of: &GraphNode,
        namespaced: &impl Fn(&str, &str) -> Option<bool>,
    ) -> OwnerState {
        let known = self.by_uid.get(&owner.uid).and_then(|key| self.nodes.get(key));
        if let Some(known) = known.filter(|known| known.can_own(of)) {
            return match known.waits {
                None => OwnerState::Present,
                Some(DeletionWait::Foreground) => OwnerState::Waiting,
                Some(DeletionWait::Orphans) => OwnerState::Orphaning,
            };
        }
        // A cluster-scoped object cannot name the namespace of its owner.
        let says_where = |namespaced: bool| !(namespaced && of.namespace.is_empty());
        match namespaced(&owner.group, &owner.kind) {
            Some(namespaced) if says_where(namespaced) => OwnerState::Absent,
            None if self.deleted_owners.contains(&owner.uid) => OwnerState::Absent,
            _ => OwnerState::Unknown,
        }
    }

    /// Removes the object of a key, unless it has this UID.
    fn remove_node(&mut self, key: &Key, uid: &str) -> Vec<Key> {
        let Some(node) = self.nodes.remove(key) else { return Vec::new() };
        let mut candidates = Vec::new();
        for owner in &node.owners {
            if let Some(owned) = self.dependents.get_mut(&owner.uid) {
                owned.remove(key);
                if owned.is_empty() {
                    self.dependents.remove(&owner.uid);
                    self.deleted_owners.remove(&owner.uid);
                }
            }
            let owner = self.by_uid.get(&owner.uid);
            let waits = |owner: &&Key| self.nodes.get(*owner).is_some_and(|owner| owner.waits.is_some());
            candidates.extend(owner.filter(waits).cloned());
        }
        if node.uid != uid {
            self.by_uid.remove(&node.uid);
            if let Some(owned) = self.dependents.get(&node.uid) {
                candidates.extend(owned.iter().cloned());
                self.deleted_owners.insert(node.uid);
            }
        }
        candidates
    }
}

impl GraphNode {
    fn of(entry: &Entry) -> Option<Self> {
        let stored = Stored::of(&entry.value).ok()?;
        let OwnedObject { metadata } = serde_json::from_slice(stored.json()).ok()?;
        let is_deleting = metadata.deletion_timestamp.is_some();
        let has = |finalizer: &str| metadata.finalizers.iter().any(|one| one == finalizer);
        let waits = match is_deleting {
            true if has(ORPHAN) => Some(DeletionWait::Orphans),
            true if has(FOREGROUND) => Some(DeletionWait::Foreground),
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
struct OwnedObject {
    metadata: OwnershipMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnershipMetadata {
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
