//! Sections of objects, with the times of their latest writes.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The annotation of a definition with its sections.
const ANNOTATION: &str = "/metadata/annotations/machinery.dev~1sections";

/// Fields that no stamp can be below: they belong to the client, to the server, or to the writers
/// of the status.
const NOT_STAMPED: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The sections of a kind, and the field in which their write times are recorded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sections {
    at: FieldPath,
    sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    name: String,
    paths: Vec<FieldPath>,
}

/// The field names of a path such as `.status.address`.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
struct FieldPath(Vec<String>);

impl Sections {
    /// Returns the sections that a definition declares; `None` without any.
    pub(super) fn of(definition: &Value) -> Result<Option<Self>, String> {
        let Some(text) = definition.pointer(ANNOTATION).and_then(Value::as_str) else { return Ok(None) };
        let wrong = |why: &dyn std::fmt::Display| format!("the annotation machinery.dev/sections: {why}");
        let sections: Self = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        let first = sections.at.0.first().map(String::as_str).unwrap_or_default();
        if NOT_STAMPED.contains(&first) {
            return Err(wrong(&format!("sections cannot be recorded in {first}: choose another field")));
        }
        Ok(Some(sections))
    }

    /// Records the sections that a write changes, the last declared one first. The values of a
    /// client are replaced.
    pub(super) fn stamp(&self, new: &mut Value, old: Option<&Value>, now: Timestamp) {
        let recorded = old.and_then(|old| self.at.value(old)).and_then(|at| at["writes"].as_array());
        let mut writes: Vec<Value> = recorded.cloned().unwrap_or_default();
        for section in self.sections.iter().filter(|section| section.differs(new, old)) {
            writes.retain(|write| write["section"] != *section.name);
            // Not rounded: a time must not be later than the write.
            let time = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
            writes.insert(0, json!({"section": section.name, "serverTime": format!("{time:.6}")}));
        }
        self.at.set(new, if writes.is_empty() { None } else { Some(json!({"writes": writes})) });
    }
}

impl Section {
    fn differs(&self, new: &Value, old: Option<&Value>) -> bool {
        let old = old.unwrap_or(&Value::Null);
        self.paths.iter().any(|path| !is_same(path.value(new), path.value(old)))
    }
}

impl FieldPath {
    fn value<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(object, |value, name| value.get(name))
    }

    fn set(&self, object: &mut Value, value: Option<Value>) {
        let Some((last, parents)) = self.0.split_last() else { return };
        let mut object = object;
        for name in parents {
            let Some(fields) = object.as_object_mut() else { return };
            object = Map::entry(fields, name.as_str()).or_insert_with(|| json!({}));
        }
        let Some(fields) = object.as_object_mut() else { return };
        match value {
            Some(value) => drop(fields.insert(last.clone(), value)),
            None => drop(fields.remove(last)),
        }
    }
}

impl TryFrom<String> for FieldPath {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        let names: Vec<String> = path.split('.').skip(1).map(str::to_owned).collect();
        let is_path =
            path.starts_with('.') && names.iter().all(|name| !name.is_empty() && !name.contains('['));
        if is_path { Ok(Self(names)) } else { Err(format!("{path:?} is no path such as .status.address")) }
    }
}

/// Returns true if both values are equal, where an absent field equals an empty one: clients omit
/// empty fields, or do not.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(value), None) | (None, Some(value)) => is_empty(value),
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            names.into_iter().all(|name| is_same(one.get(name), other.get(name)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            one.iter().zip(other).all(|(one, other)| is_same(Some(one), Some(other)))
        }
        (Some(one), Some(other)) => one == other || (is_empty(one) && is_empty(other)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &Value) -> Result<Option<Sections>, String> {
        let annotations = json!({"machinery.dev/sections": text.to_string()});
        Sections::of(&json!({"metadata": {"annotations": annotations}}))
    }

    fn declared() -> Sections {
        let sections = sections(&json!({"at": ".writes", "sections": [
            {"name": "spec", "paths": [".spec"]}, {"name": "address", "paths": [".status.ip", ".status.errors.ipam"]},
        ]}));
        sections.unwrap().unwrap()
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    #[test]
    fn each_section_has_the_time_of_its_latest_change() {
        let check = |mut new: Value, old: Option<&Value>, time: i64, expected: &[(&str, &str)]| {
            declared().stamp(&mut new, old, at(time));
            let writes = new.pointer("/writes/writes").and_then(Value::as_array).cloned().unwrap_or_default();
            let expected: Vec<Value> = expected
                .iter()
                .map(|(section, time)| json!({"section": section, "serverTime": format!("1970-01-01T00:00:{time}Z")}))
                .collect();
            assert_eq!(writes, expected, "{new}");
            new
        };
        let forged = json!({"writes": [{"section": "address", "serverTime": "2100-01-01T00:00:00Z"}]});
        let made =
            check(json!({"spec": {"a": 1}, "writes": forged}), None, 1_000_001, &[("spec", "01.000001")]);
        let mut changed = made.clone();
        changed["status"] = json!({"ip": "10.0.0.1", "other": 1});
        let expected = [("address", "02.000000"), ("spec", "01.000001")];
        let made = check(changed, Some(&made), 2_000_000, &expected);
        let mut changed = made.clone();
        changed["status"]["other"] = 2.into();
        changed["writes"] = json!({});
        let made = check(changed, Some(&made), 3_000_000, &expected);
        let mut changed = made.clone();
        (changed["spec"], changed["status"]["errors"]) = (json!({"a": 2}), json!({"ipam": ["x"]}));
        check(changed, Some(&made), 4_000_000, &[("address", "04.000000"), ("spec", "04.000000")]);
        check(json!({"writes": forged}), None, 1, &[]);
    }

    #[test]
    fn an_absent_field_equals_an_empty_one() {
        let check = |one: Value, other: Value, same: bool| {
            assert_eq!(is_same(Some(&one), Some(&other)), same, "{one} {other}");
            assert_eq!(is_same(Some(&other), Some(&one)), same, "{other} {one}");
        };
        check(json!({"a": {"b": [], "c": 0}}), json!({"d": null, "e": "", "f": false}), true);
        check(json!({"a": [{"b": 1, "c": ""}]}), json!({"a": [{"b": 1}]}), true);
        check(json!({"a": 0}), json!({"a": 1}), false);
        check(json!({"a": [1]}), json!({"a": [1, 1]}), false);
        check(json!({"a": [0]}), json!({"a": []}), false);
    }

    #[test]
    fn malformed_sections_are_refused() {
        assert!(Sections::of(&json!({})).unwrap().is_none());
        let check = |text: Value, expected: &str| {
            let error = sections(&text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check(json!({"at": "writes", "sections": []}), "\"writes\" is no path");
        check(json!({"at": ".status.writes", "sections": []}), "choose another field");
        check(json!({"at": ".w", "sections": [{"name": "a", "paths": [".a[0]"]}]}), "\".a[0]\" is no path");
        check(json!([]), "machinery.dev/sections");
    }
}
