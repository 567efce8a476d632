//! Field errors, with the texts of Kubernetes.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::go_format::{format_value, quote};
use crate::refusal::{About, Cause, Refusal};

/// One error of one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    /// The path: `spec.ports[0].name`; empty for the whole object.
    pub(crate) field: String,
    pub(crate) problem: Problem,
    /// The explanation; may be empty.
    pub(crate) detail: String,
}

/// The type of a field error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Problem {
    Required,
    Duplicate(Value),
    Invalid(Value),
    /// An object or list, which is not quoted.
    DuplicateAsItIs,
    InvalidAsItIs,
    /// With the value as Kubernetes formats it, where its order differs from ours.
    InvalidAs(String),
    NotSupported(Value),
    NotFound(Value),
    Forbidden,
    TooLong,
    /// The actual number.
    TooMany(usize),
    TypeInvalid(Value),
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, problem: Problem, detail: impl Into<String>) -> Self {
        Self { field: field.into(), problem, detail: detail.into() }
    }

    /// The cause in a `Status`. The field is not part of its message.
    pub(crate) fn cause(&self) -> Cause {
        Cause { reason: self.problem.reason(), message: self.body(), field: self.field.clone() }
    }

    fn body(&self) -> String {
        let head = self.problem.head();
        let value = match &self.problem {
            Problem::TooMany(count) => format!(": {count}"),
            Problem::InvalidAs(text) => format!(": {text}"),
            problem => problem.value().map(|value| format!(": {}", format_value(value))).unwrap_or_default(),
        };
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        format!("{head}{value}{detail}")
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl Problem {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate(_) | Self::DuplicateAsItIs => "FieldValueDuplicate",
            Self::Invalid(_) | Self::InvalidAs(_) | Self::InvalidAsItIs => "FieldValueInvalid",
            Self::NotSupported(_) => "FieldValueNotSupported",
            Self::NotFound(_) => "FieldValueNotFound",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany(_) => "FieldValueTooMany",
            Self::TypeInvalid(_) => "FieldValueTypeInvalid",
        }
    }

    const fn head(&self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate(_) | Self::DuplicateAsItIs => "Duplicate value",
            Self::Invalid(_) | Self::InvalidAs(_) | Self::InvalidAsItIs | Self::TypeInvalid(_) => {
                "Invalid value"
            }
            Self::NotSupported(_) => "Unsupported value",
            Self::NotFound(_) => "Not found",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany(_) => "Too many",
        }
    }

    const fn value(&self) -> Option<&Value> {
        match self {
            Self::Duplicate(value)
            | Self::Invalid(value)
            | Self::NotSupported(value)
            | Self::NotFound(value)
            | Self::TypeInvalid(value) => Some(value),
            Self::DuplicateAsItIs
            | Self::InvalidAsItIs
            | Self::InvalidAs(_)
            | Self::Required
            | Self::Forbidden
            | Self::TooLong
            | Self::TooMany(_) => None,
        }
    }
}

/// The 422 refusal of an object with these field errors.
pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Refusal {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    // Repeated errors appear once in the message, but each as a cause.
    let mut known = BTreeSet::new();
    let mut messages: Vec<String> = errors.iter().map(FieldError::to_string).collect();
    messages.retain(|error| known.insert(error.clone()));
    let message_list = match messages.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", messages.join(", ")),
    };
    let about = About { group: group.into(), kind: kind.into(), name: name.into(), uid: String::new() };
    let causes = errors.iter().map(FieldError::cause).collect();
    let message = format!("{qualified} {} is invalid: {message_list}", quote(name));
    Refusal { about, causes, ..Refusal::new(422, "Invalid", message) }
}
