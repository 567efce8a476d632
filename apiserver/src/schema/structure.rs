//! Rules of structural schemas: each value has one type, declared outside of `allOf`, `anyOf`,
//! `oneOf` and `not`.

use serde_json::{Value, json};

use super::node::{Additional, JsonType, Schema};
use super::read::{forbidden, required, wrong};
use crate::bounded::{FieldErrors, short};
use crate::invalid::FieldError;

/// Returns all violations of structure, in the order of the texts.
pub(super) fn check(schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    node(schema, SchemaLevel::Root, at, &mut errors);
    junctors(schema, schema, at, at, &mut errors);
    let mut errors = errors.into_list();
    errors.sort_by_cached_key(|error| (error.is_count(), error.to_string()));
    errors
}

#[derive(Clone, Copy, PartialEq)]
enum SchemaLevel {
    Root,
    Item,
    Field,
}

fn node(schema: &Schema, level: SchemaLevel, at: &str, errors: &mut FieldErrors) {
    if schema.kind == Some(JsonType::Array) && schema.items.is_none() {
        errors.push(required(&format!("{at}.items"), "must be specified"));
    }
    if let Some(items) = &schema.items {
        node(items, SchemaLevel::Item, &format!("{at}.items"), errors);
    }
    for (name, property) in &schema.properties {
        node(property, SchemaLevel::Field, &format!("{at}.properties[{}]", short(name)), errors);
    }
    if let Some(additional) = &schema.additional {
        let at = format!("{at}.additionalProperties");
        if level == SchemaLevel::Root {
            errors.push(forbidden(&at, "must not be used at the root"));
        }
        if let Additional::Of(schema) = additional {
            node(schema, SchemaLevel::Field, &at, errors);
        }
    }
    kind(schema, level, at, errors);
    int_or_string(schema, at, errors);
    rules(schema, is_int_or_string(&schema.rules.any_of), first_is_int_or_string(schema), at, errors);
    resource(schema, level, at, errors);
}

fn kind(schema: &Schema, level: SchemaLevel, at: &str, errors: &mut FieldErrors) {
    let field = format!("{at}.type");
    match schema.kind {
        Some(JsonType::Object) => {}
        Some(kind) if schema.embedded => {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(wrong(&field, kind.name(), detail));
        }
        None if schema.embedded => {
            errors.push(required(&field, "must be object if x-kubernetes-embedded-resource is true"));
        }
        None if !schema.int_or_string && !schema.preserve_unknown => {
            let detail = match level {
                SchemaLevel::Root => "must not be empty at the root",
                SchemaLevel::Item => "must not be empty for specified array items",
                SchemaLevel::Field => "must not be empty for specified object fields",
            };
            errors.push(required(&field, detail));
        }
        _ => {}
    }
    if let (SchemaLevel::Root, Some(kind)) = (level, schema.kind)
        && kind != JsonType::Object
    {
        errors.push(wrong(&field, kind.name(), "must be object at the root"));
    }
}

fn int_or_string(schema: &Schema, at: &str, errors: &mut FieldErrors) {
    if !schema.int_or_string {
        return;
    }
    let other = [
        ("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown),
        ("x-kubernetes-embedded-resource", schema.embedded),
    ];
    for (extension, _) in other.into_iter().filter(|(_, set)| *set) {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.push(wrong(&format!("{at}.{extension}"), true, detail));
    }
}

/// Checks the schema of a Kubernetes object: the root, or an embedded resource.
fn resource(schema: &Schema, level: SchemaLevel, at: &str, errors: &mut FieldErrors) {
    if schema.embedded && schema.additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden(&format!("{at}.additionalProperties"), detail));
    }
    if schema.embedded && !schema.preserve_unknown && schema.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(required(&format!("{at}.properties"), detail));
    }
    if level != SchemaLevel::Root && !schema.embedded {
        return;
    }
    for (name, expected) in
        [("kind", JsonType::String), ("apiVersion", JsonType::String), ("metadata", JsonType::Object)]
    {
        if let Some(property) = schema.properties.get(name)
            && property.kind != Some(expected)
        {
            let found = property.kind.map_or("", JsonType::name);
            let detail = format!("must be {}", expected.name());
            errors.push(wrong(&format!("{at}.properties[{}].type", short(name)), found, detail));
        }
    }
    if let (SchemaLevel::Root, Some(metadata)) = (level, schema.properties.get("metadata"))
        && !restricts_names_only(metadata)
    {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(forbidden(&format!("{at}.properties[metadata]"), detail));
    }
}

fn restricts_names_only(metadata: &Schema) -> bool {
    let names = ["name", "generateName"];
    metadata.properties.keys().all(|name| names.contains(&name.as_str()))
        && metadata.written().keys().all(|key| ["type", "default", "properties"].contains(&key.as_str()))
}

