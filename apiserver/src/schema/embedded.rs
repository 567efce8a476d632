//! Embedded resources (`x-kubernetes-embedded-resource`): Kubernetes objects within an object.

use serde_json::Value;

use super::node::{Additional, Schema};
use super::path::ValuePath;
use super::read::{required, wrong};
use crate::bounded::FieldErrors;
use crate::invalid::FieldError;
use crate::meta::names::{MIXED_CASE, dns_1035_label};

impl Schema {
    /// Calls a function with the metadata of each embedded resource, and its place:
    /// `spec.template.metadata`. The root's own is not among them.
    pub(crate) fn embedded_metadata<'v>(&self, object: &'v Value, visit: &mut dyn FnMut(&str, &'v Value)) {
        walk(self, object, &ValuePath::start(""), &mut |value, path| {
            if let Some(metadata) = value.get("metadata") {
                visit(&path.field("metadata").to_string(), metadata);
            }
        });
    }

    /// Calls a function with the metadata of each embedded resource, to be changed: unknown fields
    /// are pruned from it as from the root's.
    pub(crate) fn change_embedded_metadata(
        &self,
        object: &mut Value,
        change: &mut dyn FnMut(&str, &mut Value),
    ) {
        walk_mut(self, object, &ValuePath::start(""), change);
    }
}

/// Returns the errors of the embedded resources of a value at a field. Their metadata is validated
/// by the caller, with [`crate::meta`]; here it must be an object whose name can be part of a path.
pub(super) fn check(schema: &Schema, value: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    walk(schema, value, &ValuePath::start(at), &mut |value, path| {
        for (name, check) in [("apiVersion", api_version as fn(&Value, &str) -> _), ("kind", kind)] {
            let at = path.field(name).to_string();
            match value.get(name) {
                Some(value) => errors.extend(check(value, &at)),
                None => errors.push(required(&at, "")),
            }
        }
        if let Some(metadata) = value.get("metadata") {
            errors.extend(check_metadata(metadata, &path.field("metadata").to_string()));
        }
    });
    errors.into_list()
}

pub(super) fn api_version(value: &Value, at: &str) -> Option<FieldError> {
    let detail = match value.as_str() {
        None => "must be a string".into(),
        Some("") => "must not be empty".into(),
        Some(text) if text.matches('/').count() > 1 => format!("unexpected GroupVersion string: {text}"),
        Some(_) => return None,
    };
    Some(wrong(at, value.clone(), detail))
}

pub(super) fn kind(value: &Value, at: &str) -> Option<FieldError> {
    let detail = match value.as_str() {
        None => "must be a string".into(),
        Some("") => "must not be empty".into(),
        Some(text) => not_a_label(&text.to_lowercase())?,
    };
    Some(wrong(at, value.clone(), detail))
}

fn not_a_label(text: &str) -> Option<String> {
    let wrong = dns_1035_label(text);
    (!wrong.is_empty()).then(|| format!("{MIXED_CASE}{}", wrong.join(",")))
}

fn check_metadata(metadata: &Value, at: &str) -> Vec<FieldError> {
    if metadata.is_null() {
        return Vec::new();
    }
    let Some(fields) = metadata.as_object() else {
        return vec![wrong(at, metadata.clone(), "must be an object")];
    };
    let mut errors = Vec::new();
    for (name, whole) in [("name", true), ("generateName", false)] {
        let Some(value) = fields.get(name).filter(|value| !value.is_null()) else { continue };
        let at = format!("{at}.{name}");
        let Some(text) = value.as_str() else {
            errors.push(wrong(&at, value.clone(), "must be a string"));
            continue;
        };
        if whole && [".", ".."].contains(&text) {
            errors.push(wrong(&at, text, format!("may not be '{text}'")));
            continue;
        }
        for part in ["/", "%"].into_iter().filter(|part| text.contains(part)) {
            errors.push(wrong(&at, text, format!("may not contain '{part}'")));
        }
    }
    errors
}

/// Visits each embedded resource that is an object.
fn walk<'v>(
    schema: &Schema,
    value: &'v Value,
    path: &ValuePath<'_>,
    visit: &mut dyn FnMut(&'v Value, &ValuePath<'_>),
) {
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                visit(value, path);
            }
            for (name, field) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => walk(property, field, &path.field(name), visit),
                    (None, Some(Additional::Of(each))) => walk(each, field, &path.key(name), visit),
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    walk(each, item, &path.index(i), visit);
                }
            }
        }
        _ => {}
    }
}

fn walk_mut(
    schema: &Schema,
    value: &mut Value,
    path: &ValuePath<'_>,
    change: &mut dyn FnMut(&str, &mut Value),
) {
    match value {
        Value::Object(fields) => {
            if schema.embedded
                && let Some(metadata) = fields.get_mut("metadata")
            {
                change(&path.field("metadata").to_string(), metadata);
            }
            for (name, field) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => walk_mut(property, field, &path.field(name), change),
                    (None, Some(Additional::Of(each))) => walk_mut(each, field, &path.key(name), change),
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = &schema.items {
                for (i, item) in items.iter_mut().enumerate() {
                    walk_mut(each, item, &path.index(i), change);
                }
            }
        }
        _ => {}
    }
}
