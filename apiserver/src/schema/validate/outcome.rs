//! The errors of a validated value, and their selection among the branches of an `anyOf`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Validation;
use crate::bounded::{LIST_BYTES, MAX_ERRORS};
use crate::invalid::{FieldError, Problem};
use crate::schema::path::ValuePath;

/// The errors, and the depth of validation: of the branches of an `anyOf` that all fail, the
/// deepest one is reported.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) errors: Vec<FieldError>,
    pub(super) matches: u32,
    /// Bytes of the errors that were merged or added.
    pub(super) bytes: usize,
}

impl Outcome {
    pub(super) fn merge(&mut self, other: Self) {
        for error in other.errors {
            self.add(|| error);
        }
        self.matches = self.matches.saturating_add(other.matches);
    }

    /// Adds an error, which is made only if there is room.
    pub(super) fn add(&mut self, error: impl FnOnce() -> FieldError) {
        if !self.is_full() {
            let error = error();
            self.bytes += error.bytes();
            self.errors.push(error);
        }
    }

    /// Merges the answer of a validator that applied.
    pub(super) fn met(&mut self, other: Self) {
        self.merge(other);
        self.matches = self.matches.saturating_add(1);
    }

    pub(super) fn of(errors: impl IntoIterator<Item = FieldError>) -> Self {
        Self { errors: errors.into_iter().collect(), ..Self::default() }
    }

    /// Returns whether more errors of the same kind would be dropped.
    pub(super) const fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS || self.bytes >= LIST_BYTES
    }

    /// Without duplicates: branches repeat errors.
    pub(super) fn into_errors(self) -> Vec<FieldError> {
        let mut seen = BTreeSet::new();
        self.errors.into_iter().filter(|error| seen.insert(error.to_string())).collect()
    }
}

impl Validation<'_> {
    pub(super) fn error(
        self,
        path: &ValuePath<'_>,
        problem: Problem,
        detail: impl Into<String>,
    ) -> FieldError {
        FieldError::new(self.name(path), problem, detail)
    }

    /// The common case: an error message that repeats the field, as in Kubernetes' validator.
    pub(super) fn invalid(self, path: &ValuePath<'_>, value: impl Into<Value>, said: &str) -> FieldError {
        self.error(path, Problem::Invalid(value.into()), format!("{path} in body {said}"))
    }

    /// An error that names its field only in its text, as Kubernetes' errors of junctors and
    /// ranges.
    pub(super) fn unplaced(self, detail: String) -> FieldError {
        let at = self.at.unwrap_or("<nil>");
        FieldError::new(at, Problem::Invalid(Value::String(String::new())), detail)
    }

    fn name(self, path: &ValuePath<'_>) -> String {
        let path = path.to_string();
        match (self.at, path.trim_start_matches('.')) {
            (None, "") => "<nil>".into(),
            (None, path) => path.into(),
            (Some(at), "") => at.into(),
            (Some(at), path) => format!("{at}.{path}"),
        }
    }
}
