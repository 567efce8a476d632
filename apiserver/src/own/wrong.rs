//! Validation errors of a type's objects.

use std::fmt;

use machinery_objects::InvalidField;
use serde_json::Value;

use crate::invalid::{FieldError, Problem};

/// One error of a field, from the hooks of a [`KindOf`](crate::KindOf). Converts from
/// [`InvalidField`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// The field has an invalid value. A missing one is reported as required.
    Invalid(InvalidField),
    /// The field must not change by this request, whatever its value: it is immutable, or another
    /// object prevents it.
    Forbidden(InvalidField),
}

/// Kubernetes' name of an object as a whole.
pub(super) const ROOT: &str = "<nil>";

impl Wrong {
    /// Converts to the server's error, with the current value of the field.
    pub(crate) fn into_field_error(self, object: &Value) -> FieldError {
        let forbidden = matches!(self, Self::Forbidden(_));
        let (Self::Invalid(InvalidField { field, reason }) | Self::Forbidden(InvalidField { field, reason })) =
            self;
        if field.is_empty() {
            return FieldError::new(ROOT, Problem::Forbidden, reason);
        }
        let problem = match at(object, &field) {
            _ if forbidden => Problem::Forbidden,
            Some(value) => Problem::Invalid(value.clone()),
            None => Problem::Required,
        };
        FieldError::new(field, problem, reason)
    }
}

/// The error without a value: `spec.rack: Forbidden: it never changes`.
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(InvalidField { field, reason }) => write!(f, "{field}: {reason}"),
            Self::Forbidden(InvalidField { field, reason }) => write!(f, "{field}: Forbidden: {reason}"),
        }
    }
}

impl From<InvalidField> for Wrong {
    fn from(wrong: InvalidField) -> Self {
        Self::Invalid(wrong)
    }
}

/// Returns the value at a field path like `spec.ports[0].name`, if it exists.
fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    let steps = field.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    steps.into_iter().try_fold(object, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_has_the_value_of_its_field() {
        let object = json!({"spec": {"ports": [{"name": "a"}], "rack": 7}});
        let wrong = |field: &str| InvalidField { field: field.into(), reason: "no".into() };
        let check =
            |wrong: Wrong, expected: &str| assert_eq!(wrong.into_field_error(&object).to_string(), expected);
        check(wrong("spec.rack").into(), "spec.rack: Invalid value: 7: no");
        check(wrong("spec.ports[0].name").into(), "spec.ports[0].name: Invalid value: \"a\": no");
        check(wrong("spec.zone").into(), "spec.zone: Required value: no");
        check(wrong("spec.ports[1]").into(), "spec.ports[1]: Required value: no");
        check(wrong("").into(), "<nil>: Forbidden: no");
        check(Wrong::Forbidden(wrong("spec.rack")), "spec.rack: Forbidden: no");
        let both = [Wrong::from(wrong("spec.rack")), Wrong::Forbidden(wrong("spec.zone"))];
        assert_eq!(both.map(|wrong| wrong.to_string()), ["spec.rack: no", "spec.zone: Forbidden: no"]);
    }
}
