//! Specs in the original's spelling, with texts for numbers.

use std::fmt;

use serde_json::{Map, Value};

use super::field::{Field, Shape};
use super::kind::SdewanKind;

/// A field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// The path of the field: `spec.members[0].network`.
    pub path: String,
    /// The reason, and the expected form.
    pub message: String,
}

/// A spec in canonical form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CanonicalSpec {
    /// The spec.
    pub spec: Map<String, Value>,
    /// Warnings for the user, about deprecated spellings.
    pub warnings: Vec<String>,
    /// Fields that cannot be brought into this form.
    pub errors: Vec<FieldError>,
}

impl CanonicalSpec {
    /// Returns the canonical form of a spec: the original's field names, and texts for numbers, as
    /// the original's decoder rejects a whole list over one integer.
    #[must_use]
    pub fn of(kind: &SdewanKind, spec: &Map<String, Value>) -> Self {
        let mut canonical = Self::default();
        canonical.spec = canonical.object(spec, kind.fields, &Path::spec());
        canonical
    }

    fn object(&mut self, values: &Map<String, Value>, fields: &[Field], path: &Path) -> Map<String, Value> {
        let mut values = values.clone();
        for field in fields.iter().filter(|field| field.is_in_cr()) {
            for spelling in field.spellings {
                // In a connection `type` is a spelling; an object may have a field of that name.
                if fields.iter().any(|other| other.name == *spelling) {
                    continue;
                }
                let Some(value) = values.remove(*spelling) else { continue };
                self.warnings.push(format!("{}: deprecated, write {}", path.field(spelling), field.name));
                match values.get(field.name) {
                    Some(other) if text_of(other) != text_of(&value) => self.errors.push(FieldError {
                        path: path.field(spelling).to_string(),
                        message: format!("has another value than {}: remove one of the two", field.name),
                    }),
                    Some(_) => {}
                    None => {
                        values.insert(field.name.to_owned(), value);
                    }
                }
            }
            let Some(value) = values.get_mut(field.name) else { continue };
            match (&mut *value, field.shape) {
                (Value::Number(_), Shape::Number) => *value = text_of(value),
                (Value::Array(items), Shape::Objects(inner)) => {
                    for (number, item) in items.iter_mut().enumerate() {
                        if let Value::Object(item) = item {
                            *item = self.object(item, inner, &path.field(field.name).item(number));
                        }
                    }
                }
                _ => {}
            }
        }
        values
    }
}

/// Returns the text of a number or boolean, and other values as they are.
pub(super) fn text_of(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        other => other.clone(),
    }
}

/// The path of a field, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn spec() -> Self {
        Self("spec".into())
    }

    pub(super) fn field(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    pub(super) fn item(&self, number: usize) -> Self {
        Self(format!("{}[{number}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn canonical(kind: &str, spec: Value) -> CanonicalSpec {
        CanonicalSpec::of(SdewanKind::named(kind).unwrap(), spec.as_object().unwrap())
    }

    #[test]
    fn deprecated_spellings_are_accepted_with_a_warning() {
        let zone = canonical("FirewallZone", json!({"newtork": ["n"], "extra_dest": "x", "masq": 1}));
        assert_eq!(Value::Object(zone.spec), json!({"network": ["n"], "etra_dest": "x", "masq": "1"}));
        assert_eq!((zone.warnings.len(), zone.errors.len()), (2, 0));
        let site = canonical(
            "IpsecSite",
            json!({"type": "VTI-based", "connections": [{"connection_name": "a", "type": "tunnel", "mark": 30}]}),
        );
        assert_eq!(
            Value::Object(site.spec),
            json!({"type": "VTI-based", "connections": [{"name": "a", "conn_type": "tunnel", "mark": "30"}]})
        );
    }

    #[test]
    fn two_spellings_with_two_values_are_refused() {
        let same = canonical("FirewallZone", json!({"network": ["n"], "newtork": ["n"]}));
        assert_eq!((same.errors.len(), same.spec.len()), (0, 1));
        let differ = canonical("FirewallZone", json!({"network": ["n"], "newtork": ["m"]}));
        assert_eq!(differ.errors[0].path, "spec.newtork");
    }
}
