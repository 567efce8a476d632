//! Defaulting: fills in omitted fields.

use serde_json::Value;

use super::node::{Additional, Schema};

impl Schema {
    /// Fills in defaults, also those within defaults. A null in a field that is not nullable counts
    /// as omitted: without a default the field is removed, but an item stays, to keep the positions
    /// of the others.
    pub(crate) fn default(&self, object: &mut Value) {
        self.drop_nulls(object);
        self.fill(object);
    }

    fn drop_nulls(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                let Some(schema) = self.field(name) else { return true };
                if field.is_null() && !schema.nullable && schema.default.is_none() {
                    return false;
                }
                schema.drop_nulls(field);
                true
            }),
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    items.iter_mut().for_each(|item| schema.drop_nulls(item));
                }
            }
            _ => {}
        }
    }

    /// Fills in defaults, and keeps nulls without a default.
    pub(crate) fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, schema) in &self.properties {
                    if let Some(default) = &schema.default
                        && fields.get(name).is_none_or(|field| field.is_null() && !schema.nullable)
                    {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                for (name, field) in fields {
                    match (self.properties.get(name), &self.additional) {
                        (Some(schema), _) => schema.fill(field),
                        (None, Some(Additional::Of(schema))) => schema.fill_place(field),
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    items.iter_mut().for_each(|item| schema.fill_place(item));
                }
            }
            _ => {}
        }
    }

    /// Fills in an existing value, where null may stand for a default.
    fn fill_place(&self, value: &mut Value) {
        if let (Value::Null, false, Some(default)) = (&*value, self.nullable, &self.default) {
            *value = default.clone();
        }
        self.fill(value);
    }
}
