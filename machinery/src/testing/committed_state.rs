//! The objects of a server as one commit left them.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use machinery_apiserver::ServerCommit;
use machinery_objects::{Kind, ObjectKey, Revision};
use machinery_sync::Mutex;
use serde_json::Value;

use crate::ObjectType;

/// The objects of a server, of all kinds, as one commit left them. Cheap to clone compared to a
/// list: objects are shared.
#[derive(Clone, Debug, Default)]
pub struct CommittedState {
    revision: Revision,
    objects: BTreeMap<GroupResource, BTreeMap<ObjectKey, Arc<StoredObject>>>,
    unreadable: Arc<Mutex<Vec<String>>>,
}

/// A commit, and the state after it.
#[derive(Clone, Copy, Debug)]
pub struct CheckedCommit<'a> {
    state: &'a CommittedState,
    changes: &'a [StateChange],
}

/// The change of an object by a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange<K> {
    /// Key of the object.
    pub key: ObjectKey,
    /// The object before the commit; `None` if the commit created it.
    pub before: Option<Arc<K>>,
    /// The object after the commit; `None` if the commit deleted it.
    pub after: Option<Arc<K>>,
}

/// Group and plural name.
type GroupResource = (String, String);

/// A changed object in its states before and after.
#[derive(Debug)]
pub(super) struct StateChange {
    resource: GroupResource,
    key: ObjectKey,
    before: Option<Arc<StoredObject>>,
    after: Option<Arc<StoredObject>>,
}

/// An object, decoded at most once per type in a row.
struct StoredObject {
    value: Arc<Value>,
    decoded: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl CommittedState {
    /// Returns the revision of the commit.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns an object. One that cannot be decoded is reported as a violation, and omitted.
    #[must_use]
    pub fn get<K: ObjectType>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.decode(key, self.objects.get(&resource_of::<K>())?.get(key)?)
    }

    /// Returns all objects of a type in the order of their keys. Those that cannot be decoded are
    /// reported as a violation, and omitted.
    #[must_use]
    pub fn all<K: ObjectType>(&self) -> Vec<Arc<K>> {
        let objects = self.objects.get(&resource_of::<K>());
        objects.into_iter().flatten().filter_map(|(key, object)| self.decode(key, object)).collect()
    }

    /// Returns all objects of a kind as stored, in the order of their keys.
    pub fn values(&self, kind: &Kind) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let objects = self.objects.get(&(kind.group().to_owned(), kind.plural().to_owned()));
        objects.into_iter().flatten().map(|(key, object)| (key, &object.value))
    }

    /// Applies a commit, and returns its changes.
    pub(super) fn apply(&mut self, commit: ServerCommit) -> Vec<StateChange> {
        self.revision = commit.revision;
        let change = |change: machinery_apiserver::CommittedChange| {
            let (resource, key) = ((change.group, change.plural), change.key);
            let after = change.after.map(|value| Arc::new(StoredObject { value, decoded: Mutex::default() }));
            let objects = self.objects.entry(resource.clone()).or_default();
            let before = match &after {
                Some(object) => objects.insert(key.clone(), object.clone()),
                None => objects.remove(&key),
            };
            StateChange { resource, key, before, after }
        };
        commit.changes.into_iter().map(change).collect()
    }

    /// Takes the errors of objects that could not be decoded.
    pub(super) fn take_unreadable(&self) -> Vec<String> {
        std::mem::take(&mut *self.unreadable.lock())
    }

    fn decode<K: ObjectType>(&self, key: &ObjectKey, object: &StoredObject) -> Option<Arc<K>> {
        let decoded = object.decode::<K>();
        decoded.map_err(|error| self.unreadable.lock().push(format!("{} {key}: {error}", K::kind(&())))).ok()
    }
}

impl<'a> CheckedCommit<'a> {
    pub(super) const fn new(state: &'a CommittedState, changes: &'a [StateChange]) -> Self {
        Self { state, changes }
    }

    /// Returns the state after the commit.
    #[must_use]
    pub const fn state(&self) -> &'a CommittedState {
        self.state
    }

    /// Returns the revision of the commit.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.state.revision
    }

    /// Returns the changes of the objects of a type, in the order of the transaction. The first
    /// commit of a checker creates all objects that exist.
    #[must_use]
    pub fn changes<K: ObjectType>(&self) -> Vec<ObjectChange<K>> {
        let resource = resource_of::<K>();
        let of_type = self.changes.iter().filter(|change| change.resource == resource);
        let decode = |object: &Option<Arc<StoredObject>>, key| self.state.decode(key, object.as_ref()?);
        of_type
            .map(|StateChange { key, before, after, .. }| ObjectChange {
                key: key.clone(),
                before: decode(before, key),
                after: decode(after, key),
            })
            .collect()
    }
}

impl StoredObject {
    fn decode<K: ObjectType>(&self) -> Result<Arc<K>, serde_json::Error> {
        let cached = self.decoded.lock().clone();
        if let Some(decoded) = cached.and_then(|decoded| decoded.downcast().ok()) {
            return Ok(decoded);
        }
        let decoded: Arc<K> = Arc::new(K::deserialize(&*self.value)?);
        *self.decoded.lock() = Some(decoded.clone());
        Ok(decoded)
    }
}

fn resource_of<K: ObjectType>() -> GroupResource {
    (K::group(&()).into_owned(), K::plural(&()).into_owned())
}

impl fmt::Debug for StoredObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