/// Returns whether `anyOf` has the structure that is allowed in it: the two types of an
/// int-or-string.
fn is_int_or_string(any_of: &[Schema]) -> bool {
    let written =
        |schema: &Schema, kind: JsonType| Value::Object(schema.written()) == json!({ "type": kind.name() });
    matches!(any_of, [first, second] if written(first, JsonType::Integer) && written(second, JsonType::String))
}

fn first_is_int_or_string(schema: &Schema) -> bool {
    schema.rules.all_of.first().is_some_and(|first| is_int_or_string(&first.rules.any_of))
}

fn rules(schema: &Schema, skip_any_of: bool, skip_first: bool, at: &str, errors: &mut FieldErrors) {
    let rules = &schema.rules;
    if !skip_any_of {
        for (i, branch) in rules.any_of.iter().enumerate() {
            nested(branch, false, &format!("{at}.anyOf[{i}]"), errors);
        }
    }
    for (i, branch) in rules.all_of.iter().enumerate() {
        nested(branch, skip_first && i == 0, &format!("{at}.allOf[{i}]"), errors);
    }
    for (i, branch) in rules.one_of.iter().enumerate() {
        nested(branch, false, &format!("{at}.oneOf[{i}]"), errors);
    }
    if let Some(branch) = &rules.not {
        nested(branch, false, &format!("{at}.not"), errors);
    }
}

/// Checks a schema below a junctor, which may only restrict values.
fn nested(schema: &Schema, skip_any_of: bool, at: &str, errors: &mut FieldErrors) {
    rules(schema, skip_any_of, false, at, errors);
    if let Some(items) = &schema.items {
        nested(items, false, &format!("{at}.items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &format!("{at}.properties[{}]", short(name)), errors);
    }
    let structure = [
        ("type", schema.kind.is_some(), "must be empty to be structural"),
        (
            "additionalProperties",
            matches!(schema.additional, Some(Additional::Any | Additional::Of(_))),
            "must be undefined to be structural",
        ),
        ("default", schema.default.is_some(), "must be undefined to be structural"),
        ("title", schema.notes.title.is_some(), "must be empty to be structural"),
        ("description", schema.notes.description.is_some(), "must be empty to be structural"),
        ("nullable", schema.nullable, "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown, "must be false to be structural"),
        ("x-kubernetes-embedded-resource", schema.embedded, "must be false to be structural"),
        ("x-kubernetes-int-or-string", schema.int_or_string, "must be false to be structural"),
        ("x-kubernetes-list-map-keys", !schema.list_keys.is_empty(), "must be empty to be structural"),
        ("x-kubernetes-list-type", schema.list.is_some(), "must be undefined to be structural"),
        ("x-kubernetes-map-type", schema.map.is_some(), "must be undefined to be structural"),
        ("x-kubernetes-validations", !schema.validations.is_empty(), "must be empty to be structural"),
        (
            "properties[metadata]",
            schema.properties.contains_key("metadata"),
            "must not be specified in a nested context",
        ),
    ];
    for (key, _, detail) in structure.into_iter().filter(|(_, found, _)| *found) {
        errors.push(forbidden(&format!("{at}.{key}"), detail));
    }
}

/// Checks that the fields that a junctor at the root restricts are declared: `schema` is the
/// junctor's, `structure` the one at the same position.
fn junctors(schema: &Schema, structure: &Schema, at: &str, said: &str, errors: &mut FieldErrors) {
    let rules = &schema.rules;
    if let Some(branch) = &rules.not {
        described(branch, structure, at, &format!("{said}.not"), errors);
    }
    for (key, branches) in [("allOf", &rules.all_of), ("anyOf", &rules.any_of), ("oneOf", &rules.one_of)] {
        for (i, branch) in branches.iter().enumerate() {
            described(branch, structure, at, &format!("{said}.{key}[{i}]"), errors);
        }
    }
}

fn described(schema: &Schema, structure: &Schema, at: &str, said: &str, errors: &mut FieldErrors) {
    junctors(schema, structure, at, said, errors);
    let mut child = |schema: &Schema, structure: Option<&Schema>, step: &str| {
        let (at, said) = (format!("{at}.{step}"), format!("{said}.{step}"));
        match structure {
            Some(structure) => described(schema, structure, &at, &said, errors),
            None => errors.push(required(&at, &format!("because it is defined in {said}"))),
        }
    };
    if let Some(items) = &schema.items {
        child(items, structure.items.as_deref(), "items");
    }
    for (name, property) in &schema.properties {
        child(property, structure.properties.get(name), &format!("properties[{}]", short(name)));
    }
}
