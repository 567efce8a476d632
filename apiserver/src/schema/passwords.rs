//! Fields with `format: password`: their values are shown to the clients that read the object, and
//! nowhere else.

use serde_json::Value;

use super::node::{Additional, Schema};
use crate::invalid::{FieldError, Problem};

const PASSWORD: &str = "password";

/// Shown instead of a value.
const HIDDEN: &str = "<hidden>";

/// Number of characters by which a quoted value is recognized: errors truncate long ones.
const NEEDLE: usize = 32;

impl Schema {
    /// Returns whether a field, here or below, is a password.
    pub(super) fn declares_passwords(&self) -> bool {
        self.is_password() || self.children().any(Self::declares_passwords)
    }

    fn is_password(&self) -> bool {
        self.rules.format.as_deref() == Some(PASSWORD)
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        let values = match &self.additional {
            Some(Additional::Of(values)) => Some(&**values),
            _ => None,
        };
        self.properties.values().chain(self.items.as_deref()).chain(values)
    }

    /// Replaces the values of passwords.
    pub(crate) fn hide_passwords(&self, value: &mut Value) {
        self.visit(value, &mut |password| *password = HIDDEN.into());
    }

    fn visit(&self, value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
        match value {
            Value::Null => {}
            value if self.is_password() => visit(value),
            Value::Object(fields) => {
                for (name, value) in fields {
                    let values = match &self.additional {
                        Some(Additional::Of(values)) => Some(&**values),
                        _ => None,
                    };
                    if let Some(schema) = self.properties.get(name).or(values) {
                        schema.visit(value, visit);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                items.iter_mut().for_each(|item| schema.visit(item, visit));
            }
            _ => {}
        }
    }

    /// Removes the passwords of an object from its errors.
    pub(crate) fn hide_in_errors(&self, objects: &[&Value], errors: &mut [FieldError]) {
        let mut needles = Vec::new();
        for object in objects {
            self.visit(&mut (*object).clone(), &mut |password| {
                let text = match password {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let needle: String = text.chars().take(NEEDLE).collect();
                let quoted = format!("{needle:?}");
                let escaped = quoted.trim_matches('"').to_owned();
                needles.extend([needle, escaped].into_iter().filter(|needle| !needle.is_empty()));
            });
        }
        let quotes = |text: &str| needles.iter().any(|needle| text.contains(needle.as_str()));
        for error in errors {
            if quotes(&error.detail) {
                error.detail = "the reason is hidden, as it quotes a password".into();
            }
            let value = match &mut error.problem {
                Problem::Invalid(value)
                | Problem::Duplicate(value)
                | Problem::NotSupported(value)
                | Problem::NotFound(value)
                | Problem::TypeInvalid(value) => value,
                Problem::InvalidAs(text) => {
                    if quotes(text) {
                        *text = HIDDEN.into();
                    }
                    continue;
                }
                _ => continue,
            };
            let is_quoted = match &*value {
                Value::String(text) => quotes(text),
                other => quotes(&other.to_string()),
            };
            if is_quoted {
                *value = HIDDEN.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        let password = json!({"type": "string", "format": "password"});
        let spec = json!({"type": "object", "properties": {
            "key": password, "name": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"key": password}}},
            "map": {"type": "object", "additionalProperties": password},
        }});
        let (schema, errors) =
            Schema::of_stored(&json!({"type": "object", "properties": {"spec": spec}}), "x");
        assert!(errors.is_empty() && schema.has_passwords, "{errors:?}");
        schema
    }

    #[test]
    fn passwords_are_hidden_wherever_the_schema_has_them() {
        let mut object = json!({"spec": {
            "key": "planted", "name": "a", "list": [{"key": "planted"}, {}], "map": {"a": "planted", "b": "planted"},
        }});
        schema().hide_passwords(&mut object);
        assert!(!object.to_string().contains("planted"), "{object}");
        assert_eq!(object["spec"]["name"], "a");
        let plain = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
        assert!(!Schema::of_stored(&plain, "x").0.has_passwords);
    }

    #[test]
    fn errors_quote_no_password() {
        let (old, new) = (json!({"spec": {"key": "plan\"ted-old"}}), json!({"spec": {"key": "planted-new"}}));
        let mut errors = [
            FieldError::new("spec.key", Problem::Invalid("planted-new".into()), "too short"),
            FieldError::new("spec", Problem::Forbidden, "was plan\\\"ted-old"),
            FieldError::new("spec", Problem::InvalidAs("{planted-new}".into()), ""),
            FieldError::new("spec.name", Problem::Invalid("other".into()), "kept"),
        ];
        schema().hide_in_errors(&[&new, &old], &mut errors);
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(!text.contains("planted") && !text.contains("ted-old"), "{text}");
        assert!(text.contains("too short") && text.contains("\"other\": kept"), "{text}");
    }
}
