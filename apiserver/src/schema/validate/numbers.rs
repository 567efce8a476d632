//! Validation of numbers: bounds, multiples, and ranges of formats.

use serde_json::Number;

use super::Validation;
use super::outcome::Outcome;
use crate::go_format::format_float;
use crate::invalid::{FieldError, Problem};
use crate::schema::formats::ValueFormat;
use crate::schema::node::{JsonType, Schema};
use crate::schema::path::ValuePath;

/// The largest integer that a float represents unambiguously: 2^53 - 1.
const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;

pub(super) fn as_float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Returns whether a float is an integer, up to the precision of floats.
pub(super) fn is_whole(number: &Number) -> bool {
    let x = as_float(number);
    if !x.is_finite() || x.abs() > LARGEST_EXACT {
        return false;
    }
    let rounded = x.round();
    x == rounded || (rounded != 0.0 && (x - rounded).abs() < 1e-9 * rounded.abs())
}

impl Validation<'_> {
    pub(super) fn number(self, schema: &Schema, number: &Number, path: &ValuePath<'_>) -> Outcome {
        let rules = &schema.rules;
        let mut errors = Vec::new();
        errors.extend(self.range(schema, number, path));
        if let Some(factor) = rules.multiple_of {
            errors.extend(self.multiple(number, factor, path));
        }
        if let Some(most) = rules.maximum {
            let (said, beyond) = if rules.exclusive_maximum {
                ("less than", !is_less(number, most))
            } else {
                ("less than or equal to", is_more(number, most))
            };
            errors.extend(beyond.then(|| self.bound(number, said, most, path)));
        }
        if let Some(least) = rules.minimum {
            let (said, beyond) = if rules.exclusive_minimum {
                ("greater than", !is_more(number, least))
            } else {
                ("greater than or equal to", is_less(number, least))
            };
            errors.extend(beyond.then(|| self.bound(number, said, least, path)));
        }
        Outcome { errors, matches: 1, ..Outcome::default() }
    }

    fn bound(self, number: &Number, said: &str, bound: f64, path: &ValuePath<'_>) -> FieldError {
        let said = format!("should be {said} {}", shown_with_bound(number, bound));
        self.invalid(path, number.clone(), &said)
    }

    fn multiple(self, number: &Number, factor: f64, path: &ValuePath<'_>) -> Option<FieldError> {
        if factor <= 0.0 {
            let shown = shown_with_bound(number, factor);
            let said = format!("factor MultipleOf declared for {path} must be positive: {shown}");
            return Some(self.error(path, Problem::Invalid(factor.into()), said));
        }
        let met = match (number.as_i64(), whole(factor)) {
            (Some(number), Some(factor)) => number % factor == 0,
            _ => {
                let x = as_float(number);
                let times = if factor < 1.0 { 1.0 / factor * x } else { x / factor };
                Number::from_f64(times).is_some_and(|times| is_whole(&times))
            }
        };
        let said = || format!("should be a multiple of {}", shown_with_bound(number, factor));
        (!met).then(|| self.invalid(path, number.clone(), &said()))
    }

    /// Returns an error for a number out of the range of the type and its format.
    fn range(self, schema: &Schema, number: &Number, path: &ValuePath<'_>) -> Option<FieldError> {
        let format = if schema.int_or_string { None } else { schema.rules.checked };
        let fits = match (schema.kind, format) {
            _ if schema.int_or_string => true,
            (Some(JsonType::Integer), Some(ValueFormat::Int32)) => {
                nearest(number).is_some_and(|whole| i32::try_from(whole).is_ok())
            }
            (Some(JsonType::Integer), _) => nearest(number).is_some(),
            (Some(JsonType::Number), Some(ValueFormat::Float)) => {
                as_float(number).abs() <= f64::from(f32::MAX)
            }
            _ => true,
        };
        let kind = schema.kind.map_or("", JsonType::name);
        let with = match format {
            Some(ValueFormat::Int32 | ValueFormat::Int64 | ValueFormat::Float | ValueFormat::Double) => {
                format!("with format {}", schema.rules.format.as_deref().unwrap_or_default())
            }
            _ => "(default format)".into(),
        };
        (!fits).then(|| self.unplaced(format!("Checked value must be of type {kind} {with} in {path}")))
    }
}

/// Returns the value of an integer, also of one written as a float.
fn nearest(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| as_float(number).to_string().parse().ok())
}

/// A float that is an integer of 64 bits.
fn whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < 9_223_372_036_854_775_808.0).then_some(x as i64)
}

fn is_less(number: &Number, bound: f64) -> bool {
    match (number.as_i64(), whole(bound)) {
        (Some(number), Some(bound)) => number < bound,
        _ => as_float(number) < bound,
    }
}

fn is_more(number: &Number, bound: f64) -> bool {
    match (number.as_i64(), whole(bound)) {
        (Some(number), Some(bound)) => number > bound,
        _ => as_float(number) > bound,
    }
}

/// Formats a bound in a message: as an integer if the value is one, and else as a float.
fn shown_with_bound(number: &Number, bound: f64) -> String {
    match (number.as_i64(), whole(bound)) {
        (Some(_), Some(bound)) => bound.to_string(),
        _ => format_float(bound),
    }
}
