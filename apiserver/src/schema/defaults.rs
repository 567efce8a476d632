//! Validation of defaults: each must be valid and without unknown fields. Those below
//! `additionalProperties` are not checked: Kubernetes accepts them unseen.

use serde_json::Value;

use super::node::{META_FIELDS, Schema};
use super::read::{forbidden, wrong};
use super::{embedded, validate};
use crate::bounded::{FieldErrors, short};
use crate::invalid::FieldError;

/// Returns the errors of a structural schema's defaults. Those in the root's own metadata are not
/// checked: they are forbidden altogether.
pub(super) fn check(root: &Schema, at: &str) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    if let Some(default) = &root.default {
        let root = Schema { embedded: true, ..root.clone() };
        errors.extend(value(&root, default, &format!("{at}.default")));
    }
    children(root, at, true, &mut errors);
    errors.into_list()
}

fn node(schema: &Schema, at: &str, errors: &mut FieldErrors) {
    if let Some(default) = &schema.default {
        errors.extend(value(schema, default, &format!("{at}.default")));
    }
    children(schema, at, false, errors);
}

fn children(schema: &Schema, at: &str, root: bool, errors: &mut FieldErrors) {
    if let Some(items) = &schema.items {
        node(items, &format!("{at}.items"), errors);
    }
    for (name, property) in &schema.properties {
        let at = format!("{at}.properties[{}]", short(name));
        match META_FIELDS.contains(&name.as_str()) {
            true if root => {}
            true if schema.embedded => meta(name, property, &at, errors),
            _ => node(property, &at, errors),
        }
    }
}

fn value(schema: &Schema, default: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut pruned = default.clone();
    schema.prune_as(&mut pruned, schema.embedded);
    if pruned != *default {
        errors.push(wrong(at, default.clone(), "must not have unknown fields"));
    }
    let mut wrong = embedded::check(schema, default, at);
    if wrong.is_empty() {
        wrong = validate::check(schema, default, None, Some(at));
    }
    errors.extend(wrong);
    errors
}

/// A default within the metadata of an embedded resource cannot be checked without its context.
fn meta(name: &str, schema: &Schema, at: &str, errors: &mut FieldErrors) {
    if let Some(default) = &schema.default {
        let at = format!("{at}.default");
        let wrong = match name {
            "metadata" => Some(forbidden(&at, NO_METADATA)),
            "kind" => embedded::kind(default, name).map(|error| in_metadata(&at, default, &error)),
            _ => embedded::api_version(default, name).map(|error| in_metadata(&at, default, &error)),
        };
        errors.extend(wrong);
        errors.extend(validate::check(schema, default, None, Some(&at)));
    }
    for (name, property) in &schema.properties {
        no_defaults(property, &format!("{at}.properties[{}]", short(name)), errors);
    }
}

fn in_metadata(at: &str, default: &Value, error: &FieldError) -> FieldError {
    wrong(at, default.clone(), format!("must result in valid metadata: {error}"))
}

fn no_defaults(schema: &Schema, at: &str, errors: &mut FieldErrors) {
    if schema.default.is_some() {
        errors.push(forbidden(&format!("{at}.default"), NO_METADATA));
    }
    if let Some(items) = &schema.items {
        no_defaults(items, &format!("{at}.items"), errors);
    }
    for (name, property) in &schema.properties {
        no_defaults(property, &format!("{at}.properties[{}]", short(name)), errors);
    }
}

const NO_METADATA: &str = "defaults within the metadata of an embedded resource are not supported";
