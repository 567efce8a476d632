//! Names of sections in the files of a CNF: objects of several collections share them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::cnf::facts::DeviceFacts;
use crate::model::CollectionId;

use super::CnfConfig;

/// The used names of each space.
#[derive(Debug, Default)]
pub struct NameSpaces(BTreeSet<(&'static str, String)>);

impl NameSpaces {
    /// Returns the names of the NICs, which are sections beside policies and rules.
    #[must_use]
    pub fn of_nics(facts: &DeviceFacts) -> Self {
        let space = CollectionId::Policies.row().name_space;
        Self(facts.nics.iter().map(|nic| (space, nic.name.clone())).collect())
    }

    /// Returns the names that the objects of a configuration use, but for one.
    #[must_use]
    pub fn without(config: &CnfConfig, facts: &DeviceFacts, except: (CollectionId, &str)) -> Self {
        let mut names = Self::of_nics(facts);
        for (collection, object) in config.iter() {
            if (collection, &*object.name) != except {
                names.0.extend(of(collection, &object.name, &object.fields));
            }
        }
        names
    }

    /// Takes the names of an object. Returns false, and takes none, if one is in use.
    pub fn take(&mut self, collection: CollectionId, name: &str, fields: &Map<String, Value>) -> bool {
        let wanted: Vec<_> = of(collection, name, fields).collect();
        let distinct: BTreeSet<_> = wanted.iter().collect();
        if distinct.len() < wanted.len() || wanted.iter().any(|name| self.0.contains(name)) {
            return false;
        }
        self.0.extend(wanted);
        true
    }
}

/// Returns the names of an object's sections: its own, those of the members of a policy, and those
/// of the connections of a remote.
fn of<'a>(
    collection: CollectionId,
    name: &'a str,
    fields: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'static str, String)> + use<'a> {
    let space = collection.row().name_space;
    let parts = match collection {
        CollectionId::Policies => items(fields, "members")
            .filter_map(|member| Some(format!("{name}_{}", member.get("interface")?.as_str()?)))
            .collect(),
        CollectionId::Remotes => items(fields, "connections")
            .filter_map(|connection| Some(connection.get("name")?.as_str()?.to_owned()))
            .collect(),
        _ => Vec::new(),
    };
    [name.to_owned()].into_iter().chain(parts).map(move |name| (space, name))
}

fn items<'a>(fields: &'a Map<String, Value>, list: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    fields.get(list).and_then(Value::as_array).into_iter().flatten()
}
