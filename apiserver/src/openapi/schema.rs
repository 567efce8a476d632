//! The schemas of kinds, and of the fields that all kinds share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::name;
use crate::discovery::KindInfo;
use crate::schema::openapi::{API_VERSION, KIND, METADATA, OBJECT_META};

/// Schemas by name.
pub(crate) type Components = BTreeMap<String, Value>;

/// A kind and its schema.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) info: Arc<KindInfo>,
    /// The schema of the whole object, as OpenAPI v3. It may refer to shared components as
    /// `#/components/schemas/NAME`. `None` allows any object.
    pub(crate) schema: Option<Value>,
    /// The paths of fields that field selectors may name, without the dot: `spec.node`.
    pub(crate) selectable: Vec<String>,
}

pub(super) const PREFIX: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
pub(super) const GVK: &str = "x-kubernetes-group-version-kind";
pub(super) const SELECTABLE: &str = "x-kubernetes-selectable-fields";

const LIST_METADATA: &str = "Standard list metadata: the revision of the list and its continue token.";

impl Described {
    /// The name of the kind's schema.
    pub(super) fn name(&self) -> String {
        name::schema(&self.info.group, &self.info.version, &self.info.kind)
    }

    /// The name of the schema of lists.
    pub(super) fn list_name(&self) -> String {
        name::schema(&self.info.group, &self.info.version, &self.info.list_kind)
    }

    /// Returns the schema with the fields that every object has.
    pub(super) fn object(&self) -> Value {
        let mut schema = match &self.schema {
            Some(Value::Object(schema)) => schema.clone(),
            _ => return self.marked(json!({"type": "object"}), &self.info.kind),
        };
        embed(&mut schema);
        as_resource(&mut schema);
        self.marked(schema.into(), &self.info.kind)
    }

    /// The schema of lists.
    pub(super) fn list(&self) -> Value {
        let schema = json!({
            "type": "object",
            "description": format!("A list of {}.", self.info.plural),
            "required": ["items"],
            "properties": {
                "apiVersion": text(API_VERSION),
                "kind": text(KIND),
                "metadata": meta("ListMeta", LIST_METADATA),
                "items": {"type": "array", "description": "The objects.", "items": {"$ref": format!("{PREFIX}{}", self.name())}},
            },
        });
        self.marked(schema, &self.info.list_kind)
    }

    /// `{group, version, kind}`
    pub(super) fn gvk(&self, kind: &str) -> Value {
        json!({"group": self.info.group, "version": self.info.version, "kind": kind})
    }

    fn marked(&self, mut schema: Value, kind: &str) -> Value {
        schema[GVK] = json!([self.gvk(kind)]);
        if !self.selectable.is_empty() {
            let fields: Vec<Value> =
                self.selectable.iter().map(|field| json!({"fieldPath": field})).collect();
            schema[SELECTABLE] = fields.into();
        }
        schema
    }
}

/// A reference to one of the schemas that every document may use.
pub(super) fn meta_reference(kind: &str) -> Value {
    json!({"$ref": format!("{PREFIX}{META}{kind}")})
}

fn meta(kind: &str, description: &str) -> Value {
    json!({"allOf": [meta_reference(kind)], "description": description})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Adds the fields that every object has. Restrictions of a schema on its metadata are enforced,
/// and not published.
fn as_resource(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for (key, description) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        let mut said = text(description);
        if let Some(own) = properties.get(key).and_then(|own| own.get("description")) {
            said["description"] = own.clone();
        }
        properties.insert(key.into(), said);
    }
    let is_described = |own: &Value| own.get("allOf").is_some();
    let refers_to_another = |own: &Value| own.get("$ref").is_some_and(|target| *target != OBJECT_META);
    if !properties.get("metadata").is_some_and(|own| is_described(own) || refers_to_another(own)) {
        properties.insert("metadata".into(), meta("ObjectMeta", METADATA));
    }
}

/// Adds the fields of every object to embedded resources, too.
fn embed(schema: &mut Map<String, Value>) {
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Object(child)) = schema.get_mut(key) {
            embed_child(child);
        }
    }
    for (_, child) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Value::Object(child) = child {
            embed_child(child);
        }
    }
}

fn embed_child(child: &mut Map<String, Value>) {
    embed(child);
    if child.get("x-kubernetes-embedded-resource") != Some(&Value::Bool(true)) {
        return;
    }
    as_resource(child);
    let required = child.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for key in ["kind", "apiVersion"] {
            if !required.iter().any(|one| one == key) {
                required.push(key.into());
            }
        }
    }
}

/// The schemas of metadata, `Status`, `DeleteOptions` and the like.
pub(super) fn shared_by_all() -> &'static Components {
    static ALL: OnceLock<Components> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(include_str!("meta.json")).expect("a test reads it whole"))
}

/// Returns the schemas that these documents refer to, directly or not. An unknown reference allows
/// any value.
pub(super) fn closure(roots: &[&Value], known: &Components) -> Components {
    let mut found = Components::new();
    let mut wanted = BTreeSet::new();
    roots.iter().for_each(|root| references(root, &mut wanted));
    while let Some(name) = wanted.pop_first() {
        if found.contains_key(&name) {
            continue;
        }
        let schema = match (known.get(&name), shared_by_all().get(&name)) {
            (Some(known), Some(common)) => explained(known.clone(), common),
            (Some(schema), None) | (None, Some(schema)) => schema.clone(),
            (None, None) => json!({"type": "object"}),
        };
        references(&schema, &mut wanted);
        found.insert(name, schema);
    }
    found
}

/// Returns a schema with the descriptions of another one of the same type. Generated schemas have
/// none, and clients show those of metadata.
fn explained(mut schema: Value, by: &Value) -> Value {
    let describe = |schema: &mut Value, by: Option<&Value>| {
        let Some(description) = by.and_then(|by| by.get("description")) else { return };
        if let Some(map) = schema.as_object_mut().filter(|map| !map.contains_key("description")) {
            // Readers ignore all that is beside a reference.
            if let Some(target) = map.remove("$ref") {
                map.insert("allOf".into(), json!([{"$ref": target}]));
            }
            map.insert("description".into(), description.clone());
        }
    };
    describe(&mut schema, Some(by));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        describe(property, by.get("properties").and_then(|all| all.get(name)));
    }
    schema
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| references(item, found)),
        Value::Object(map) => {
            let name = map.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(PREFIX));
            found.extend(name.map(str::to_owned));
            map.values().for_each(|value| references(value, found));
        }
        _ => {}
    }
}
