//! What is owned goes after its owners; what holds on to its owned ones is let go.
//!
//! The store's changes come in order, so who is there at a revision is known exactly: an owner that is not known is gone, or was
//! never there. Owners are known by UID; one in another namespace is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_store::{Change, Entry, Key, Range, Seen, Span};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::sleep;

use super::writes;
use crate::kind::{Kind, Part, Registry};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::{Moment, Stored};
use crate::strategy::{meta_text, metadata, metadata_mut};
use crate::verbs::output::read;

/// How long to wait after the store could not be read or written.
const AGAIN: Duration = Duration::from_secs(1);

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Follows until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        if follow(&shared).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

async fn follow(shared: &Shared) -> Result<(), Refusal> {
    let mut family = Family::default();
    let listed = shared.objects.list(Range::of(Span::all()), Moment::Newest).await?;
    for entry in &listed.entries {
        family.put(entry);
    }
    let lost = |_| Refusal::new(500, "InternalError", "the watch was lost");
    let mut watch = shared.objects.watch(Span::all(), listed.at).await.map_err(lost)?;
    for key in family.owned() {
        collect(shared, &family, &key).await?;
    }
    for key in family.holding.clone() {
        release(shared, &family, &key).await?;
    }
    loop {
        let Seen::Changes { events, .. } = watch.next().await.map_err(lost)? else { continue };
        for event in events {
            let looked = match &event.change {
                Change::Put(entry) => family.put(entry),
                Change::Deleted(key) => family.delete(key),
            };
            for key in looked {
                collect(shared, &family, &key).await?;
                release(shared, &family, &key).await?;
            }
        }
    }
}

/// Who is there, who owns whom.
#[derive(Default)]
struct Family {
    members: BTreeMap<Key, Member>,
    by_uid: BTreeMap<String, Key>,
    /// By the UID of the owner.
    owned: BTreeMap<String, BTreeSet<Key>>,
    /// Those that are deleted and held until something is done with what they own.
    holding: BTreeSet<Key>,
}

#[derive(Clone, Default)]
struct Member {
    uid: String,
    namespace: String,
    owners: Vec<String>,
    is_deleting: bool,
}

