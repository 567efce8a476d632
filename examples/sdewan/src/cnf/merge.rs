//! The configuration that results from a `PUT` of one owner's objects, or the reasons against it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::config::{CheckFailure, CnfConfig, ConfigObject, ConfigView, NameSpaces, check_object, is_used};
use super::facts::DeviceFacts;
use super::v2::RefusedObject;
use crate::model::{CollectionId, ConfigDocument};

/// Replaces the objects of the document's owner by those of the document, in their order. Objects
/// of others stay, before or behind them; one without an owner becomes the owner's if the document
/// has its name.
///
/// # Errors
/// Every object that cannot be so, with the reason.
pub(super) fn merge(
    before: &CnfConfig,
    document: ConfigDocument,
    facts: &DeviceFacts,
    limit: usize,
) -> Result<CnfConfig, Vec<RefusedObject>> {
    let owner: Arc<str> = document.owner.into();
    let mut refused = Vec::new();
    let mut wanted = WantedObjects::new();
    for (path, entries) in document.collections {
        let Some(id) = CollectionId::of_path(&path) else {
            for entry in entries {
                let name = entry.object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let refusal = CheckFailure::new(404, format!("there is no collection {path}"));
                refused.push(of_path(path.clone(), name, refusal));
            }
            continue;
        };
        let objects = wanted.entry(id).or_default();
        for mut entry in entries {
            match entry.object.remove("name") {
                Some(Value::String(name)) if !name.trim().is_empty() => {
                    objects.push((name.trim().to_owned(), entry.object));
                }
                _ => {
                    let refusal = CheckFailure::new(400, "Field[name] checked failed: required");
                    refused.push(of_path(path.clone(), String::new(), refusal));
                }
            }
        }
    }
    let mut merged = foreign(before, &owner, &wanted);
    let mut names = NameSpaces::of_nics(facts);
    for (id, object) in merged.iter() {
        // Foreign objects have been admitted, whatever names they have.
        names.take(id, &object.name, &object.fields);
    }
    // In the order of the collections: each object after those that it may refer to.
    for id in CollectionId::all() {
        let mut taken = BTreeSet::new();
        let mut admitted = Vec::new();
        for (name, body) in wanted.remove(&id).unwrap_or_default() {
            let admitted_one = admit(id, &name, &body, (&merged, facts, &mut names, &mut taken));
            match admitted_one {
                Ok(fields) => admitted.push(ConfigObject {
                    name: name.into(),
                    owner: Some(owner.clone()),
                    fields: Arc::new(fields),
                }),
                Err(refusal) => refused.push(of_path(id.path().to_owned(), name, refusal)),
            }
        }
        let objects = in_places(before.list(id), merged.list(id), admitted);
        merged.set(id, objects);
    }
    for (id, object) in before.iter().filter(|(_, object)| object.owner.as_ref() == Some(&owner)) {
        let is_gone = merged.get(id, &object.name).is_none();
        let is_refused = refused.iter().any(|one| one.collection == id.path() && *one.name == *object.name);
        if is_gone && !is_refused && is_used(&merged, id, &object.name) {
            let refusal = CheckFailure::new(409, format!("{} {} is used", id.row().noun, object.name));
            let removal = of_path(id.path().to_owned(), (*object.name).to_owned(), refusal);
            refused.push(RefusedObject { is_removal: true, ..removal });
        }
    }
    if merged.len() > limit {
        let refusal = CheckFailure::new(507, format!("the limit of the CNF is {limit} objects"));
        refused.push(of_path(String::new(), String::new(), refusal));
    }
    if refused.is_empty() { Ok(merged) } else { Err(refused) }
}

/// The names and fields of the objects of a document.
type WantedObjects = BTreeMap<CollectionId, Vec<(String, Map<String, Value>)>>;

/// Returns the objects of others. Those without an owner are left out where the document has their
/// name.
fn foreign(before: &CnfConfig, owner: &Arc<str>, wanted: &WantedObjects) -> CnfConfig {
    let mut foreign = CnfConfig::default();
    for id in CollectionId::all() {
        let wanted: BTreeSet<&str> = wanted.get(&id).into_iter().flatten().map(|(name, _)| &**name).collect();
        let stays = |object: &&ConfigObject| match &object.owner {
            Some(other) => other != owner,
            None => !wanted.contains(&*object.name),
        };
        foreign.set(id, before.list(id).iter().filter(stays).cloned().collect());
    }
    foreign
}

fn admit(
    id: CollectionId,
    name: &str,
    body: &Map<String, Value>,
    (merged, facts, names, taken): (&CnfConfig, &DeviceFacts, &mut NameSpaces, &mut BTreeSet<String>),
) -> Result<Map<String, Value>, CheckFailure> {
    if !taken.insert(name.to_owned()) {
        return Err(CheckFailure::new(409, "the name is twice in the collection"));
    }
    if let Some(other) = merged.get(id, name) {
        let other = other.owner.as_deref().unwrap_or("another client");
        return Err(CheckFailure::new(409, format!("an object of {other} has the name")));
    }
    let has_object = |target: CollectionId, name: &str| merged.get(target, name).is_some();
    let fields = check_object(id, name, body, &ConfigView { has_object: &has_object, facts })?;
    match names.take(id, name, &fields) {
        true => Ok(fields),
        false => {
            Err(CheckFailure::new(409, "Conflict: an object or a NIC has the name, or that of a part of it"))
        }
    }
}

/// Puts the owner's objects behind the objects of others that were before them all, and before the
/// others.
fn in_places(
    before: &[ConfigObject],
    foreign: &[ConfigObject],
    owned: Vec<ConfigObject>,
) -> Vec<ConfigObject> {
    let foreign_names: BTreeSet<&str> = foreign.iter().map(|object| &*object.name).collect();
    let first = before.iter().take_while(|object| foreign_names.contains(&*object.name)).count();
    let (ahead, behind) = foreign.split_at_checked(first).unwrap_or((foreign, &[]));
    ahead.iter().cloned().chain(owned).chain(behind.iter().cloned()).collect()
}

fn of_path(collection: String, name: String, refusal: CheckFailure) -> RefusedObject {
    RefusedObject { collection, name, code: refusal.code, message: refusal.message, is_removal: false }
}
