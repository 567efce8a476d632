//! The built-in types as OpenAPI.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use crate::builtin::{Base, Cardinality, Merge, MessageField, Type, table};
use crate::openapi::Components;

/// The schemas of all built-in types, by name.
pub(crate) fn components() -> Arc<Components> {
    static COMPONENTS: LazyLock<Arc<Components>> = LazyLock::new(|| {
        let mut all: Components = table().types().map(|of| (of.name.clone(), schema(of))).collect();
        all.extend(DEFINITION_TYPES.clone());
        Arc::new(all)
    });
    COMPONENTS.clone()
}

/// The types of CustomResourceDefinitions, which clients explain field by field.
static DEFINITION_TYPES: LazyLock<Components> = LazyLock::new(|| {
    serde_json::from_str(include_str!("definition_types.json")).expect("a test reads it whole")
});

/// Returns the schema of CustomResourceDefinitions, with references to those of their types.
pub(crate) fn definition() -> Value {
    const NAME: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
    DEFINITION_TYPES.get(NAME).cloned().unwrap_or_default()
}

/// Returns the schema of a type, with references to those of others.
pub(crate) fn schema(of: &Type) -> Value {
    let mut properties = Map::new();
    collect(of, &mut properties);
    // Empty ones are lost when Go reads and writes a document again.
    match properties.is_empty() {
        true => json!({"type": "object"}),
        false => json!({"type": "object", "properties": properties}),
    }
}

fn collect(of: &Type, properties: &mut Map<String, Value>) {
    for field in &of.fields {
        match field.base {
            Base::Message(of) if field.name.is_empty() => collect(table().get(of), properties),
            _ if field.name.is_empty() => {}
            _ => drop(properties.insert(field.name.clone(), property(field))),
        }
    }
}

fn property(field: &MessageField) -> Value {
    let one = match field.base {
        Base::String => json!({"type": "string"}),
        Base::Bool => json!({"type": "boolean"}),
        Base::Int32 => json!({"type": "integer", "format": "int32"}),
        Base::Int64 => json!({"type": "integer", "format": "int64"}),
        Base::Bytes => json!({"type": "string", "format": "byte"}),
        Base::Strings => json!({"type": "array", "items": {"type": "string"}}),
        Base::Time | Base::MicroTime => json!({"type": "string", "format": "date-time"}),
        Base::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        Base::IntOrString => {
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
        }
        Base::RawExtension | Base::FieldsV1 => json!({"type": "object"}),
        Base::Double => json!({"type": "number", "format": "double"}),
        Base::Json | Base::SchemaOrBool(_) | Base::SchemaOrArray(_) | Base::SchemaOrStrings(_) => json!({}),
        Base::Message(of) => json!({"$ref": format!("#/components/schemas/{}", table().get(of).name)}),
    };
    let mut property = match field.shape {
        Cardinality::One => one,
        Cardinality::List => json!({"type": "array", "items": one}),
        Cardinality::Map => json!({"type": "object", "additionalProperties": one}),
    };
    if let Some(strategy) = &field.patch_strategy {
        property["x-kubernetes-patch-strategy"] = strategy.as_str().into();
    }
    if let Some(key) = &field.patch_merge_key {
        property["x-kubernetes-patch-merge-key"] = key.as_str().into();
    }
    match (&field.merge, field.shape) {
        (Merge::Keyed(keys), _) => {
            property["x-kubernetes-list-type"] = "map".into();
            property["x-kubernetes-list-map-keys"] = keys.iter().map(String::as_str).collect();
        }
        (Merge::Set, _) => property["x-kubernetes-list-type"] = "set".into(),
        (Merge::Atomic, _) => property["x-kubernetes-map-type"] = "atomic".into(),
        (Merge::Plainly, Cardinality::List) => property["x-kubernetes-list-type"] = "atomic".into(),
        (Merge::Plainly, _) => {}
    }
    property
}
