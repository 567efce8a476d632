//! Validates values against a schema, with Kubernetes' messages. Ratcheting tolerates errors of
//! unchanged values.

mod numbers;
mod objects;
mod outcome;
mod scalars;

use std::cell::Cell;

use serde_json::Value;

use super::node::{JsonType, Schema};
use super::path::ValuePath;
use super::{correlate, embedded, lists};
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};
use outcome::Outcome;

/// Maximum cost of validating one value. A step is a value under one schema: the branches of
/// junctors multiply the values.
const STEPS: u64 = 4_000_000;
/// Values of an enum that are compared in one step.
const ALLOWED_PER_STEP: usize = 8;
/// Bytes of a text that are compared with the rules of one schema in one step.
const BYTES_PER_STEP: usize = 64;

impl Schema {
    /// Returns the errors of an object. With `old`, unchanged values are tolerated (ratcheting), so
    /// that an object outlives a schema that has become stricter.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors: FieldErrors = check(self, object, old, None).into_iter().collect();
        errors.extend(embedded::check(self, object, ""));
        errors.extend(self.check_lists(object, old));
        errors.into_list()
    }

    /// The first value that is not of its type.
    pub(crate) fn type_error(&self, object: &Value) -> Option<String> {
        let mut object = object.clone();
        self.default(&mut object); // what is null is not there
        let mut errors = check(self, &object, None, None).into_iter();
        errors.find(|error| matches!(error.problem, Problem::TypeInvalid(_))).map(|error| error.to_string())
    }

    /// Returns the errors of the status of an object, when only the status is written.
    pub(crate) fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let (Some(schema), Some(status)) = (self.properties.get("status"), object.get("status")) {
            errors = check(schema, status, old.get("status"), Some("status"));
        }
        errors.extend(self.check_lists(object, Some(old)));
        errors
    }

    /// Lists are as they were, or all in order.
    fn check_lists(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = lists::check(self, object, "");
        let tolerated = !errors.is_empty() && old.is_some_and(|old| !lists::check(self, old, "").is_empty());
        if tolerated { Vec::new() } else { errors }
    }
}

/// Returns the errors of a value at a field, or of the whole object.
pub(super) fn check(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: Option<&str>,
) -> Vec<FieldError> {
    let left = Cell::new(STEPS);
    let outcome = Validation { at, left: &left }.value(schema, value, old, &ValuePath::start(""));
    if left.get() > 0 {
        return outcome.into_errors();
    }
    let detail = format!(
        "validation would take more than {STEPS} steps: make the value smaller, or its schema simpler, with fewer \
         branches of anyOf, oneOf and allOf, and shorter enums"
    );
    vec![FieldError::new(at.unwrap_or("<nil>"), Problem::Forbidden, detail)]
}

/// The context of one validation.
#[derive(Clone, Copy)]
struct Validation<'a> {
    /// A prefix of each field, omitted in the messages.
    at: Option<&'a str>,
    /// The steps that are left.
    left: &'a Cell<u64>,
}

