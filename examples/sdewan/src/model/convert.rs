//! Conversion of a CR into its REST object, with the checks of every field.

use serde_json::{Map, Value};

use super::canonical::{CanonicalSpec, FieldError, Path, text_of};
use super::field::{Field, Reference, Shape};
use super::kind::{ObjectRule, SdewanKind};
use super::networks::Networks;
use super::rest_object::RestObject;

/// The surroundings of a conversion.
pub struct ConvertContext<'a> {
    /// The networks of the CNF; `None` checks without converting them, as admission does before a
    /// CNF exists.
    pub networks: Option<&'a Networks>,
    /// Returns the value in a Secret of the CR's namespace by name and key, or the reason why there
    /// is none.
    pub secret: &'a (dyn Fn(&str, &str) -> Result<String, String> + Sync),
    /// The addresses of the pods of an application, with commas between them.
    pub addresses: Option<String>,
}

/// The suffix of a field that names a Secret instead of a value.
pub const SECRET_REFERENCE: &str = "_ref";

/// Converts the spec of a CR into the REST object of its name.
///
/// # Errors
/// Every field that is wrong, with its path and the expected form.
pub fn convert(
    kind: &SdewanKind,
    name: &str,
    spec: &Map<String, Value>,
    context: &ConvertContext<'_>,
) -> Result<RestObject, Vec<FieldError>> {
    let canonical = CanonicalSpec::of(kind, spec);
    let mut conversion = Conversion { context, errors: canonical.errors };
    let Some(collection) = kind.collection else {
        let reason = "objects of this kind are not sent to a CNF";
        return Err(vec![FieldError { path: "kind".into(), message: reason.into() }]);
    };
    if collection == super::CollectionId::Zones {
        conversion.check_text("metadata.name", super::Check::ZoneName, name);
    }
    let mut fields = conversion.object(&canonical.spec, kind.fields, &Path::spec());
    for (field, value) in kind.forced {
        fields.insert((*field).to_owned(), (*value).into());
    }
    if let Some(addresses) = &context.addresses {
        fields.insert("iplist".into(), addresses.clone().into());
    }
    let object = RestObject::new(collection, name, fields);
    for rule in kind.rules {
        if let Some(message) = broken(rule, &object) {
            conversion.errors.push(FieldError { path: "spec".into(), message });
        }
    }
    if conversion.errors.is_empty() { Ok(object) } else { Err(conversion.errors) }
}

/// Returns the message of a rule that an object breaks.
#[must_use]
pub fn broken(rule: &ObjectRule, object: &RestObject) -> Option<String> {
    let applies = rule.when.iter().all(|(field, value)| object.text(field) == *value);
    let has_one = rule.needs_one_of.iter().any(|field| object.fields().contains_key(*field));
    (applies && !has_one).then(|| rule.message.to_owned())
}

struct Conversion<'a> {
    context: &'a ConvertContext<'a>,
    errors: Vec<FieldError>,
}

