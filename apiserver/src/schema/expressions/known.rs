//! Expressions that were accepted before: they are not refused again.

use std::cell::Cell;
use std::collections::BTreeSet;

use machinery_cel::limits::PATTERN_STATES;
use serde_json::Value;

use crate::invalid::{FieldError, Problem};

/// The rules of the stored definition, and what the schemas of the new one share.
#[derive(Debug, Default)]
pub(crate) struct Known {
    expressions: BTreeSet<String>,
    all: bool,
    /// The states of the regular expressions of all schemas so far.
    states: Cell<u64>,
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

    /// Adds the states of a regular expression. Returns the error at a field if all schemas have
    /// too many. Those of a stored definition are not limited.
    pub(in crate::schema) fn add_states(&self, states: u64, at: &str) -> Option<FieldError> {
        let all = self.states.get().saturating_add(states);
        self.states.set(all);
        (all > PATTERN_STATES && !self.all).then(|| {
            let detail = format!(
                "the regular expressions of the definition have more than {PATTERN_STATES} states: use fewer of them, or \
                 smaller counts, such as {{1,63}}"
            );
            FieldError::new(at, Problem::Forbidden, detail)
        })
    }

    /// Returns whether the schemas have more states than they may have.
    pub(super) fn has_too_many_states(&self) -> bool {
        self.states.get() > PATTERN_STATES && !self.all
    }

    pub(in crate::schema) fn is_all(&self) -> bool {
        self.all
    }

    pub(super) fn has(&self, rule: &Value) -> bool {
        self.all || rule["rule"].as_str().is_some_and(|text| self.expressions.contains(text))
    }
}
