//! Parses requests to open or edit an interest.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_objects::{InterestBy, InterestEdit, Revision};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::edits::EditId;
use super::registry::Selectors;
use crate::invalid::{FieldError, Problem, invalid};
use crate::json;
use crate::refusal::Refusal;
use crate::request::parse_revision;

/// The parsed body of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct EditRequest {
    pub(crate) number: u64,
    pub(crate) change: InterestEdit,
    /// Required in edit 0, absent otherwise.
    pub(crate) by: Option<InterestBy>,
    /// Optional in edit 0, absent otherwise.
    pub(crate) after: Option<Revision>,
}

/// Maximum number of errors to report.
const MAX_ERRORS: usize = 10;

impl EditRequest {
    /// Parses a body. 400: invalid JSON; 413: too many values; 422: an invalid edit.
    pub(crate) fn parse(id: &str, body: &[u8]) -> Result<Self, Refusal> {
        let read = json::read(body).map_err(|malformed| {
            let code = if malformed.is_limit() { 413 } else { 400 };
            let reason = if code == 413 { "RequestEntityTooLarge" } else { "BadRequest" };
            Refusal::new(code, reason, format!("the body is no edit of an interest: {}", malformed.0))
        })?;
        let mut reader = EditReader { wrong: Vec::new() };
        reader.wrong.extend(
            read.duplicates
                .iter()
                .map(|path| FieldError::new(path, Problem::Duplicate(path.as_str().into()), "say it once")),
        );
        let request = match read.value {
            Value::Object(body) => reader.edit(body),
            other => {
                reader.mistyped::<()>("", other, "an object");
                None
            }
        };
        match request {
            Some(request) if reader.wrong.is_empty() => match request.after {
                Some(after) => {
                    let after = Some(parse_revision(&after)?).filter(|after| *after != 0).map(Revision);
                    Ok(Self { number: request.number, change: request.change, by: request.by, after })
                }
                None => {
                    Ok(Self { number: request.number, change: request.change, by: request.by, after: None })
                }
            },
            _ => {
                reader.wrong.truncate(MAX_ERRORS);
                Err(wrong(id, &reader.wrong))
            }
        }
    }

    /// Returns the identification of the edit, to detect a retry.
    pub(super) fn edit(&self, selectors: &Selectors) -> EditId {
        // A digest instead of the edit, which may have 100 000 keys.
        let mut hash = Sha256::new();
        // Length before text: no two edits have the same input.
        let mut add = |text: &str| {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(text);
        };
        match &self.by {
            Some(InterestBy::Field(field)) => ["field", field].map(&mut add),
            Some(InterestBy::Label(label)) => ["label", label].map(&mut add),
            None => ["", ""].map(&mut add),
        };
        add(&self.after.map_or_else(String::new, |after| after.to_string()));
        add(&selectors.labels.to_string());
        add(&selectors.fields.to_string());
        for keys in [&self.change.remove, &self.change.add] {
            add(&keys.len().to_string());
            keys.iter().for_each(|key| add(key));
        }
        EditId { number: self.number, digest: hash.finalize().into() }
    }
}

/// The 422 refusal of an invalid edit.
pub(super) fn wrong(id: &str, errors: &[FieldError]) -> Refusal {
    invalid("", "Interest", id, errors)
}

struct EditReader {
    wrong: Vec<FieldError>,
}

struct RawEdit {
    number: u64,
    change: InterestEdit,
    by: Option<InterestBy>,
    after: Option<String>,
}

impl EditReader {
    fn edit(&mut self, mut body: Map<String, Value>) -> Option<RawEdit> {
        let number = match body.remove("edit") {
            Some(Value::Number(number)) if number.is_u64() => number.as_u64(),
            None | Some(Value::Null) => {
                self.wrong.push(FieldError::new(
                    "edit",
                    Problem::Required,
                    "the number of the edit; 0 opens",
                ));
                None
            }
            Some(other) => self.mistyped("edit", other, "a whole number from 0 on"),
        };
        let by = body.remove("by").filter(|by| !by.is_null());
        let after = body.remove("resourceVersion").filter(|after| !after.is_null());
        let remove = body.remove("remove");
        let opens = number == Some(0);
        for (field, there) in [
            ("by", !opens && by.is_some()),
            ("resourceVersion", !opens && after.is_some()),
            ("remove", opens && !matches!(remove, None | Some(Value::Null))),
        ] {
            if there && number.is_some() {
                let why = if opens { "there is nothing yet to remove" } else { "it is said once, by edit 0" };
                self.wrong.push(FieldError::new(field, Problem::Forbidden, why));
            }
        }
        let by = match by {
            Some(by) => self.by(by),
            None if opens => {
                let why = r#"what the keys are values of: {"field": …} or {"label": …}"#;
                self.wrong.push(FieldError::new("by", Problem::Required, why));
                None
            }
            None => None,
        };
        let after = match after {
            Some(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
            Some(other) => self.mistyped("resourceVersion", other, "a text"),
            None => None,
        };
        let change =
            InterestEdit { remove: self.keys("remove", remove), add: self.keys("add", body.remove("add")) };
        for (field, _) in body.into_iter().take(MAX_ERRORS) {
            let shown: String = field.chars().take(64).collect();
            self.wrong.push(FieldError::new(shown, Problem::Forbidden, "an edit says no such thing"));
        }
        Some(RawEdit { number: number?, change, by, after })
    }

    fn by(&mut self, by: Value) -> Option<InterestBy> {
        let Value::Object(by) = by else { return self.mistyped("by", by, "an object") };
        let mut by = by.into_iter();
        match (by.next(), by.next()) {
            (Some((kind, Value::String(name))), None) if kind == "field" => {
                Some(InterestBy::Field(name.into()))
            }
            (Some((kind, Value::String(name))), None) if kind == "label" => {
                Some(InterestBy::Label(name.into()))
            }
            _ => {
                let why = r#"it is either {"field": NAME} or {"label": NAME}"#;
                self.wrong.push(FieldError::new("by", Problem::Invalid(Value::Null), why));
                None
            }
        }
    }

    fn keys(&mut self, field: &str, keys: Option<Value>) -> BTreeSet<Arc<str>> {
        let mut set = BTreeSet::new();
        match keys {
            None | Some(Value::Null) => {}
            Some(Value::Array(keys)) => {
                for (at, key) in keys.into_iter().enumerate() {
                    match key {
                        Value::String(key) => {
                            set.insert(Arc::from(key));
                        }
                        other if self.wrong.len() < MAX_ERRORS => {
                            self.mistyped::<()>(&format!("{field}[{at}]"), other, "a text");
                        }
                        _ => {}
                    }
                }
            }
            Some(other) => {
                self.mistyped::<()>(field, other, "a list of texts");
            }
        }
        set
    }

    fn mistyped<T>(&mut self, field: &str, found: Value, expected: &str) -> Option<T> {
        // Long values are not quoted.
        let found = match found {
            Value::Array(_) | Value::Object(_) => json::type_name(&found).into(),
            Value::String(text) => Value::String(text.chars().take(64).collect()),
            other => other,
        };
        self.wrong.push(FieldError::new(field, Problem::TypeInvalid(found), format!("must be {expected}")));
        None
    }
}
