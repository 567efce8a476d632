//! The server's state, computed naively: a list after each write, and filters over all objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::InterestBy;
use serde_json::Value;

use super::road::{Ask, revision};

/// Namespace and name.
pub(super) type OracleKey = (String, String);

#[derive(Default)]
pub(super) struct InterestOracle {
    /// The state of all objects, from a revision on.
    history: BTreeMap<u64, BTreeMap<OracleKey, Value>>,
}

pub(super) fn key_of(object: &Value) -> OracleKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    (text("namespace"), text("name"))
}

/// Returns the key of an object.
pub(super) fn value_of<'a>(by: &InterestBy, object: &'a Value) -> Option<&'a str> {
    let labels = &object["metadata"]["labels"];
    match by {
        InterestBy::Label(label) => labels[&**label].as_str(),
        InterestBy::Field(field) => match &**field {
            "metadata.name" => object["metadata"]["name"].as_str(),
            "metadata.namespace" => object["metadata"]["namespace"].as_str(),
            "spec.color" => object["spec"]["color"].as_str(),
            other => panic!("{other}"),
        },
    }
}

/// Returns whether an object is selected by an interest with these keys.
pub(super) fn is_in(ask: &Ask, keys: &BTreeSet<Arc<str>>, object: &Value) -> bool {
    let here = ask.namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace);
    let labelled = match ask.labels {
        "" => true,
        "in=yes" => object["metadata"]["labels"]["in"] == "yes",
        other => panic!("{other}"),
    };
    here && labelled && value_of(&ask.by, object).is_some_and(|value| keys.contains(value))
}

impl InterestOracle {
    pub(super) fn put(&mut self, object: Value) {
        let mut after = self.newest().clone();
        let at = revision(&object);
        after.insert(key_of(&object), object);
        self.history.insert(at, after);
    }

    pub(super) fn delete(&mut self, key: &OracleKey, at: u64) {
        let mut after = self.newest().clone();
        after.remove(key);
        self.history.insert(at, after);
    }

    pub(super) fn newest(&self) -> &BTreeMap<OracleKey, Value> {
        static NONE: BTreeMap<OracleKey, Value> = BTreeMap::new();
        self.history.last_key_value().map_or(&NONE, |(_, objects)| objects)
    }

    /// Returns all objects at a revision.
    pub(super) fn at(&self, revision: u64) -> &BTreeMap<OracleKey, Value> {
        static NONE: BTreeMap<OracleKey, Value> = BTreeMap::new();
        self.history.range(..=revision).next_back().map_or(&NONE, |(_, objects)| objects)
    }

    /// Returns the selected objects.
    pub(super) fn under(&self, ask: &Ask, keys: &BTreeSet<Arc<str>>, at: u64) -> BTreeMap<OracleKey, Value> {
        let objects = self.at(at).iter().filter(|(_, object)| is_in(ask, keys, object));
        objects.map(|(key, object)| (key.clone(), object.clone())).collect()
    }
}
