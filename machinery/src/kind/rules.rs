//! Validation rules of fields, added to a schema.

use serde_json::{Map, Value, json};

use super::paths::{PathStep, steps};

/// A validation rule of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Cel { path: &'static str, rule: &'static str, message: &'static str },
    Immutable { path: &'static str },
}

/// As Kubernetes' own immutable fields.
const IMMUTABLE: &str = "attempt to update immutable field";

/// Names that a CEL expression cannot select unescaped.
const RESERVED: [&str; 20] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
];

pub(super) fn add_rules(schema: &mut Value, rules: &[Rule]) {
    for rule in rules {
        match *rule {
            Rule::Cel { path, rule, message } => match at(schema, &steps(path)) {
                Ok(field) => add(field, rule.into(), message.into()),
                Err((parent, unknown)) => refuse(parent, &unknown),
            },
            Rule::Immutable { path } => immutable(schema, path),
        }
    }
}

fn immutable(schema: &mut Value, path: &str) {
    let all = steps(path);
    let Some((PathStep::Field(name), parents)) = all.split_last() else { return refuse(schema, path) };
    if let Err((parent, unknown)) = at(schema, &all) {
        return refuse(parent, &unknown);
    }
    let Ok(parent) = at(schema, parents) else { return };
    let required = parent.get("required").and_then(Value::as_array);
    if required.is_some_and(|required| required.iter().any(|field| field == name.as_str())) {
        if let Ok(field) = at(schema, &all) {
            add(field, "self == oldSelf".into(), IMMUTABLE.into());
        }
        return;
    }
    // A transition rule on an optional field is not evaluated when the field is added or removed.
    let field = escaped(name);
    let rule = format!(
        "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    );
    add(parent, rule, format!("{name}: {IMMUTABLE}"));
}

/// Returns the schema of a field; of an undeclared one its closest declared parent, and its path
/// from there.
fn at<'s>(schema: &'s mut Value, path: &[PathStep]) -> Result<&'s mut Value, (&'s mut Value, String)> {
    let Some((first, rest)) = path.split_first() else { return Ok(schema) };
    if super::paths::below(schema, first).is_none() {
        let names = path.iter().filter_map(|step| match step {
            PathStep::Field(name) => Some(escaped(name)),
            PathStep::Item => None,
        });
        let names: Vec<_> = names.collect();
        return Err((schema, names.join(".")));
    }
    let below = match first {
        PathStep::Field(name) => {
            let is_property = schema.get("properties").is_some_and(|fields| fields.get(name).is_some());
            if is_property {
                &mut schema["properties"][name.as_str()]
            } else {
                &mut schema["additionalProperties"]
            }
        }
        PathStep::Item => &mut schema["items"],
    };
    at(below, rest)
}

/// Adds a rule that names an undeclared field: a server refuses it, as it would the intended rule.
fn refuse(parent: &mut Value, unknown: &str) {
    add(parent, format!("self.{unknown} == self.{unknown}"), "a rule of an undeclared field".into());
}

fn add(field: &mut Value, rule: String, message: String) {
    let Some(field) = field.as_object_mut() else { return };
    let rules = Map::entry(field, "x-kubernetes-validations").or_insert_with(|| json!([]));
    if let Value::Array(rules) = rules {
        rules.push(json!({"rule": rule, "message": message}));
    }
}

/// Returns a field name as CEL expressions of Kubernetes select it.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let name = name.replace("__", "__underscores__");
    name.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
