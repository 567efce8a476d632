//! Further rules of a declared schema, structural or not: list and map types, and the allowed
//! positions of defaults.

use serde_json::{Value, json};

use super::node::{Additional, DeclaredListType, JsonType, META_FIELDS, MapType, Schema};
use super::read::{forbidden, required, wrong};
use crate::bounded::{FieldErrors, short};
use crate::invalid::FieldError;

pub(super) fn check(schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut checker = Checker { errors: FieldErrors::default() };
    checker.node(schema, at, &NodeContext { root: true, ..NodeContext::default() });
    checker.errors.into_list()
}

/// The context of a node.
#[derive(Clone, Default)]
struct NodeContext {
    root: bool,
    /// Within apiVersion, kind or metadata of an object.
    meta: bool,
    /// Why no default may stand here.
    no_default: Option<String>,
}

struct Checker {
    errors: FieldErrors,
}

impl Checker {
    fn node(&mut self, schema: &Schema, at: &str, around: &NodeContext) {
        if let (Some(_), Some(reason)) = (&schema.default, &around.no_default) {
            self.errors.push(forbidden(&format!("{at}.default"), &format!("must not be set {reason}")));
        }
        if around.meta && schema.embedded {
            let detail = "must not be used inside of resource meta";
            self.errors.push(forbidden(&format!("{at}.x-kubernetes-embedded-resource"), detail));
        }
        self.map_type(schema, at);
        self.list_type(schema, at);
        self.list_keys(schema, at);
        self.list_items(schema, at);
        self.children(schema, at, around);
    }

    fn children(&mut self, schema: &Schema, at: &str, around: &NodeContext) {
        let below = NodeContext { root: false, ..around.clone() };
        self.additional(schema, at, &below);
        for (name, property) in &schema.properties {
            let mut below = below.clone();
            if (around.root || schema.embedded) && META_FIELDS.contains(&name.as_str()) {
                below.meta = true;
                if around.root {
                    below.no_default = Some(format!("in top-level {name}"));
                }
            }
            self.node(property, &format!("{at}.properties[{}]", short(name)), &below);
        }
        if let Some(items) = &schema.items {
            self.node(items, &format!("{at}.items"), &below);
        }
        let rules = &schema.rules;
        if let Some(branch) = &rules.not {
            self.node(branch, &format!("{at}.not"), &below);
        }
        for (key, branches) in [("allOf", &rules.all_of), ("oneOf", &rules.one_of), ("anyOf", &rules.any_of)]
        {
            for (i, branch) in branches.iter().enumerate() {
                self.node(branch, &format!("{at}.{key}[{i}]"), &below);
            }
        }
    }

    /// Structs have properties, and maps additionalProperties: both would contradict pruning.
    fn additional(&mut self, schema: &Schema, at: &str, below: &NodeContext) {
        let at = format!("{at}.additionalProperties");
        if !schema.properties.is_empty()
            && matches!(schema.additional, Some(Additional::Nothing | Additional::Of(_)))
        {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.errors.push(forbidden(&at, detail));
        }
        if let Some(Additional::Of(additional)) = &schema.additional {
            let mut below = below.clone();
            if below.meta {
                below.no_default = Some("inside additionalProperties applying to object metadata".into());
            }
            self.node(additional, &at, &below);
        }
    }

    fn map_type(&mut self, schema: &Schema, at: &str) {
        if schema.map.is_some() && schema.kind != Some(JsonType::Object) {
            self.kind(schema, at, "must be object if x-kubernetes-map-type is specified");
        }
    }

    fn list_type(&mut self, schema: &Schema, at: &str) {
        if schema.list.is_some() && schema.kind != Some(JsonType::Array) {
            self.kind(schema, at, "must be array if x-kubernetes-list-type is specified");
            return;
        }
        let (Some(DeclaredListType::Set), Some(items)) = (schema.list, &schema.items) else { return };
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        match (items.kind, items.list, items.map) {
            (Some(JsonType::Array), Some(list @ (DeclaredListType::Set | DeclaredListType::Map)), _) => {
                let at = format!("{at}.items.x-kubernetes-list-type");
                self.errors.push(wrong(&at, list.name(), detail));
            }
            (Some(JsonType::Object), list, None | Some(MapType::Granular)) => {
                let found = list.map_or(Value::Null, |list| list.name().into());
                self.errors.push(wrong(&format!("{at}.items.x-kubernetes-map-type"), found, detail));
            }
            _ => {}
        }
    }

    fn list_keys(&mut self, schema: &Schema, at: &str) {
        let keys_at = format!("{at}.x-kubernetes-list-map-keys");
        let type_at = format!("{at}.x-kubernetes-list-type");
        let not_map = "must be map if x-kubernetes-list-map-keys is non-empty";
        match schema.list {
            Some(DeclaredListType::Map) if schema.list_keys.is_empty() => {
                let detail = "must not be empty if x-kubernetes-list-type is map";
                self.errors.push(required(&keys_at, detail));
            }
            None if !schema.list_keys.is_empty() => self.errors.push(required(&type_at, not_map)),
            Some(list @ (DeclaredListType::Atomic | DeclaredListType::Set))
                if !schema.list_keys.is_empty() =>
            {
                self.errors.push(wrong(&type_at, list.name(), not_map));
            }
            _ => {}
        }
        if schema.list != Some(DeclaredListType::Map) {
            return;
        }
        let Some(items) = &schema.items else {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            self.errors.push(required(&format!("{at}.items"), detail));
            return;
        };
        if items.kind != Some(JsonType::Object) {
            let found = items.kind.map_or("", JsonType::name);
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.errors.push(wrong(&format!("{at}.items.type"), found, detail));
            return;
        }
        for (i, key) in schema.list_keys.iter().enumerate() {
            match items.properties.get(key).map(|property| property.kind) {
                Some(Some(JsonType::Array | JsonType::Object)) => {
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    let at = format!("{at}.items.properties[{}].type", short(key));
                    self.errors.push(wrong(&at, JsonType::Object.name(), detail));
                }
                Some(_) => {}
                None => {
                    let detail = "entries must all be names of item properties";
                    self.errors.push(wrong(&keys_at, json!(schema.list_keys), detail));
                }
            }
            if schema.list_keys[..i].contains(key) {
                let detail = "must not contain duplicate entries";
                self.errors.push(wrong(&keys_at, json!(schema.list_keys), detail));
            }
        }
    }

    /// An item of a set or a map is there, and so are its keys.
    fn list_items(&mut self, schema: &Schema, at: &str) {
        let (Some(list @ (DeclaredListType::Set | DeclaredListType::Map)), Some(items)) =
            (schema.list, &schema.items)
        else {
            return;
        };
        if items.nullable {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {}", list.name());
            self.errors.push(forbidden(&format!("{at}.items.nullable"), &detail));
        }
        if list != DeclaredListType::Map {
            return;
        }
        for key in &schema.list_keys {
            let Some(property) = items.properties.get(key) else { continue };
            let at = format!("{at}.items.properties[{}]", short(key));
            if !items.rules.required.contains(key) && property.default.is_none() {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.errors.push(required(&format!("{at}.default"), detail));
            }
            if property.nullable {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.errors.push(forbidden(&format!("{at}.nullable"), detail));
            }
        }
    }

    fn kind(&mut self, schema: &Schema, at: &str, detail: &str) {
        let at = format!("{at}.type");
        self.errors.push(match schema.kind {
            Some(kind) => wrong(&at, kind.name(), detail),
            None => required(&at, detail),
        });
    }
}
