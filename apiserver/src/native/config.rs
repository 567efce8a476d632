//! ConfigMaps and Secrets: immutability, and their other differences from most kinds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::secret_types;
use crate::bounded::{FieldErrors, short};
use crate::invalid::{FieldError, Problem};
use crate::kind::KindHooks;

/// Maximum size of the data of one object, in bytes.
const MOST: usize = 1 << 20;

pub(super) struct ConfigMaps;
pub(super) struct Secrets;

impl KindHooks for ConfigMaps {
    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let (data, binary) = (map(new, "data"), map(new, "binaryData"));
        let mut errors: FieldErrors = keys(data, "data").into_iter().collect();
        errors.extend(keys(binary, "binaryData"));
        for key in binary.keys().filter(|key| data.contains_key(*key)) {
            let problem = Problem::Invalid(key.as_str().into());
            errors.push(FieldError::new(
                format!("data[{}]", short(key)),
                problem,
                "duplicate of key present in binaryData",
            ));
        }
        let text: usize = data.values().filter_map(Value::as_str).map(str::len).sum();
        if text + decoded_size(binary) > MOST {
            errors.push(FieldError::new("", Problem::TooLong, format!("may not be more than {MOST} bytes")));
        }
        errors.extend(old.into_iter().flat_map(|old| unchanged(new, old, &["data", "binaryData"])));
        errors.into_list()
    }
}

impl KindHooks for Secrets {
    fn default(&self, secret: &mut Value) {
        if let Some(Value::Object(texts)) =
            secret.as_object_mut().and_then(|secret| secret.remove("stringData"))
        {
            if !secret["data"].is_object() {
                secret["data"] = json!({});
            }
            for (key, text) in &texts {
                secret["data"][key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
            }
        }
        if secret["type"].as_str().is_none_or(|kind| kind.is_empty()) {
            secret["type"] = "Opaque".into();
        }
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let data = map(new, "data");
        let mut errors = keys(data, "data");
        if decoded_size(data) > MOST {
            let detail = format!("may not be more than {MOST} bytes");
            errors.push(FieldError::new("data", Problem::TooLong, detail));
        }
        errors.extend(secret_types::errors(new, data));
        let Some(old) = old else { return errors };
        if new["type"] != old["type"] {
            let problem = Problem::Invalid(new["type"].clone());
            errors.push(FieldError::new("type", problem, "field is immutable"));
        }
        errors.extend(unchanged(new, old, &["data"]));
        errors
    }
}

fn map<'a>(object: &'a Value, field: &str) -> &'a Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object[field].as_object().unwrap_or(&EMPTY)
}

/// Returns the number of bytes of all values, without their keys, decoded from Base64.
fn decoded_size(data: &Map<String, Value>) -> usize {
    let padding = |text: &str| text.bytes().rev().take_while(|byte| *byte == b'=').count();
    let size = |text: &str| (text.len() / 4 * 3).saturating_sub(padding(text));
    data.values().filter_map(Value::as_str).map(size).sum()
}

fn keys(data: &Map<String, Value>, field: &str) -> Vec<FieldError> {
    let fits = |key: &str| {
        let plain =
            key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        plain && !key.is_empty() && key.len() <= 253 && key != "." && !key.starts_with("..")
    };
    let wrong = data.keys().filter(|key| !fits(key));
    let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
         'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    let error = |key: &String| {
        FieldError::new(format!("{field}[{}]", short(key)), Problem::Invalid(key.as_str().into()), detail)
    };
    let errors: FieldErrors = wrong.map(error).collect();
    errors.into_list()
}

/// Rejects changes of immutable objects, and of the field `immutable` itself.
fn unchanged(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let detail = "field is immutable when `immutable` is set";
    let immutable = ("immutable", new["immutable"] != true);
    let changed = fields.iter().map(|field| (*field, new[*field] != old[*field]));
    let errors = std::iter::once(immutable).chain(changed).filter(|(_, changed)| *changed);
    errors.map(|(field, _)| FieldError::new(field, Problem::Forbidden, detail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_decoded_values() {
        let check = |text: &[u8], expected: usize| {
            let data = json!({"a-long-key": STANDARD.encode(text), "empty": ""});
            assert_eq!(decoded_size(data.as_object().unwrap()), expected);
        };
        (0..9).for_each(|length| check(&vec![0; length], length));
    }
}
