//! Type checks of built-in kinds, with the error messages of Go's decoder.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::quantity;
use super::time::{KubeTime, Precision};
use super::types::{Base, Cardinality, MessageField, Type, table};
use crate::bounded::{TEXT_BYTES, short, shortened};
use crate::json::plain_type_name;

/// As in Go: padding is required, and trailing bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Maximum number of unknown fields to report, as in the decoder of Kubernetes.
const MOST_UNKNOWN: usize = 100;

/// Maximum number of type errors to report.
const MOST_WRONG: usize = 100;

/// A value of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeError {
    /// The path: `spec.containers[0].name`; empty for the whole object.
    pub(crate) path: String,
    /// Go's error message, which has its own notation of the path.
    pub(crate) message: String,
}

/// Returns the paths of unknown fields: `spec.containers[0].imag`. Names are case-sensitive.
pub(crate) fn unknown_fields(of: &Type, value: &Value) -> Vec<String> {
    let mut walk = Walk::default();
    walk.message(of, value);
    walk.unknown
}

/// Returns the first type errors. Kubernetes reports only one.
pub(crate) fn type_errors(of: &Type, value: &Value) -> Vec<TypeError> {
    let mut walk = Walk::default();
    walk.message(of, value);
    walk.wrong
}

/// Decodes Base64, with Go's error messages.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let lines: String;
    let text = if text.contains(['\r', '\n']) {
        lines = text.replace(['\r', '\n'], "");
        &lines
    } else {
        text
    };
    BASE64.decode(text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            // Go reports the offset of the incomplete quantum, or the end if the padding is too
            // short.
            _ if text.ends_with('=') => text.len(),
            _ => text.len() - text.len() % 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// Traverses an object along with its type.
#[derive(Default)]
struct Walk<'a> {
    unknown: Vec<String>,
    wrong: Vec<TypeError>,
    path: String,
    /// The type of the current field, and the Go path to that field.
    owner: Option<&'a Type>,
    fields: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn message(&mut self, of: &'a Type, value: &Value) {
        let object = match value {
            Value::Null => return,
            Value::Object(object) => object,
            _ => return self.mismatch(value, of.go_name()),
        };
        let (path, fields, owner) = (self.path.len(), self.fields.len(), self.owner);
        for (name, value) in object {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.step(name);
            match table_field(of, name) {
                Some((through, field)) => {
                    self.owner = Some(of);
                    self.fields.extend(through);
                    self.fields.push(&field.name);
                    self.field(field, value);
                }
                None if self.unknown.len() < MOST_UNKNOWN => self.unknown.push(self.path.clone()),
                None => {}
            }
            self.path.truncate(path);
            self.fields.truncate(fields);
            self.owner = owner;
        }
    }

    fn field(&mut self, field: &'a MessageField, value: &Value) {
        let path = self.path.len();
        match (field.shape, value) {
            (_, Value::Null) => {}
            (Cardinality::One, _) => self.single(field.base, value),
            (Cardinality::List, Value::Array(elements)) => {
                for (index, element) in elements.iter().enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    self.single(field.base, element);
                    self.path.truncate(path);
                }
            }
            (Cardinality::Map, Value::Object(entries)) => {
                for (key, entry) in entries {
                    self.path.push('.');
                    self.step(key);
                    self.single(field.base, entry);
                    self.path.truncate(path);
                }
            }
            (Cardinality::List, _) => self.mismatch(value, &format!("[]{}", go_type(field.base))),
            (Cardinality::Map, _) => self.mismatch(value, &format!("map[string]{}", go_type(field.base))),
        }
    }

    fn single(&mut self, base: Base, value: &Value) {
        let go = go_type(base);
        match (base, value) {
            (_, Value::Null)
            | (Base::RawExtension | Base::FieldsV1 | Base::Json, _)
            | (Base::Double, Value::Number(_))
            | (Base::SchemaOrBool(_), Value::Bool(_))
            | (Base::String | Base::IntOrString, Value::String(_))
            | (Base::Bool, Value::Bool(_)) => {}
            (Base::Message(index), _) => self.message(table().get(index), value),
            (
                Base::SchemaOrBool(of) | Base::SchemaOrArray(of) | Base::SchemaOrStrings(of),
                Value::Object(_),
            ) => {
                self.separate(of, value);
            }
            (Base::SchemaOrBool(_), _) => self.check::<()>(Err("boolean or JSON schema expected".into())),
            (Base::SchemaOrArray(of), Value::Array(schemas)) => {
                schemas.iter().for_each(|schema| self.separate(of, schema));
            }
            // As in Go: a value of another type counts as absent.
            (Base::SchemaOrArray(_) | Base::SchemaOrStrings(_), _) if !value.is_array() => {}
            (Base::SchemaOrStrings(_), Value::Array(names)) => {
                for name in names.iter().filter(|name| !name.is_string() && !name.is_null()) {
                    self.mismatch(name, "string");
                }
            }
            (Base::Int32 | Base::IntOrString, Value::Number(number)) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) {
                    self.say(&format!("number {number}"), "int32");
                }
            }
            (Base::IntOrString, _) => self.mismatch(value, "int32"),
            (Base::Int64, Value::Number(number)) => {
                if number.as_i64().is_none() {
                    self.say(&format!("number {number}"), go);
                }
            }
            (Base::Bytes, Value::String(text)) => self.check(decode_base64(text)),
            (Base::Strings, Value::Array(texts)) => {
                for text in texts.iter().filter(|text| !text.is_string() && !text.is_null()) {
                    self.mismatch(text, "string");
                }
            }
            (Base::Time, Value::String(text)) => self.check(KubeTime::parse(text, Precision::Seconds)),
            (Base::MicroTime, Value::String(text)) => self.check(KubeTime::parse(text, Precision::Micros)),
            (Base::Time | Base::MicroTime, _) => self.mismatch(value, "string"),
            (Base::Quantity, _) => {
                self.check(quantity::canonical(&quantity::text(value)).map_err(|error| error.to_string()));
            }
            _ => self.mismatch(value, go),
        }
    }

    /// Checks a schema that Go decodes separately, and without reporting unknown fields.
    fn separate(&mut self, of: usize, schema: &Value) {
        let unknown = self.unknown.len();
        self.message(table().get(of), schema);
        self.unknown.truncate(unknown);
    }

    fn check<T>(&mut self, outcome: Result<T, String>) {
        if let Err(message) = outcome {
            self.report(message);
        }
    }

    /// Appends a name to the path, which is repeated in each error.
    fn step(&mut self, name: &str) {
        write!(self.path, "{}", short(name)).expect("a String takes all");
    }

    fn report(&mut self, message: String) {
        if self.wrong.len() < MOST_WRONG {
            self.wrong.push(TypeError { path: self.path.clone(), message: shortened(message, TEXT_BYTES) });
        }
    }

    fn mismatch(&mut self, value: &Value, go: &str) {
        self.say(plain_type_name(value), go);
    }

    fn say(&mut self, value: &str, go: &str) {
        let into = match self.owner {
            Some(owner) => format!("struct field {}.{}", owner.short_name(), self.fields.join(".")),
            None => "value".to_owned(),
        };
        let message = format!("json: cannot unmarshal {value} into Go {into} of type {go}");
        self.report(message);
    }
}

