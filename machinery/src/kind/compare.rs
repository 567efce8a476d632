//! Comparison of two definitions of a kind: that of a program, and the one on a server.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// A difference between the definition of a kind in this program and that on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionDifference {
    /// The path: `versions[v1].schema.spec.rack.type`.
    pub path: String,
    /// The value on the server, as JSON, if there is one.
    pub server: Option<String>,
    /// The value in this program, as JSON, if there is one.
    pub program: Option<String>,
    /// Whether the server's definition can be updated: every stored object and every client of the
    /// older definition stays valid.
    pub is_compatible: bool,
}

/// Limit of a value in a message.
const MAX_VALUE: usize = 80;

/// Lower bounds, and then upper bounds, of values.
const LOWER: [&str; 5] = ["minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"];
const UPPER: [&str; 5] = ["maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"];

/// Keywords of a schema that neither validate nor prune.
const ANNOTATIONS: [&str; 5] = ["description", "title", "default", "example", "externalDocs"];

/// Returns the differences between a program's definition and a server's, in a fixed order. Fields
/// that only a server sets do not count.
#[must_use]
pub fn differences(program: &Value, server: &Value) -> Vec<DefinitionDifference> {
    let mut found = Differences::default();
    let (ours, theirs) = (&program["spec"], &server["spec"]);
    for fixed in ["group", "scope"] {
        found.value(fixed, ours.get(fixed), theirs.get(fixed), false);
    }
    for name in ["kind", "plural", "singular", "listKind"] {
        let ours = ours["names"].get(name);
        if ours.is_some() {
            found.value(&format!("names.{name}"), ours, theirs["names"].get(name), name == "singular");
        }
    }
    for list in ["shortNames", "categories"] {
        if texts(&ours["names"][list]) != texts(&theirs["names"][list]) {
            found.value(&format!("names.{list}"), ours["names"].get(list), theirs["names"].get(list), true);
        }
    }
    let annotations = program["metadata"]["annotations"].as_object();
    for (name, value) in annotations.into_iter().flatten() {
        let path = format!("annotations[{name}]");
        found.value(&path, Some(value), server["metadata"]["annotations"].get(name), true);
    }
    let versions = |spec: &Value| spec["versions"].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (versions(ours), versions(theirs));
    let same =
        |all: &[Value], version: &Value| all.iter().find(|other| other["name"] == version["name"]).cloned();
    for version in &ours {
        let path = format!("versions[{}]", version["name"].as_str().unwrap_or_default());
        match same(&theirs, version) {
            Some(server) => found.version(&path, version, &server),
            None => found.push(path, None, Some("served".into()), true),
        }
    }
    for version in theirs.iter().filter(|version| same(&ours, version).is_none()) {
        let path = format!("versions[{}]", version["name"].as_str().unwrap_or_default());
        found.push(path, Some("served".into()), None, false);
    }
    found.0
}

#[derive(Default)]
struct Differences(Vec<DefinitionDifference>);

impl Differences {
    fn push(&mut self, path: String, server: Option<String>, program: Option<String>, is_compatible: bool) {
        self.0.push(DefinitionDifference { path, server, program, is_compatible });
    }

    fn value(&mut self, path: &str, ours: Option<&Value>, theirs: Option<&Value>, is_compatible: bool) {
        if ours != theirs {
            self.push(path.into(), theirs.map(short), ours.map(short), is_compatible);
        }
    }

    fn version(&mut self, path: &str, ours: &Value, theirs: &Value) {
        for flag in ["served", "storage", "deprecated"] {
            let (is, was) = (ours[flag] == true, theirs[flag] == true);
            let is_compatible = flag != "served" || is;
            self.value(&format!("{path}.{flag}"), Some(&is.into()), Some(&was.into()), is_compatible);
        }
        for subresource in ["status", "scale"] {
            let of = |version: &'_ Value| version["subresources"].get(subresource).cloned();
            let (ours, theirs) = (of(ours), of(theirs));
            let is_compatible = theirs.is_none();
            self.value(
                &format!("{path}.subresources.{subresource}"),
                ours.as_ref(),
                theirs.as_ref(),
                is_compatible,
            );
        }
        let fields = |version: &Value| -> BTreeSet<String> {
            let fields = version["selectableFields"].as_array().into_iter().flatten();
            fields.filter_map(|field| field["jsonPath"].as_str().map(str::to_owned)).collect()
        };
        let (selects, selected) = (fields(ours), fields(theirs));
        for field in selects.difference(&selected) {
            self.push(format!("{path}.selectableFields"), None, Some(field.clone()), true);
        }
        for field in selected.difference(&selects) {
            self.push(format!("{path}.selectableFields"), Some(field.clone()), None, false);
        }
        let columns = "additionalPrinterColumns";
        self.value(&format!("{path}.{columns}"), ours.get(columns), theirs.get(columns), true);
        let schema = |version: &'_ Value| version["schema"]["openAPIV3Schema"].clone();
        self.schema(&format!("{path}.schema"), &schema(ours), &schema(theirs));
    }

