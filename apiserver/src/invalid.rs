//! Field errors, with the texts of Kubernetes.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use crate::bounded::{LIST_BYTES, MAX_ERRORS, TEXT_BYTES, bounded, shortened, value_bytes};
use crate::go_format::{format_value, quote};
use crate::refusal::{About, Cause, Refusal};

/// One error of one field. Its texts are bounded: a list of errors repeats the path in each.
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
    /// The number of further errors, which were not kept.
    More(usize),
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, problem: Problem, detail: impl Into<String>) -> Self {
        Self {
            field: shortened(field.into(), TEXT_BYTES),
            problem: problem.bounded(),
            detail: shortened(detail.into(), TEXT_BYTES),
        }
    }

    /// Returns about how many bytes the error has in a response.
    pub(crate) fn bytes(&self) -> usize {
        self.field.len() + self.detail.len() + self.problem.bytes()
    }

    /// The cause in a `Status`. The field is not part of its message.
    pub(crate) fn cause(&self) -> Cause {
        Cause { reason: self.problem.reason(), message: self.body(), field: self.field.clone() }
    }

    /// Returns whether this is the number of errors that were not kept.
    pub(crate) const fn is_count(&self) -> bool {
        matches!(self.problem, Problem::More(_))
    }

    /// Returns the number of errors that this one stands for.
    const fn errors(&self) -> usize {
        match self.problem {
            Problem::More(more) => more,
            _ => 1,
        }
    }

    fn body(&self) -> String {
        let head = self.problem.head();
        let value = match &self.problem {
            Problem::TooMany(count) => format!(": {count}"),
            Problem::InvalidAs(text) => format!(": {text}"),
            Problem::More(more) => return format!("and {more} more errors"),
            problem => problem.value().map(|value| format!(": {}", format_value(value))).unwrap_or_default(),
        };
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        format!("{head}{value}{detail}")
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::More(_) => f.write_str(&self.body()),
            _ => write!(f, "{}: {}", self.field, self.body()),
        }
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
            Self::TooMany(_) | Self::More(_) => "FieldValueTooMany",
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
            Self::TooMany(_) | Self::More(_) => "Too many",
        }
    }

    /// Shortens a long value, whatever its type, to its first bytes.
    fn bounded(self) -> Self {
        let is_long = |value: &Value| value_bytes(value, TEXT_BYTES) > TEXT_BYTES + 2;
        let short = |value: Value| match value {
            Value::String(text) => shortened(text, TEXT_BYTES),
            other => bounded(TEXT_BYTES, other),
        };
        match self {
            Self::Duplicate(value) if is_long(&value) => Self::Duplicate(short(value).into()),
            Self::Invalid(value) if is_long(&value) => match value {
                Value::String(text) => Self::Invalid(shortened(text, TEXT_BYTES).into()),
                other => Self::InvalidAs(short(other)),
            },
            Self::NotSupported(value) if is_long(&value) => Self::NotSupported(short(value).into()),
            Self::TypeInvalid(value) if is_long(&value) => Self::TypeInvalid(short(value).into()),
            Self::InvalidAs(text) => Self::InvalidAs(shortened(text, TEXT_BYTES)),
            other => other,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::InvalidAs(text) => text.len(),
            problem => problem.value().map_or(0, |value| value_bytes(value, TEXT_BYTES)),
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
            | Self::TooMany(_)
            | Self::More(_) => None,
        }
    }
}

/// The 422 refusal of an object with these field errors. Errors beyond the limits of a response are
/// counted in the last one.
pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Refusal {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let shown = shown(errors);
    let more = errors[shown..].iter().map(FieldError::errors).sum();
    let rest = (more > 0).then(|| FieldError::new("", Problem::More(more), ""));
    // Repeated errors appear once in the message, but each as a cause.
    let mut known = BTreeSet::new();
    let mut messages: Vec<String> = errors[..shown].iter().chain(&rest).map(FieldError::to_string).collect();
    messages.retain(|error| known.insert(error.clone()));
    let message_list = match messages.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", messages.join(", ")),
    };
    let name = bounded(TEXT_BYTES, name);
    let message = format!("{qualified} {} is invalid: {message_list}", quote(&name));
    let about = About { group: group.into(), kind: kind.into(), name, uid: String::new() };
    let causes = errors[..shown].iter().chain(&rest).map(FieldError::cause).collect();
    Refusal { about, causes, ..Refusal::new(422, "Invalid", message) }
}

/// Returns the number of errors that a response names: the first at least.
fn shown(errors: &[FieldError]) -> usize {
    let mut bytes = 0;
    let fits = |error: &&FieldError| {
        let has_room = bytes < LIST_BYTES && !error.is_count();
        bytes += error.bytes();
        has_room
    };
    errors.iter().take(MAX_ERRORS).take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_list_of_errors_ends_in_the_number_of_the_others() {
        let long = "x".repeat(1 << 20);
        let errors: Vec<_> = (0..500)
            .map(|at| FieldError::new(format!("spec.{at}"), Problem::Invalid(json!(long)), &*long))
            .collect();
        let refusal = invalid("g", "K", &long, &errors);
        assert!(refusal.message.len() < 2 * LIST_BYTES, "{}", refusal.message.len());
        assert!(refusal.message.ends_with("..., and 492 more errors]"));
        assert_eq!((refusal.causes.len(), refusal.causes[8].message.as_str()), (9, "and 492 more errors"));
        assert!(refusal.status().to_string().len() < 4 * LIST_BYTES);
    }

    #[test]
    fn a_long_value_is_shortened_whatever_its_type() {
        let long = json!(["x".repeat(1 << 20)]);
        let every = [Problem::Duplicate, Problem::Invalid, Problem::NotSupported, Problem::TypeInvalid];
        for problem in every {
            let error = FieldError::new("spec", problem(long.clone()), "");
            assert!(error.to_string().contains("xxx..."), "{}", error.problem.head());
            assert!(error.bytes() < 2 * TEXT_BYTES && error.to_string().len() < 2 * TEXT_BYTES);
        }
    }
}
