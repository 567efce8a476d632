//! Renders objects and watch events as a `Table` of meta.k8s.io.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::column::Columns;
use super::partial::{cut, is_status, list_metadata};
use crate::accept::MetaVersion;
use crate::invalid::{FieldError, Problem};
use crate::refusal::Refusal;
use crate::schema::Schema;

/// The part of its object that a row carries: the query parameter `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

/// Converts objects of one kind to tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a> {
    pub(crate) columns: &'a Columns,
    /// The schema, if it declares passwords: no cell shows one.
    pub(crate) secret_fields: Option<&'a Schema>,
    pub(crate) version: MetaVersion,
    pub(crate) include: Include,
    /// The time from which ages are computed.
    pub(crate) now: Timestamp,
}

impl Include {
    /// Reads the query parameter.
    ///
    /// # Errors
    /// 400 for an unknown value.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(match text {
            "" | "Metadata" => Self::Metadata,
            "None" => Self::None,
            "Object" => Self::Object,
            _ => {
                let detail = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::new("includeObject", Problem::Invalid(text.into()), detail);
                return Err(Refusal::bad_request(format!(
                    "Unable to convert to Table as requested: {error}"
                )));
            }
        })
    }
}

impl Tables<'_> {
    /// Converts a list or an object to a table. A `Status` stays as it is.
    pub(crate) fn table(&self, mut answer: Value) -> Value {
        if is_status(&answer) {
            return answer;
        }
        match answer.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take) {
            Some(items) => {
                let rows = items.into_iter().map(|item| self.row(item)).collect();
                self.whole(answer["metadata"].take(), rows, true)
            }
            None => self.event(answer, true),
        }
    }

    /// The object of a watch event as a table. Its columns are defined in the first one only. A
    /// `Status` stays.
    pub(crate) fn event(&self, object: Value, first: bool) -> Value {
        if is_status(&object) {
            return object;
        }
        let mut metadata = Map::new();
        if let Some(revision) = object["metadata"].get("resourceVersion") {
            metadata.insert("resourceVersion".into(), revision.clone());
        }
        let rows = vec![self.row(object)];
        self.whole(metadata.into(), rows, first)
    }

    /// Returns the row of an object.
    pub(crate) fn row(&self, mut object: Value) -> Value {
        let cells = match self.secret_fields {
            None => self.columns.cells(&object, self.now),
            Some(schema) => {
                let mut shown = object.clone();
                schema.hide_passwords(&mut shown);
                self.columns.cells(&shown, self.now)
            }
        };
        let conditions = self.columns.conditions(&object);
        let ends_initial_events = object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
        let object = match self.include {
            Include::Object => object,
            Include::None if !ends_initial_events => Value::Null,
            Include::None | Include::Metadata => cut(&mut object, self.version),
        };
        let mut row = json!({"cells": cells, "object": object});
        if let Some(conditions) = conditions {
            row["conditions"] = conditions;
        }
        row
    }

    fn whole(&self, metadata: Value, rows: Vec<Value>, defined: bool) -> Value {
        json!({
            "kind": "Table",
            "apiVersion": self.version.api_version(),
            "metadata": list_metadata(metadata),
            "columnDefinitions": if defined { self.columns.definitions() } else { Value::Null },
            "rows": rows,
        })
    }
}

#[cfg(test)]
mod tests;
