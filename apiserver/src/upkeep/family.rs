//! Who owns whom, and what is to become of each: worked out of what is known, with nothing read or written.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::Revision;
use machinery_store::{Entry, Key};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::request::Propagation;
use crate::storage::Stored;

/// Holds an owner until what it owns is gone.
const FOREGROUND: &str = "foregroundDeletion";
/// Holds an owner until what it owns is its no longer.
const ORPHAN: &str = "orphan";

/// Who is there, and who owns whom, as of one revision.
#[derive(Default)]
pub(super) struct Family {
    members: BTreeMap<Key, Member>,
    by_uid: BTreeMap<String, Key>,
    /// By the UID of the owner.
    owned: BTreeMap<String, BTreeSet<Key>>,
    /// The owners that were seen to go, of those who are still there.
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

/// What a deleted object waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// That what it owns is gone.
    Foreground,
    /// That what it owns is its no longer.
    Orphans,
}

pub(super) struct Owner {
    pub(super) uid: String,
    pub(super) version: String,
    group: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Whether an owner that waits for what it owns waits for this.
    blocks: bool,
}

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It goes.
    Delete(Option<Propagation>),
    /// These are its owners no longer.
    Disown(Vec<String>),
    /// None of its owners is to wait for it: one of them owns it in a circle.
    Unblock,
    /// This finalizer has held it for long enough.
    Release(&'static str),
}

/// What an owner is to what it owns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is there, and stays as far as that is known.
    Solid,
    /// It goes when what it owns is gone.
    Waiting,
    /// It goes, and lets go of what it owns.
    Leaving,
    Absent,
    /// Whether it is there cannot be told.
    Unknown,
}

impl Family {
    /// Takes a state in. Returns for whom something may be due now.
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

    /// Takes one out. Returns for whom something may be due now.
    pub(super) fn delete(&mut self, key: &Key) -> Vec<Key> {
        self.forget(key, "")
    }

    /// All for whom something may be due.
    pub(super) fn concerned(&self) -> Vec<Key> {
        let may = |member: &Member| member.waits.is_some() || !member.owners.is_empty();
        self.members.iter().filter(|(_, member)| may(member)).map(|(key, _)| key.clone()).collect()
    }

    /// The state that is known.
    pub(super) fn revision(&self, key: &Key) -> Option<Revision> {
        self.members.get(key).map(|member| member.revision)
    }

    /// What is due. `namespaced` says of a kind, by its group and its name, whether it is in namespaces, if there is such a
    /// kind here.
    pub(super) fn due(&self, key: &Key, namespaced: impl Fn(&str, &str) -> Option<bool>) -> Option<Due> {
        let member = self.members.get(key)?;
        self.due_as_owned(member, namespaced).or_else(|| self.due_as_owner(key, member))
    }

    /// The owners that it cannot have for where they are, as references to them: what is in another namespace, and, of what is in no
    /// namespace, what is in one.
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

    /// The UID and the namespace of one that is known.
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
        // Who waits for this waits for what it owns as well: unless that is who waits for it.
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
        // What is in no namespace cannot say in which one its owner is.
        let says_where = |namespaced: bool| !(namespaced && of.namespace.is_empty());
        match namespaced(&owner.group, &owner.kind) {
            Some(namespaced) if says_where(namespaced) => Standing::Absent,
            None if self.gone.contains(&owner.uid) => Standing::Absent,
            _ => Standing::Unknown,
        }
    }

    /// Forgets what was known under a key, where another UID is from now on.
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

    /// An owner is in no namespace, or in the same one.
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

/// As much of a stored object as there is to know about its family.
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
