//! Validation of types, strings, formats and enumerations.

use serde_json::{Number, Value};

use super::numbers::{as_float, is_whole};
use super::outcome::Outcome;
use super::{Validation, wants};
use crate::bounded::{TEXT_BYTES, bounded};
use crate::go_format::quote;
use crate::invalid::{FieldError, Problem};
use crate::json::go_json;
use crate::schema::formats::ValueFormat;
use crate::schema::node::{JsonType, Schema};
use crate::schema::path::ValuePath;

impl Validation<'_> {
    pub(super) fn kind(self, schema: &Schema, value: &Value, path: &ValuePath<'_>) -> Outcome {
        let typed = schema.kind.is_some() || schema.int_or_string;
        let Some(found) = kind_of(value) else {
            return if typed && !schema.nullable {
                Outcome::of([self.mistyped(path, type_name(schema), "null")])
            } else {
                Outcome { matches: 1, ..Outcome::default() }
            };
        };
        let met = wants(schema, found)
            || match value {
                Value::Number(number) if found == JsonType::Number => {
                    is_whole(number) && wants(schema, JsonType::Integer)
                }
                Value::Number(_) => wants(schema, JsonType::Number),
                _ => false,
            };
        let unformatted =
            schema.rules.checked.is_some() && !matches!(found, JsonType::String | JsonType::Array);
        if unformatted && !met {
            let format = schema.rules.format.as_deref().unwrap_or_default();
            return Outcome::of([self.mistyped(path, format, format_of(found))]);
        }
        if typed && !met {
            return Outcome::of([self.mistyped(path, type_name(schema), found.name())]);
        }
        Outcome { matches: 1, ..Outcome::default() }
    }

    pub(super) fn text(self, schema: &Schema, text: &str, path: &ValuePath<'_>) -> Outcome {
        let rules = &schema.rules;
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = rules.max_length.filter(|most| length() > *most) {
            let bytes = if most == 1 { "byte" } else { "bytes" };
            let detail = match most {
                0.. => format!("may not be more than {most} {bytes}"),
                _ => "value is too long".into(),
            };
            return Outcome::of([self.error(path, Problem::TooLong, detail)]);
        }
        if let Some(least) = rules.min_length.filter(|least| length() < *least) {
            let said = format!("should be at least {least} chars long");
            return Outcome::of([self.invalid(path, text, &said)]);
        }
        let unmatched = rules.pattern.as_ref().filter(|pattern| !pattern.matches(text));
        Outcome::of(
            unmatched
                .map(|pattern| self.invalid(path, text, &format!("should match '{}'", pattern.as_str()))),
        )
    }

    pub(super) fn format(
        self,
        schema: &Schema,
        format: ValueFormat,
        text: &str,
        path: &ValuePath<'_>,
    ) -> Outcome {
        let name = schema.rules.format.as_deref().unwrap_or_default();
        Outcome::of((!format.holds(text)).then(|| self.mistyped(path, name, text)))
    }

    pub(super) fn allowed(self, schema: &Schema, value: &Value, path: &ValuePath<'_>) -> Outcome {
        let allowed = &schema.rules.allowed;
        if allowed.is_empty() || allowed.iter().any(|one| is_same(value, one)) {
            return Outcome::default();
        }
        let shown = std::fmt::from_fn(|f| {
            allowed.iter().enumerate().try_for_each(|(at, one)| {
                let between = if at == 0 { "" } else { ", " };
                match one {
                    Value::String(text) => write!(f, "{between}{}", quote(text)),
                    _ => write!(f, "{between}{}", quote(&go_json(one))),
                }
            })
        });
        let detail = bounded(TEXT_BYTES, format_args!("supported values: {shown}"));
        Outcome::of([self.error(path, Problem::NotSupported(value.clone()), detail)])
    }

    /// A type error shows the type that was found, or the text that is not of its format.
    fn mistyped(self, path: &ValuePath<'_>, wanted: &str, found: &str) -> FieldError {
        let detail = format!("{path} in body must be of type {wanted}: {}", quote(found));
        self.error(path, Problem::TypeInvalid(found.into()), detail)
    }
}

/// Returns the type of a value; null has none. Integers must fit into 64 bits with a sign.
fn kind_of(value: &Value) -> Option<JsonType> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(number) if number.as_i64().is_some() => JsonType::Integer,
        Value::Number(_) => JsonType::Number,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    })
}

/// Returns the name of the schema's type.
fn type_name(schema: &Schema) -> &'static str {
    if schema.int_or_string { "integer,string" } else { schema.kind.map_or("", JsonType::name) }
}

/// The format in type errors for values of this type, as in Kubernetes.
const fn format_of(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Integer => "int64",
        JsonType::Number => "float64",
        _ => "",
    }
}

/// Returns whether an allowed value equals a value, with numbers compared by value. Null is never
/// allowed.
fn is_same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (a, b) => a == b,
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a == b,
        _ => as_float(a) == as_float(b),
    }
}