/// Returns a field with the names of its inlined types; `kind` and `apiVersion` are in `TypeMeta`.
fn table_field<'a>(of: &'a Type, name: &str) -> Option<(Vec<&'a str>, &'a MessageField)> {
    let (through, field) = table().field_through(of, name)?;
    let mut through: Vec<&str> = through.into_iter().map(Type::short_name).collect();
    if field.number == 0 {
        through.push("TypeMeta");
    }
    Some((through, field))
}

fn go_type(base: Base) -> &'static str {
    match base {
        Base::String => "string",
        Base::Bool => "bool",
        Base::Int32 => "int32",
        Base::Int64 => "int64",
        Base::Bytes => "[]uint8",
        Base::Strings => "[]string",
        Base::Time => "v1.Time",
        Base::MicroTime => "v1.MicroTime",
        Base::Quantity => "resource.Quantity",
        Base::IntOrString => "intstr.IntOrString",
        Base::RawExtension => "runtime.RawExtension",
        Base::FieldsV1 => "v1.FieldsV1",
        Base::Double => "float64",
        Base::Json => "v1.JSON",
        Base::SchemaOrBool(_) => "v1.JSONSchemaPropsOrBool",
        Base::SchemaOrArray(_) => "v1.JSONSchemaPropsOrArray",
        Base::SchemaOrStrings(_) => "v1.JSONSchemaPropsOrStringArray",
        Base::Message(index) => table().get(index).go_name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoder errors of Kubernetes for each body, recorded by `record/bodies`. Its messages
    /// have other names for some types, so they are compared up to the type.
    #[test]
    fn type_errors_are_those_of_kubernetes() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/bodies/strict.json")).unwrap();
        for case in recorded.as_array().unwrap() {
            let of = |key: &str| case[key].as_str().unwrap();
            let kind = table().kind_of(of("apiVersion"), of("kind")).unwrap();
            let body: Value = serde_json::from_str(of("body")).unwrap();
            let wrong = type_errors(kind, &body);
            let said = wrong.first().map(|error| error.message.as_str());
            let expected = case["error"].as_str();
            assert_eq!(said.map(without_type), expected.map(without_type), "{case}");
            if expected.is_none() {
                let mut unknown: Vec<String> = unknown_fields(kind, &body)
                    .iter()
                    .map(|path| format!("unknown field {path:?}"))
                    .collect();
                let mut strict: Vec<&str> = case["strict"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|text| text.as_str().unwrap())
                    .collect();
                unknown.sort();
                strict.sort_unstable();
                assert_eq!(unknown, strict, "{case}");
            }
        }
    }

    fn without_type(message: &str) -> &str {
        message.split(" of type ").next().unwrap()
    }

    #[test]
    fn errors_have_path_and_type() {
        let pod = table().kind("", "v1", "Pod").unwrap();
        let body = serde_json::json!({"spec": {"containers": [{"name": "a"}, {"name": 1, "image": true}]}});
        let wrong = type_errors(pod, &body);
        assert_eq!(wrong[0].path, "spec.containers[1].image");
        assert_eq!(
            wrong[1].message,
            "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string"
        );
    }

    #[test]
    fn at_most_a_hundred_unknown_fields_are_reported() {
        let body: Value = (0..300).map(|n| (format!("x{n}"), Value::Null)).collect();
        assert_eq!(unknown_fields(table().kind("", "v1", "Pod").unwrap(), &body).len(), 100);
    }

    #[test]
    fn a_refusal_names_both_kinds() {
        let refusal = crate::request::cannot_be_handled("Pod", "v1", "ConfigMap", "no");
        assert_eq!(
            (refusal.code, refusal.message.as_str()),
            (400, "Pod in version \"v1\" cannot be handled as a ConfigMap: no")
        );
    }
}