impl Validation<'_> {
    /// Takes from the steps that are left. Returns false once they do not suffice: the value is
    /// refused, and everything else is skipped.
    fn take_steps(self, steps: u64) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.left.get() > 0
    }

    /// Validates a value, and tolerates an unchanged one.
    fn value(self, schema: &Schema, value: &Value, old: Option<&Value>, path: &ValuePath<'_>) -> Outcome {
        let mut outcome = self.changed_value(schema, value, old, path);
        // The version in which an object was written is not known, so its type is always judged.
        let is_root_or_type = self.at.is_none() && (path.is_empty() || path.is_type_meta());
        let is_unchanged = || old.is_some_and(|old| correlate::same(schema, value, old));
        if !outcome.errors.is_empty() && !is_root_or_type && is_unchanged() {
            outcome.errors.clear();
        }
        outcome
    }

    /// Validates a changed value, in which parts may be unchanged.
    fn changed_value(
        self,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        path: &ValuePath<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if !self.take_steps(steps(schema, value)) {
            return outcome;
        }
        if value.is_null() {
            outcome.merge(self.kind(schema, value, path));
            outcome.merge(self.allowed(schema, value, path));
            return outcome;
        }
        if has_kind(schema) {
            outcome.met(self.kind(schema, value, path));
        }
        outcome.met(self.junctors(schema, value, path));
        match value {
            Value::String(text) => {
                outcome.met(self.text(schema, text, path));
                if let Some(format) = schema.rules.checked.filter(|format| format.is_text()) {
                    outcome.met(self.format(schema, format, text, path));
                }
            }
            Value::Number(number) => outcome.met(self.number(schema, number, path)),
            Value::Array(items) => outcome.met(self.items(schema, items, old, path)),
            _ => {}
        }
        outcome.met(self.allowed(schema, value, path));
        if let Value::Object(fields) = value {
            outcome.met(self.fields(schema, fields, old, path));
        }
        outcome.matches += 1;
        outcome
    }

    /// Validates `anyOf` (one or more), `oneOf` (exactly one), `allOf` and `not`. No ratcheting
    /// within them: they restrict the value as a whole.
    fn junctors(self, schema: &Schema, value: &Value, path: &ValuePath<'_>) -> Outcome {
        let rules = &schema.rules;
        let branch = |schema: &Schema| self.changed_value(schema, value, None, path);
        let mut outcome = Outcome::default();
        if !rules.any_of.is_empty() {
            self.any(&rules.any_of, branch, path, &mut outcome);
        }
        if !rules.one_of.is_empty() {
            self.one(&rules.one_of, branch, path, &mut outcome);
        }
        if !rules.all_of.is_empty() {
            self.all(&rules.all_of, branch, path, &mut outcome);
        }
        if rules.not.as_deref().is_some_and(|schema| branch(schema).errors.is_empty()) {
            outcome.errors.push(self.unplaced(format!("{} must not validate the schema (not)", quote(path))));
        }
        outcome.matches += 1;
        outcome
    }

    fn any(
        self,
        schemas: &[Schema],
        branch: impl Fn(&Schema) -> Outcome,
        path: &ValuePath<'_>,
        outcome: &mut Outcome,
    ) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let found = branch(schema);
            if found.errors.is_empty() {
                return outcome.merge(found);
            }
            if best.as_ref().is_none_or(|best| found.matches > best.matches) {
                best = Some(found);
            }
        }
        let detail = format!("{} must validate at least one schema (anyOf)", quote(path));
        outcome.errors.push(self.unplaced(detail));
        outcome.merge(best.unwrap_or_default());
    }

    fn one(
        self,
        schemas: &[Schema],
        branch: impl Fn(&Schema) -> Outcome,
        path: &ValuePath<'_>,
        outcome: &mut Outcome,
    ) {
        let (mut valid, mut first, mut best) = (0, None, None::<Outcome>);
        for schema in schemas {
            let found = branch(schema);
            if found.errors.is_empty() {
                valid += 1;
                first.get_or_insert(found);
            } else if best.as_ref().is_none_or(|best| found.matches > best.matches) {
                best = Some(found);
            }
        }
        let why = match valid {
            1 => return outcome.merge(first.unwrap_or_default()),
            0 => "Found none valid".to_owned(),
            _ => format!("Found {valid} valid alternatives"),
        };
        let detail = format!("{} must validate one and only one schema (oneOf). {why}", quote(path));
        outcome.errors.push(self.unplaced(detail));
        if valid == 0 {
            outcome.merge(best.unwrap_or_default());
        }
    }

    fn all(
        self,
        schemas: &[Schema],
        branch: impl Fn(&Schema) -> Outcome,
        path: &ValuePath<'_>,
        outcome: &mut Outcome,
    ) {
        let mut valid = 0;
        for schema in schemas {
            let found = branch(schema);
            valid += usize::from(found.errors.is_empty());
            outcome.merge(found);
        }
        if valid < schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let detail = format!("{} must validate all the schemas (allOf){none}", quote(path));
            outcome.errors.push(self.unplaced(detail));
        }
    }
}

/// Returns the cost of a value without the values in it, in steps.
fn steps(schema: &Schema, value: &Value) -> u64 {
    let enumerated = schema.rules.allowed.len() / ALLOWED_PER_STEP;
    let text = value.as_str().map_or(0, |text| text.len() / BYTES_PER_STEP);
    1 + (enumerated + text) as u64
}

fn has_kind(schema: &Schema) -> bool {
    schema.kind.is_some() || schema.int_or_string || schema.rules.checked.is_some()
}

fn quote(path: &ValuePath<'_>) -> String {
    crate::go_format::quote(&path.to_string())
}

/// Returns whether a schema wants this kind, by its type or as an int-or-string.
fn wants(schema: &Schema, kind: JsonType) -> bool {
    if schema.int_or_string {
        return matches!(kind, JsonType::Integer | JsonType::String);
    }
    schema.kind == Some(kind)
}
