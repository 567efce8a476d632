//! Expressions that were accepted before: they are not refused again.

use std::collections::BTreeSet;

use serde_json::Value;

/// The rules of the stored definition.
#[derive(Debug, Default)]
pub(crate) struct Known {
    expressions: BTreeSet<String>,
    all: bool,
}

impl Known {
    /// Treats every rule as known: the definition is stored.
    pub(in crate::schema) fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Adds all expressions of a schema.
    pub(crate) fn add(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
                let texts = rules.into_iter().flatten().filter_map(|rule| rule["rule"].as_str());
                self.expressions.extend(texts.map(str::to_owned));
                fields.values().for_each(|below| self.add(below));
            }
            Value::Array(items) => items.iter().for_each(|below| self.add(below)),
            _ => {}
        }
    }

    pub(in crate::schema) fn is_all(&self) -> bool {
        self.all
    }

    pub(super) fn has(&self, rule: &Value) -> bool {
        self.all || rule["rule"].as_str().is_some_and(|text| self.expressions.contains(text))
    }
}
