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
mod tests {
    use super::*;
    use serde_json::json;

    fn convert_kind(kind: &str, spec: Value) -> Result<RestObject, String> {
        let annotation =
            r#"{"interface":[{"name":"one","interface":"net1"},{"name":"two","interface":"net2"}]}"#;
        let networks = Networks::read(Some(annotation));
        let secret = |name: &str, key: &str| match (name, key) {
            ("psk", "key") => Ok("k".to_owned()),
            _ => Err(format!("Secret {name} has no key {key:?}")),
        };
        let context = ConvertContext { networks: Some(&networks), secret: &secret, addresses: None };
        let kind = SdewanKind::named(kind).unwrap();
        convert(kind, "x", spec.as_object().unwrap(), &context)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn networks_become_nics_and_numbers_texts() {
        let members = json!([{"network": "one", "metric": 1, "weight": 2}, {"network": "two", "metric": 1, "weight": 3}]);
        let policy = convert_kind("Mwan3Policy", json!({"members": members})).unwrap();
        let expected = json!({"name": "x", "members": [
            {"interface": "net1", "metric": "1", "weight": "2"}, {"interface": "net2", "metric": "1", "weight": "3"},
        ]});
        assert_eq!(policy.body(), expected);
    }

    #[test]
    fn targets_are_forced_and_flags_renamed() {
        let dnat = convert_kind("FirewallDNAT", json!({"src": "wan1", "target": "SNAT", "src_dport": 19900}))
            .unwrap();
        assert_eq!((dnat.text("target"), dnat.text("src_dport")), ("DNAT", "19900"));
        let rule = convert_kind("CNFRouteRule", json!({"src": "10.0.0.0/8", "not": true})).unwrap();
        assert_eq!(rule.fields().get("flag"), Some(&json!(true)));
    }

    #[test]
    fn secrets_come_from_their_reference() {
        let site = |psk: Value| {
            let mut spec = json!({
                "remote": "%any", "authentication_method": "psk", "crypto_proposal": ["p"],
                "connections": [{"name": "a", "conn_type": "tunnel", "mode": "add", "local_subnet": "10.0.0.0/8"}],
            });
            spec.as_object_mut().unwrap().extend(psk.as_object().unwrap().clone());
            convert_kind("IpsecSite", spec)
        };
        let by_reference = site(json!({"pre_shared_key_ref": {"name": "psk", "key": "key"}})).unwrap();
        assert_eq!(by_reference, site(json!({"pre_shared_key": "k"})).unwrap());
        let missing = site(json!({"pre_shared_key_ref": {"name": "psk", "key": "other"}})).unwrap_err();
        assert!(missing.contains("Secret psk has no key"), "{missing}");
        assert!(site(json!({})).unwrap_err().contains("Secret does not exists"));
        let twice = json!({"pre_shared_key": "k", "pre_shared_key_ref": {"name": "psk", "key": "key"}});
        assert!(site(twice).unwrap_err().contains("given twice"));
    }

    #[test]
    fn every_wrong_field_is_named_with_its_form() {
        let cases = [
            ("Mwan3Rule", json!({}), "spec.policy: is required"),
            ("Mwan3Rule", json!({"policy": "p", "dest_port": 0}), "spec.dest_port: \"0\" must be a port"),
            ("Mwan3Rule", json!({"policy": "p", "dest_port": 70000}), "must be a port"),
            ("Mwan3Rule", json!({"policy": 7}), "spec.policy: must be a text"),
            (
                "Mwan3Policy",
                json!({"members": [{"network": "none", "metric": 1, "weight": 1}]}),
                "spec.members[0].network: network \"none\" is not in the annotation",
            ),
            (
                "Mwan3Policy",
                json!({"members": [{"network": "one", "metric": 0, "weight": 1}]}),
                "spec.members[0].metric",
            ),
            (
                "Mwan3Policy",
                json!({"members": [{"network": "one", "metric": 1, "weight": 1}, {"network": "one", "metric": 1, "weight": 1}]}),
                "spec.members[1]: \"net1\" is there twice",
            ),
            ("FirewallSNAT", json!({"src": "a"}), "src_dip is required for SNAT"),
            (
                "FirewallRule",
                json!({"src": "a", "target": "MARK"}),
                "set_mark or set_xmark is required for MARK",
            ),
            ("CNFNAT", json!({"target": "DNAT"}), "dest_ip or dest_port are required for DNAT"),
            ("CNFRouteRule", json!({"not": "x", "src": "10.0.0.1"}), "spec.not: must be true or false"),
            (
                "IpsecProposal",
                json!({"encryption_algorithm": "rot13", "hash_algorithm": "md5", "dh_group": "modp768"}),
                "spec.encryption_algorithm: \"rot13\"",
            ),
        ];
        for (kind, spec, expected) in cases {
            let error = convert_kind(kind, spec.clone()).unwrap_err();
            assert!(error.contains(expected), "{kind} {spec}: {error}");
        }
    }
}