    fn schema(&mut self, path: &str, ours: &Value, theirs: &Value) {
        let keys = |schema: &Value| -> BTreeSet<String> {
            schema.as_object().into_iter().flat_map(|schema| schema.keys().cloned()).collect()
        };
        for key in keys(ours).union(&keys(theirs)) {
            let (ours, theirs) = (ours.get(key), theirs.get(key));
            if ours == theirs {
                continue;
            }
            let at = format!("{path}.{key}");
            match (&**key, ours, theirs) {
                ("properties", ..) => self.properties(path, ours, theirs),
                ("items" | "additionalProperties", Some(ours), Some(theirs))
                    if ours.is_object() && theirs.is_object() =>
                {
                    let below = if key == "items" { format!("{path}[]") } else { format!("{path}[*]") };
                    self.schema(&below, ours, theirs);
                }
                ("required" | "enum", ..) => {
                    let (is, was) = (ours.map(texts), theirs.map(texts));
                    // More values may be absent, or more are allowed.
                    let is_compatible = match (&**key, is, was) {
                        ("required", is, was) => is.unwrap_or_default().is_subset(&was.unwrap_or_default()),
                        (_, None, _) => true,
                        (_, Some(is), was) => was.is_some_and(|was| is.is_superset(&was)),
                    };
                    self.value(&at, ours, theirs, is_compatible);
                }
                ("x-kubernetes-validations", ..) => self.rules(&at, ours, theirs),
                (key, ..) => self.value(&at, ours, theirs, is_looser(key, ours, theirs)),
            }
        }
    }

    fn properties(&mut self, path: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        let names = |fields: Option<&Value>| -> BTreeSet<String> {
            fields.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys().cloned()).collect()
        };
        for name in names(ours).union(&names(theirs)) {
            let path = format!("{path}.{name}");
            match (ours.and_then(|fields| fields.get(name)), theirs.and_then(|fields| fields.get(name))) {
                (Some(ours), Some(theirs)) => self.schema(&path, ours, theirs),
                // A removed field is pruned from stored objects.
                (ours, theirs) => self.push(path, theirs.map(kind_of), ours.map(kind_of), theirs.is_none()),
            }
        }
    }

    fn rules(&mut self, path: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        let rules = |rules: Option<&Value>| -> BTreeSet<String> {
            let rules = rules.and_then(Value::as_array).into_iter().flatten();
            rules.filter_map(|rule| rule["rule"].as_str().map(str::to_owned)).collect()
        };
        let (is, was) = (rules(ours), rules(theirs));
        for rule in is.difference(&was) {
            // A transition rule does not make a stored object invalid.
            self.push(path.into(), None, Some(rule.clone()), rule.contains("oldSelf"));
        }
        for rule in was.difference(&is) {
            self.push(path.into(), Some(rule.clone()), None, true);
        }
        if is == was {
            self.value(path, ours, theirs, true);
        }
    }
}

/// Returns whether the change of a keyword keeps all values valid.
fn is_looser(key: &str, ours: Option<&Value>, theirs: Option<&Value>) -> bool {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let is_true = |value: Option<&Value>| value == Some(&Value::Bool(true));
    if ANNOTATIONS.contains(&key) {
        return true;
    }
    if LOWER.contains(&key) || UPPER.contains(&key) {
        return match (number(ours), number(theirs)) {
            (None, _) => true,
            (Some(is), Some(was)) => {
                if LOWER.contains(&key) {
                    is <= was
                } else {
                    is >= was
                }
            }
            (Some(_), None) => false,
        };
    }
    match key {
        "nullable" | "x-kubernetes-preserve-unknown-fields" => is_true(ours) || !is_true(theirs),
        "pattern" | "format" | "multipleOf" => ours.is_none(),
        _ => false,
    }
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().map(ToString::to_string).collect()
}

/// Returns the type of a field, as its whole schema would be long.
fn kind_of(field: &Value) -> String {
    field["type"].as_str().unwrap_or("any").to_owned()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// `versions[v1].schema.spec.rack.type: "string" on the server, "integer" in this program
/// (incompatible)`.
impl fmt::Display for DefinitionDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &'_ Option<String>| value.clone().unwrap_or_else(|| "absent".into());
        write!(
            f,
            "{}: {} on the server, {} in this program",
            self.path,
            text(&self.server),
            text(&self.program)
        )?;
        f.write_str(if self.is_compatible { "" } else { " (incompatible)" })
    }
}

#[cfg(test)]
mod tests;
