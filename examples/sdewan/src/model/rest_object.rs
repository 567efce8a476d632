//! Objects of the REST API, in a form that can be compared.

use std::fmt;

use serde_json::{Map, Value};

use super::collection::CollectionId;
use super::field::{Field, Shape};

/// An object of a collection, with the original's field names and normalized: fields that the
/// collection does not have, and empty values, are absent; numbers are texts.
///
/// Two objects are equal if a CNF would treat them as one configuration. Values of secrets are not
/// in the `Debug` form.
#[derive(Clone, PartialEq, Eq)]
pub struct RestObject {
    collection: CollectionId,
    name: String,
    fields: Map<String, Value>,
}

/// A JSON value is no object of a collection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object of {collection} is expected: {reason}")]
pub struct NotAnObject {
    /// The collection.
    pub collection: CollectionId,
    /// The reason.
    pub reason: &'static str,
}

impl RestObject {
    /// Returns an object with normalized fields.
    #[must_use]
    pub fn new(collection: CollectionId, name: &str, fields: Map<String, Value>) -> Self {
        let fields = normalize(fields, collection.fields());
        Self { collection, name: name.to_owned(), fields }
    }

    /// Reads an object from a body of the REST API.
    ///
    /// # Errors
    /// The body is no JSON object, or has no name.
    pub fn from_body(collection: CollectionId, body: Value) -> Result<Self, NotAnObject> {
        let wrong = |reason| NotAnObject { collection, reason };
        let Value::Object(mut fields) = body else { return Err(wrong("it is no JSON object")) };
        match fields.remove("name") {
            Some(Value::String(name)) if !name.is_empty() => Ok(Self::new(collection, &name, fields)),
            _ => Err(wrong("it has no name")),
        }
    }

    /// Returns the body of a request: the fields and `name`.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = self.fields.clone();
        body.insert("name".into(), self.name.clone().into());
        Value::Object(body)
    }

    /// Returns the collection.
    #[must_use]
    pub const fn collection(&self) -> CollectionId {
        self.collection
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the fields, without `name`.
    #[must_use]
    pub const fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns a text field; empty if it is absent.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Replaces the values of secret fields, such as by their HMAC.
    #[must_use]
    pub fn map_secrets(mut self, map: impl Fn(&str) -> String) -> Self {
        for field in self.collection.fields().iter().filter(|field| field.is_secret) {
            let value = field.rest_name().and_then(|name| self.fields.get_mut(name));
            if let Some(Value::String(text)) = value {
                *text = map(text);
            }
        }
        self
    }

    /// Returns the names that the object takes in the name space of its collection, its own first.
    #[must_use]
    pub fn taken_names(&self) -> Vec<&str> {
        let connections = self.fields.get("connections").and_then(Value::as_array);
        let connections = connections.into_iter().flatten().filter_map(|one| one.get("name")?.as_str());
        std::iter::once(self.name()).chain(connections).collect()
    }
}

/// Keeps the known fields with a value: numbers as texts, no empty texts and lists.
fn normalize(mut values: Map<String, Value>, fields: &[Field]) -> Map<String, Value> {
    let mut kept = Map::new();
    for field in fields {
        let Some((name, value)) = field.rest_name().and_then(|name| Some((name, values.remove(name)?)))
        else {
            continue;
        };
        if let Some(value) = normalized(value, field) {
            kept.insert(name.to_owned(), value);
        }
    }
    kept
}

fn normalized(value: Value, field: &Field) -> Option<Value> {
    match (value, field.shape) {
        (Value::Null, _) => None,
        (Value::String(text), Shape::Flag) => (text == "true").then_some(Value::Bool(true)),
        (Value::Bool(flag), Shape::Flag) => flag.then_some(Value::Bool(true)),
        // The original's page writes some lists of one item without brackets.
        (Value::Array(items), Shape::Objects(fields)) if !items.is_empty() => {
            let item = |item| match item {
                Value::Object(item) => Value::Object(normalize(item, fields)),
                other => other,
            };
            Some(Value::Array(items.into_iter().map(item).collect()))
        }
        (Value::Array(items), _) if !items.is_empty() => {
            Some(Value::Array(items.into_iter().map(text_of).collect()))
        }
        (Value::Array(_), _) => None,
        (Value::Object(object), _) if object.is_empty() => None,
        (value, _) => match text_of(value) {
            Value::String(text) if text.trim().is_empty() => None,
            value => Some(value),
        },
    }
}

/// Returns the text of a number.
fn text_of(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        other => other,
    }
}

impl fmt::Debug for RestObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.clone().map_secrets(|_| "…".to_owned());
        write!(f, "{}/{} {}", self.collection, self.name, Value::Object(shown.fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(collection: CollectionId, body: Value) -> RestObject {
        RestObject::from_body(collection, body).unwrap()
    }

    #[test]
    fn objects_of_one_configuration_are_equal() {
        let sent = object(
            CollectionId::Policies,
            json!({"name": "p", "members": [{"interface": "net1", "metric": "1", "weight": "2"}]}),
        );
        let answered = object(
            CollectionId::Policies,
            json!({"name": "p", "members": [
                {"name": "p_net1", "interface": "net1", "metric": 1, "weight": "2"}
            ]}),
        );
        assert_eq!(sent, answered);
        let rule = object(CollectionId::Mwan3Rules, json!({"name": "r", "policy": "p", "src_port": ""}));
        assert_eq!(rule, object(CollectionId::Mwan3Rules, json!({"name": "r", "policy": "p"})));
        assert_ne!(rule, object(CollectionId::Mwan3Rules, json!({"name": "r", "policy": "q"})));
        let flag = |flag: Value| object(CollectionId::RouteRules, json!({"name": "r", "flag": flag}));
        assert_eq!(flag(json!(false)), flag(Value::Null));
        assert_eq!(flag(json!("true")), flag(json!(true)));
        assert_ne!(flag(json!(true)), flag(json!(false)));
    }

    #[test]
    fn the_order_of_a_list_counts() {
        let zone =
            |networks: [&str; 2]| object(CollectionId::Zones, json!({"name": "z", "network": networks}));
        assert_ne!(zone(["net1", "net2"]), zone(["net2", "net1"]));
    }

    #[test]
    fn secrets_are_not_shown() {
        let remote = object(
            CollectionId::Remotes,
            json!({"name": "r", "gateway": "192.0.2.1", "pre_shared_key": "marker", "local_private_cert": "marker"}),
        );
        assert!(!format!("{remote:?}").contains("marker"), "{remote:?}");
        assert_eq!(remote.map_secrets(str::to_uppercase).text("pre_shared_key"), "MARKER");
    }

    #[test]
    fn connections_take_names_beside_their_remote() {
        let remote = object(
            CollectionId::Remotes,
            json!({"name": "r", "connections": [{"name": "a"}, {"name": "b"}]}),
        );
        assert_eq!(remote.taken_names(), ["r", "a", "b"]);
    }

    #[test]
    fn a_body_without_name_is_no_object() {
        for body in [json!([]), json!({}), json!({"name": ""}), json!({"name": 1}), json!("x")] {
            assert!(RestObject::from_body(CollectionId::Zones, body).is_err());
        }
    }
}
