//! A schema as it was written, and as OpenAPI v3 publishes it.

use serde_json::{Map, Value, json};

use super::node::{Additional, DeclaredListType, JsonType, MapType, Schema, ValueRules};

/// The reference to the metadata of objects in OpenAPI documents.
pub(crate) const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Descriptions of the fields of every object, with the first words of those in Kubernetes.
pub(crate) const API_VERSION: &str =
    "APIVersion defines the group and the version of the schema of this object.";
pub(crate) const KIND: &str = "Kind is the kind of this object.";
pub(crate) const METADATA: &str = "Standard object's metadata: name, namespace, labels and the like.";

impl Schema {
    /// The schema of a kind for `/openapi/v3`, with the fields that every object has. Its group,
    /// version and kind are for the caller to add.
    pub(crate) fn openapi(&self) -> Value {
        let mut published = self.published();
        let Value::Object(properties) = published.entry("properties").or_insert_with(|| json!({})) else {
            return Value::Object(published);
        };
        add_meta(properties);
        Value::Object(published)
    }

    /// Returns the parsed schema as JSON, with set keywords only.
    pub(super) fn written(&self) -> Map<String, Value> {
        self.write(&Self::written)
    }

    /// Returns the written schema, with the implied fields of embedded resources.
    fn published(&self) -> Map<String, Value> {
        let mut published = self.write(&Self::published);
        if self.embedded {
            if let Value::Object(properties) = published.entry("properties").or_insert_with(|| json!({})) {
                add_meta(properties);
            }
            if let Value::Array(required) = published.entry("required").or_insert_with(|| json!([])) {
                for name in ["kind", "apiVersion"] {
                    if !required.iter().any(|there| there == name) {
                        required.push(name.into());
                    }
                }
            }
        }
        published
    }

    fn write(&self, child: &dyn Fn(&Self) -> Map<String, Value>) -> Map<String, Value> {
        let mut out = Writer { out: Map::new() };
        let node = |schema: &Self| Value::Object(child(schema));
        let nodes =
            |schemas: &[Self]| (!schemas.is_empty()).then(|| schemas.iter().map(node).collect::<Vec<_>>());
        out.some("type", self.kind.map(JsonType::name));
        out.some("nullable", self.nullable.then_some(true));
        out.some("default", self.default.clone());
        out.some("title", self.notes.title.clone());
        out.some("description", self.notes.description.clone());
        out.some("example", self.notes.example.clone());
        out.some("externalDocs", self.notes.external_docs.clone());
        out.some("items", self.items.as_deref().map(node));
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|(name, schema)| (name.clone(), node(schema)));
            out.some("properties", Some(Value::Object(properties.collect())));
        }
        out.some(
            "additionalProperties",
            self.additional.as_ref().map(|additional| match additional {
                Additional::Any => Value::Bool(true),
                Additional::Nothing => Value::Bool(false),
                Additional::Of(schema) => node(schema),
            }),
        );
        out.some("x-kubernetes-preserve-unknown-fields", self.preserve_unknown.then_some(true));
        out.some("x-kubernetes-int-or-string", self.int_or_string.then_some(true));
        out.some("x-kubernetes-embedded-resource", self.embedded.then_some(true));
        out.some("x-kubernetes-list-type", self.list.map(DeclaredListType::name));
        out.list("x-kubernetes-list-map-keys", &self.list_keys);
        out.some("x-kubernetes-map-type", self.map.map(MapType::name));
        out.list("x-kubernetes-validations", &self.validations);
        out.rules(&self.rules);
        out.some("allOf", nodes(&self.rules.all_of));
        out.some("anyOf", nodes(&self.rules.any_of));
        out.some("oneOf", nodes(&self.rules.one_of));
        out.some("not", self.rules.not.as_deref().map(node));
        out.out
    }
}

fn add_meta(properties: &mut Map<String, Value>) {
    let described = [
        ("apiVersion", json!({ "type": "string", "description": API_VERSION })),
        ("kind", json!({ "type": "string", "description": KIND })),
        ("metadata", json!({ "allOf": [{ "$ref": OBJECT_META }], "description": METADATA })),
    ];
    for (name, schema) in described {
        properties.insert(name.into(), schema);
    }
}

struct Writer {
    out: Map<String, Value>,
}

impl Writer {
    fn some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.out.insert(key.into(), value.into());
        }
    }

    fn list<T: Clone + Into<Value>>(&mut self, key: &str, list: &[T]) {
        self.some(key, (!list.is_empty()).then(|| list.to_vec()));
    }

    fn rules(&mut self, rules: &ValueRules) {
        self.some("format", rules.format.clone());
        self.some("pattern", rules.pattern.as_ref().map(|pattern| pattern.as_str()));
        self.some("minimum", rules.minimum.map(number));
        self.some("exclusiveMinimum", rules.exclusive_minimum.then_some(true));
        self.some("maximum", rules.maximum.map(number));
        self.some("exclusiveMaximum", rules.exclusive_maximum.then_some(true));
        self.some("multipleOf", rules.multiple_of.map(number));
        self.some("minLength", rules.min_length);
        self.some("maxLength", rules.max_length);
        self.some("minItems", rules.min_items);
        self.some("maxItems", rules.max_items);
        self.some("minProperties", rules.min_properties);
        self.some("maxProperties", rules.max_properties);
        self.list("required", &rules.required);
        self.list("enum", &rules.allowed);
    }
}

/// A bound as it is written: 10, not 10.0.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 9_007_199_254_740_992.0 { Value::from(x as i64) } else { Value::from(x) }
}