/// As much of a stored object as its family: every change is looked at, and most concern nobody.
#[derive(Deserialize)]
struct Kin {
    metadata: Relations,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Relations {
    uid: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<Owner>>,
    deletion_timestamp: Option<IgnoredAny>,
    finalizers: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Owner {
    uid: String,
}

impl Family {
    /// Takes a state in. Returns whom it may concern: itself, and its owners that wait for it.
    fn put(&mut self, entry: &Entry) -> Vec<Key> {
        let stored = Stored::of(&entry.value).ok();
        let Some(Kin { metadata: kin }) =
            stored.and_then(|stored| serde_json::from_slice(stored.json()).ok())
        else {
            return Vec::new();
        };
        let member = Member {
            uid: kin.uid.unwrap_or_default(),
            namespace: kin.namespace.unwrap_or_default(),
            owners: kin.owner_references.into_iter().flatten().map(|owner| owner.uid).collect(),
            is_deleting: kin.deletion_timestamp.is_some(),
        };
        let key = &entry.key;
        let mut concerned = self.forget(key, &member.uid);
        self.by_uid.insert(member.uid.clone(), key.clone());
        for owner in &member.owners {
            self.owned.entry(owner.clone()).or_default().insert(key.clone());
        }
        let mut finalizers = kin.finalizers.iter().flatten();
        let held = finalizers.any(|finalizer| finalizer == FOREGROUND || finalizer == ORPHAN);
        let holds = member.is_deleting && held;
        if holds {
            self.holding.insert(key.clone());
        }
        if holds || !member.owners.is_empty() {
            concerned.push(key.clone());
        }
        self.members.insert(key.clone(), member);
        concerned
    }

    /// Takes one out. Returns what it owned, and its owners that wait for it.
    fn delete(&mut self, key: &Key) -> Vec<Key> {
        self.forget(key, "")
    }

    /// Forgets what was known under a key, where another UID is from now on.
    fn forget(&mut self, key: &Key, uid: &str) -> Vec<Key> {
        self.holding.remove(key);
        let Some(member) = self.members.remove(key) else { return Vec::new() };
        let mut concerned = Vec::new();
        for owner in &member.owners {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(key);
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
            concerned.extend(self.by_uid.get(owner).filter(|owner| self.holding.contains(*owner)).cloned());
        }
        if member.uid != uid {
            self.by_uid.remove(&member.uid);
            concerned.extend(self.owned.get(&member.uid).into_iter().flatten().cloned());
        }
        concerned
    }

    fn owned(&self) -> impl Iterator<Item = Key> {
        self.members.iter().filter(|(_, member)| !member.owners.is_empty()).map(|(key, _)| key.clone())
    }

    /// Whether an owner is there, and where it can own this.
    fn has(&self, owner: &str, of: &Member) -> bool {
        let owner = self.by_uid.get(owner).and_then(|key| self.members.get(key));
        owner.is_some_and(|owner| owner.namespace.is_empty() || owner.namespace == of.namespace)
    }

    fn is_orphaned(&self, key: &Key) -> bool {
        self.members.get(key).is_some_and(|member| {
            !member.owners.is_empty() && !member.owners.iter().any(|owner| self.has(owner, member))
        })
    }
}

/// Deletes an object whose owners are all gone.
async fn collect(shared: &Shared, family: &Family, key: &Key) -> Result<(), Refusal> {
    if !family.is_orphaned(key) {
        return Ok(());
    }
    let registry = shared.kinds();
    let Some((kind, entry)) = found(shared, &registry, key).await? else { return Ok(()) };
    writes::delete(shared, &kind, &entry).await
}

/// Does what a deleted object waits for: its owned ones are deleted too, or are its no longer. Then it is let go.
async fn release(shared: &Shared, family: &Family, key: &Key) -> Result<(), Refusal> {
    if !family.holding.contains(key) {
        return Ok(());
    }
    let registry = shared.kinds();
    let Some((kind, entry)) = found(shared, &registry, key).await? else { return Ok(()) };
    let object = read(&kind, &entry, entry.modified)?;
    let uid = meta_text(&object, "uid").to_owned();
    let has = |finalizer: &str| {
        let all = metadata(&object).get("finalizers").and_then(Value::as_array);
        all.is_some_and(|all| all.iter().any(|one| one == finalizer))
    };
    let orphans = has(ORPHAN);
    let mut blocked = false;
    for owned in family.owned.get(&uid).into_iter().flatten() {
        let Some((of, entry)) = found(shared, &registry, owned).await? else { continue };
        if orphans {
            writes::update(shared, &of, &entry, Part::Main, |object| disown(object, &uid)).await?;
        } else {
            let owned = read(&of, &entry, entry.modified)?;
            blocked |= blocks(&owned, &uid);
            writes::delete(shared, &of, &entry).await?;
        }
    }
    if blocked {
        return Ok(()); // it concerns this one again when they are gone
    }
    let finalizer = if orphans { ORPHAN } else { FOREGROUND };
    writes::update(shared, &kind, &entry, Part::Main, |object| {
        if let Some(all) = metadata_mut(object).get_mut("finalizers").and_then(Value::as_array_mut) {
            all.retain(|one| one != finalizer);
        }
    })
    .await
}

fn disown(object: &mut Value, uid: &str) {
    let metadata = metadata_mut(object);
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|owner| owner["uid"] != uid);
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        }
    }
}

fn blocks(object: &Value, uid: &str) -> bool {
    let owners = metadata(object).get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    owners.into_iter().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
}

async fn found(
    shared: &Shared,
    registry: &Registry,
    key: &Key,
) -> Result<Option<(Arc<Kind>, Arc<Entry>)>, Refusal> {
    let mut parts = key.split('/');
    let (group, plural) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let group = if group == "core" { "" } else { group };
    let Some(kind) = registry.stored(group, plural).cloned() else { return Ok(None) };
    let entry = shared.objects.get(key, Moment::Newest).await?;
    Ok(entry.map(|entry| (kind, entry)))
}
