//! One object of a CNF's configuration.

use std::sync::Arc;

use serde_json::{Map, Value};

/// An object. Its fields are checked and normalized: texts without spaces around them, no empty
/// fields, no unknown fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigObject {
    /// The name.
    pub name: Arc<str>,
    /// The client that replaces the object with the whole of its own; `None` for an object of v1.
    pub owner: Option<Arc<str>>,
    /// The fields, without the name.
    pub fields: Arc<Map<String, Value>>,
}

impl ConfigObject {
    /// Returns the fields with the name.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::with_capacity(self.fields.len() + 1);
        map.insert("name".into(), Value::String((*self.name).into()));
        map.extend(self.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        map
    }

    /// Returns the text of a field.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}
