//! Normalizes answers: replaces values that differ in each run, and keeps their equality. The
//! second UID of a case is `<uid:2>` everywhere in it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::scan;

/// The values that one case has had so far.
#[derive(Debug, Default)]
pub(crate) struct Normal {
    /// Whether times are compared.
    times: bool,
    /// `managedFields` stay.
    managed_fields: bool,
    met: BTreeMap<&'static str, Vec<String>>,
    /// When the object with this UID was made: it must stay so.
    made: BTreeMap<String, String>,
    /// Generated names, and their placeholders.
    generated: BTreeMap<String, String>,
}

/// Texts that precede a revision in a message.
const BEFORE_REVISIONS: [&str; 10] = [
    "resource version: ",
    "current: ",
    "in precondition: ",
    "in object meta: ",
    "in the precondition (",
    "in record (",
    "resourceVersion=",
    "resourceVersion: \"",
    "\"resourceVersion\":\"",
    "\\\"resourceVersion\\\":\\\"",
];

const SUFFIX: usize = 5;

impl Normal {
    pub(crate) fn new(times: bool, managed_fields: bool) -> Self {
        Self { times, managed_fields, ..Self::default() }
    }

    pub(crate) fn body(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter().map(|item| self.body(item)).collect(),
            Value::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, called) in &self.generated {
            text = text.replace(name, called);
        }
        let text = scan::replace(&text, scan::place, |_| "<there>".to_owned());
        let text = scan::replace(&text, scan::uid, |uid| self.called("uid", uid));
        let text = scan::replace(&text, scan::time, |time| self.time(time));
        BEFORE_REVISIONS.iter().fold(text, |text, before| self.revisions_after(&text, before))
    }

    /// A header's value.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> String {
        if name == "etag" { self.called("etag", value) } else { self.text(value) }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        self.meet_generated(fields);
        let mut normal = Map::new();
        for (key, value) in fields {
            let value = match (key.as_str(), value) {
                ("managedFields", _) if !self.managed_fields && fields.contains_key("uid") => continue,
                ("resourceVersion", Value::String(text)) if scan::revision(text) == Some(text.len()) => {
                    self.called("rv", text).into()
                }
                ("continue", Value::String(text)) if !text.is_empty() => self.called("continue", text).into(),
                ("serverRelativeURL", Value::String(text)) => self.hashed(text).into(),
                ("creationTimestamp", Value::String(text)) => self.made(fields, text).into(),
                (key, Value::Array(cells)) if key.rsplit('/').next() == Some("cells") => {
                    cells.iter().map(|cell| self.cell(cell)).collect()
                }
                _ => self.body(value),
            };
            normal.insert(self.text(key), value);
        }
        Value::Object(normal)
    }

    /// A name of `generateName` and five letters.
    fn meet_generated(&mut self, fields: &Map<String, Value>) {
        let text = |key| fields.get(key).and_then(Value::as_str);
        let (Some(start), Some(name)) = (text("generateName"), text("name")) else { return };
        let made_up = name.strip_prefix(start).is_some_and(|end| end.len() == SUFFIX);
        if made_up && !self.generated.contains_key(name) {
            let called = format!("{start}<{}>", self.generated.len() + 1);
            self.generated.insert(name.into(), called);
        }
    }

    /// When an object was made: the same for ever.
    fn made(&mut self, fields: &Map<String, Value>, time: &str) -> String {
        let Some(uid) = fields.get("uid").and_then(Value::as_str) else { return self.text(time) };
        if scan::time(time) != Some(time.len()) {
            return time.into();
        }
        let first = self.made.entry(uid.into()).or_insert_with(|| time.into());
        if first == time { "<made>".into() } else { "<made again>".into() }
    }

    fn cell(&mut self, cell: &Value) -> Value {
        match cell {
            Value::String(text) if scan::age(text) => "<age>".into(),
            other => self.body(other),
        }
    }

    fn hashed(&mut self, url: &str) -> String {
        match url.split_once("?hash=") {
            Some((path, hash)) => format!("{path}?hash={}", self.called("hash", hash)),
            None => url.into(),
        }
    }

    fn time(&mut self, time: &str) -> String {
        let kind = if time.contains('.') { "microtime" } else { "time" };
        if self.times { self.called(kind, time) } else { format!("<{kind}>") }
    }

    fn revisions_after(&mut self, text: &str, before: &str) -> String {
        let mut parts = text.split(before);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            whole += before;
            match scan::revision(part) {
                Some(length) => {
                    whole += &self.called("rv", &part[..length]);
                    whole += &part[length..];
                }
                None => whole += part,
            }
        }
        whole
    }

    fn called(&mut self, kind: &'static str, value: &str) -> String {
        let met = self.met.entry(kind).or_default();
        let at = met.iter().position(|it| it == value).unwrap_or_else(|| {
            met.push(value.into());
            met.len() - 1
        });
        format!("<{kind}:{}>", at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ONE: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    const TWO: &str = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";

    fn check(bodies: &[Value], expected: &[Value]) {
        let mut normal = Normal::default();
        let found: Vec<_> = bodies.iter().map(|body| normal.body(body)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_values_get_equal_placeholders() {
        check(
            &[
                json!({"uid": ONE, "resourceVersion": "12"}),
                json!({"resourceVersion": "14", "uid": TWO}),
                json!([ONE]),
            ],
            &[
                json!({"uid": "<uid:1>", "resourceVersion": "<rv:1>"}),
                json!({"uid": "<uid:2>", "resourceVersion": "<rv:2>"}),
                json!(["<uid:1>"]),
            ],
        );
        check(
            &[json!({"resourceVersion": "0"}), json!({"resourceVersion": 5})],
            &[json!({"resourceVersion": "0"}), json!({"resourceVersion": 5})],
        );
    }

    #[test]
    fn a_message_may_hold_a_revision() {
        check(
            &[json!({"resourceVersion": "7"}), json!("Too large resource version: 900, current: 7")],
            &[
                json!({"resourceVersion": "<rv:1>"}),
                json!("Too large resource version: <rv:2>, current: <rv:1>"),
            ],
        );
    }

    #[test]
    fn an_object_has_one_creation_time() {
        let made = |time| json!({"uid": ONE, "creationTimestamp": time, "managedFields": []});
        check(
            &[made("2026-01-01T00:00:00Z"), made("2026-01-01T00:00:00Z"), made("2026-01-01T00:00:01Z")],
            &["<made>", "<made>", "<made again>"]
                .map(|it| json!({"uid": "<uid:1>", "creationTimestamp": it})),
        );
    }

    #[test]
    fn a_generated_name_keeps_its_placeholder() {
        check(
            &[json!({"name": "a-x2b4c", "generateName": "a-"}), json!("w \"a-x2b4c\" not found")],
            &[json!({"name": "a-<1>", "generateName": "a-"}), json!("w \"a-<1>\" not found")],
        );
    }

    #[test]
    fn ages_and_times_pass() {
        check(
            &[json!({"cells": ["x", "3s", 1]}), json!("2026-01-01T00:00:00Z"), json!("2001-01-01T00:00:00Z")],
            &[json!({"cells": ["x", "<age>", 1]}), json!("<time>"), json!("2001-01-01T00:00:00Z")],
        );
    }
}
