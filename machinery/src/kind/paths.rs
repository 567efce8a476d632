//! JSONPaths of fields, resolved in a structural schema.

use serde_json::Value;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    /// A field: `.name`, `['name']`.
    Field(String),
    /// An item of a list: `[0]`, `[*]`, `[?(@.type=="Ready")]`.
    Item,
}

/// Returns the steps of a path such as `.status.conditions[?(@.type=="Ready")].status`.
pub(super) fn steps(path: &str) -> Vec<PathStep> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (inside, after) = inside.split_once(']').unwrap_or((inside, ""));
            let name = inside.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
            steps.push(name.map_or(PathStep::Item, |name| PathStep::Field(name.into())));
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('.').unwrap_or(rest);
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        if !name.is_empty() {
            steps.push(PathStep::Field(name.into()));
        }
        if after.len() == rest.len() {
            break;
        }
        rest = after;
    }
    steps
}

/// Returns the schema of a field below this one, if it is declared.
pub(super) fn below<'s>(schema: &'s Value, step: &PathStep) -> Option<&'s Value> {
    match step {
        PathStep::Field(name) => schema
            .get("properties")
            .and_then(|fields| fields.get(name))
            .or_else(|| schema.get("additionalProperties").filter(|all| all.is_object())),
        PathStep::Item => schema.get("items"),
    }
}

/// Returns the schema of a declared field.
pub(super) fn resolved<'s>(schema: &'s Value, path: &str) -> Option<&'s Value> {
    steps(path).iter().try_fold(schema, below)
}

/// Returns the type of a printer column for a field. That of an undeclared field is no type, so
/// that a server refuses the definition and names the field.
pub(super) fn column_type(schema: &Value, path: &str) -> String {
    if path.starts_with(".metadata.") {
        return if path.ends_with("Timestamp") { "date" } else { "string" }.into();
    }
    if steps(path).iter().try_fold(schema, |schema, step| open_below(schema, step)).is_none() {
        return format!("the kind has no field {path}");
    }
    let field = resolved(schema, path).unwrap_or(&Value::Null);
    match field["type"].as_str() {
        Some("string") if field["format"] == "date-time" => "date",
        Some(name @ ("boolean" | "integer" | "number")) => name,
        _ => "string",
    }
    .into()
}

/// Returns the first line of the description of a field.
pub(super) fn described(schema: &Value, path: &str) -> Option<String> {
    let text = resolved(schema, path)?["description"].as_str()?;
    let line = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    Some(line).filter(|line| !line.is_empty())
}

/// As [`below`], also for undeclared fields that are kept.
fn open_below<'s>(schema: &'s Value, step: &PathStep) -> Option<&'s Value> {
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    below(schema, step).or_else(|| is_open.then_some(schema))
}