impl Conversion<'_> {
    fn object(&mut self, values: &Map<String, Value>, fields: &[Field], path: &Path) -> Map<String, Value> {
        let mut converted = Map::new();
        for field in fields.iter().filter(|field| field.is_in_cr()) {
            let at = path.field(field.name);
            let value = match self.referenced(values, field, &at) {
                Some(value) => Some(value),
                None => values.get(field.name).filter(|value| !is_blank(value)).cloned(),
            };
            let Some(value) = value else {
                if field.is_required || field.is_required_by_cnf {
                    self.wrong(&at, "is required");
                }
                continue;
            };
            let Some(value) = self.value(&value, field, &at) else { continue };
            if let Some(name) = field.rest_name() {
                converted.insert(name.to_owned(), value);
            }
        }
        converted
    }

    /// Returns the value in the Secret that a field names.
    fn referenced(&mut self, values: &Map<String, Value>, field: &Field, at: &Path) -> Option<Value> {
        if !field.has_secret_reference {
            return None;
        }
        let reference = values.get(&format!("{}{SECRET_REFERENCE}", field.name))?;
        let part = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
        if values.get(field.name).is_some_and(|value| !is_blank(value)) {
            self.wrong(at, "is given twice: as a value and in a Secret");
            return None;
        }
        match (self.context.secret)(part("name"), part("key")) {
            Ok(secret) => Some(Value::String(secret)),
            Err(reason) => {
                self.wrong(at, &reason);
                None
            }
        }
    }

    fn value(&mut self, value: &Value, field: &Field, at: &Path) -> Option<Value> {
        match (field.shape, value) {
            (Shape::Text | Shape::Number, Value::String(text)) => self.text(text, field, at),
            (Shape::Integer, Value::Number(_) | Value::String(_)) => match text_of(value) {
                Value::String(text) => self.text(&text, field, at),
                _ => None,
            },
            (Shape::Flag, Value::Bool(flag)) => Some(Value::Bool(*flag)),
            (Shape::List, Value::Array(items)) => {
                let mut converted = Vec::new();
                for (number, item) in items.iter().enumerate() {
                    let at = at.item(number);
                    match item {
                        Value::String(text) => converted.extend(self.text(text, field, &at)),
                        _ => self.wrong(&at, "must be a text"),
                    }
                }
                Some(Value::Array(converted))
            }
            (Shape::Objects(fields), Value::Array(items)) => {
                let mut converted = Vec::new();
                for (number, item) in items.iter().enumerate() {
                    let at = at.item(number);
                    match item {
                        Value::Object(item) => converted.push(Value::Object(self.object(item, fields, &at))),
                        _ => self.wrong(&at, "must be an object"),
                    }
                }
                self.check_duplicates(&converted, fields, at);
                Some(Value::Array(converted))
            }
            (Shape::Selector, Value::Object(_)) => None,
            (shape, _) => {
                self.wrong(at, shape.expected());
                None
            }
        }
    }

    fn text(&mut self, text: &str, field: &Field, at: &Path) -> Option<Value> {
        self.check_text(&at.to_string(), field.check, text);
        let nic = match (field.reference, self.context.networks) {
            (Some(Reference::Network), Some(networks)) => match networks.nic_of(text) {
                Some(nic) => nic,
                None => {
                    self.wrong(at, &networks.missing(text));
                    return None;
                }
            },
            _ => text,
        };
        Some(nic.into())
    }

    fn check_text(&mut self, path: &str, check: super::Check, text: &str) {
        if let Err(expected) = check.check(text) {
            // Secrets and certificates are long and not for messages.
            let shown = if text.len() <= 64 && check != super::Check::Certificates {
                format!("{text:?} {expected}")
            } else {
                expected
            };
            self.errors.push(FieldError { path: path.to_owned(), message: shown });
        }
    }

    /// Refuses two members of one network, and two connections of one name.
    fn check_duplicates(&mut self, items: &[Value], fields: &[Field], at: &Path) {
        let unique =
            fields.iter().find(|field| field.reference == Some(Reference::Network) || field.name == "name");
        let Some(unique) = unique.and_then(|field| field.rest_name()) else { return };
        let mut known = std::collections::BTreeSet::new();
        for (number, item) in items.iter().enumerate() {
            let Some(value) = item.get(unique).and_then(Value::as_str) else { continue };
            if !known.insert(value) {
                self.wrong(&at.item(number), &format!("{value:?} is there twice"));
            }
        }
    }

    fn wrong(&mut self, at: &Path, message: &str) {
        self.errors.push(FieldError { path: at.to_string(), message: message.to_owned() });
    }
}

impl Shape {
    const fn expected(self) -> &'static str {
        match self {
            Self::Text => "must be a text: write it in quotes",
            Self::Number => "must be an integer or a text",
            Self::Integer => "must be an integer",
            Self::Flag => "must be true or false",
            Self::List => "must be a list of texts",
            Self::Objects(_) => "must be a list of objects",
            Self::Selector => "must be a label selector",
        }
    }
}

/// Blank texts and empty lists count as absent, as in the original.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
