//! Validates the subresource `scale` and the selectable fields of a definition.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};

/// Maximum number of selectable fields.
const MOST: usize = 8;

/// Validates the paths of the subresource `scale`.
pub(super) fn scale_errors(scale: &Value, at: &str) -> Vec<FieldError> {
    if !scale.is_object() {
        return Vec::new();
    }
    let paths = [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    let wrong = |(field, below, detail): (&str, &[&str], &str)| {
        let path = scale[field].as_str().unwrap_or_default();
        let problem = match path {
            "" if field == "labelSelectorPath" => return None,
            "" => return Some(FieldError::new(format!("{at}.{field}"), Problem::Required, "")),
            path => Problem::Invalid(path.into()),
        };
        let detail = match path {
            path if !path.starts_with('.') => "must be a simple json path starting with .",
            path if below.iter().any(|below| path.starts_with(below)) => return None,
            _ => detail,
        };
        Some(FieldError::new(format!("{at}.{field}"), problem, detail))
    };
    paths.into_iter().filter_map(wrong).collect()
}

/// Validates the selectable fields.
pub(super) fn selectable_errors(fields: &Value, schema: &Value, at: &str) -> Vec<FieldError> {
    let (mut errors, mut known) = (FieldErrors::default(), BTreeSet::new());
    for (index, field) in fields.as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}[{index}].jsonPath");
        let path = field["jsonPath"].as_str().unwrap_or_default();
        if path.is_empty() {
            errors.push(FieldError::new(at, Problem::Required, ""));
            continue;
        }
        match found(path, schema) {
            Err(why) => {
                let detail = format!("is an invalid path: {why}");
                errors.push(FieldError::new(at, Problem::Invalid(path.into()), detail));
            }
            Ok(of) if !matches!(of["type"].as_str(), Some("string" | "boolean" | "integer")) => {
                let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                              formats are allowed.";
                errors.push(FieldError::new(at, Problem::Invalid(path.into()), detail));
            }
            Ok(_) if !known.insert(path) => {
                errors.push(FieldError::new(at, Problem::Duplicate(path.into()), ""));
            }
            Ok(_) => {}
        }
    }
    if known.len() > MOST {
        errors.push(FieldError::new(
            at,
            Problem::TooMany(known.len()),
            format!("must have at most {MOST} items"),
        ));
    }
    errors.into_list()
}

/// Returns the schema of the field at a dotted path.
fn found<'a>(path: &str, schema: &'a Value) -> Result<&'a Value, String> {
    let Some(names) = path.strip_prefix('.') else {
        let first: String = path.split(['.', '[']).next().unwrap_or_default().into();
        return Err(format!("expected [ or . but got: {first}"));
    };
    let nothing = || "does not refer to a valid field".to_owned();
    names.split('.').try_fold(schema, |schema, name| schema["properties"].get(name).ok_or_else(nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn scale_paths_must_be_below_spec_or_status() {
        let check = |scale: Value, expected: &[&str]| assert_eq!(texts(&scale_errors(&scale, "s")), expected);
        check(Value::Null, &[]);
        check(json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}), &[]);
        check(
            json!({"specReplicasPath": "spec.n", "statusReplicasPath": "", "labelSelectorPath": ".metadata.x"}),
            &[
                "s.specReplicasPath: Invalid value: \"spec.n\": must be a simple json path starting with .",
                "s.statusReplicasPath: Required value",
                "s.labelSelectorPath: Invalid value: \".metadata.x\": should be a json path under either .spec or .status",
            ],
        );
    }

    #[test]
    fn objects_are_selected_by_plain_fields() {
        let schema = json!({"properties": {"spec": {"properties": {"a": {"type": "string"}, "o": {"type": "object"}}}}});
        let check = |paths: &[&str], expected: &[&str]| {
            let fields: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
            let errors = texts(&selectable_errors(&fields.into(), &schema, "f"));
            assert_eq!(errors.len(), expected.len(), "{errors:?}");
            assert!(
                errors.iter().zip(expected).all(|(error, expected)| error.starts_with(expected)),
                "{errors:?}"
            );
        };
        check(&[".spec.a"], &[]);
        check(
            &["spec.a"],
            &["f[0].jsonPath: Invalid value: \"spec.a\": is an invalid path: expected [ or . but got: spec"],
        );
        check(
            &[".spec.a", ".spec.a", ".spec.o", ".spec.none", "", ".spec.a[0]"],
            &[
                "f[1].jsonPath: Duplicate value: \".spec.a\"",
                "f[2].jsonPath: Invalid value: \".spec.o\": must point to",
                "f[3].jsonPath: Invalid value: \".spec.none\": is an invalid path: does not refer",
                "f[4].jsonPath: Required value",
                "f[5].jsonPath: Invalid value: \".spec.a[0]\": is an invalid path: does not refer",
            ],
        );
    }
}
