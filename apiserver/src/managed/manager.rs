//! Names of field managers: defaults and validation.

use serde_json::Value;

use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem, invalid};
use crate::json::is_printable;
use crate::refusal::Refusal;

const LONGEST: usize = 128;
const LONGEST_SUBRESOURCE: usize = 256;

/// Returns the field manager of a write: `fieldManager` of the request, or else the User-Agent up
/// to its version. `options` is the kind of the request's options, named in a refusal:
/// `PatchOptions`.
pub(crate) fn manager_name(
    given: Option<&str>,
    user_agent: Option<&str>,
    options: &str,
) -> Result<String, Refusal> {
    if let Some(name) = given.filter(|name| !name.is_empty()) {
        let problems = manager_problems(name, "fieldManager");
        return match problems.as_slice() {
            [] => Ok(name.into()),
            problems => Err(invalid("meta.k8s.io", options, "", problems)),
        };
    }
    let program = user_agent.unwrap_or_default().split('/').next().unwrap_or_default();
    let mut name = String::new();
    for char in program.chars().filter(|char| is_printable(*char)) {
        if name.len() + char.len_utf8() > LONGEST {
            break;
        }
        name.push(char);
    }
    Ok(if name.is_empty() { "unknown".into() } else { name })
}

/// Returns the errors of a manager's name in a field.
pub(crate) fn manager_problems(name: &str, field: &str) -> Vec<FieldError> {
    if name.len() > LONGEST {
        return vec![too_long(field, LONGEST)];
    }
    let mut problems = Vec::new();
    for (at, char) in name.char_indices().filter(|(_, char)| !is_printable(*char)) {
        let said = format!("invalid character U+{:04X} (at position {at})", u32::from(char));
        problems.push(FieldError::new(field, Problem::Invalid(name.into()), said));
    }
    problems
}

/// Returns the errors of decodable entries of managedFields.
pub(crate) fn problems(entries: &Value) -> Vec<FieldError> {
    let mut problems = FieldErrors::default();
    for (at, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let field = |name: &str| format!("metadata.managedFields[{at}].{name}");
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        problems.extend(manager_problems(text("manager"), &field("manager")));
        if text("subresource").len() > LONGEST_SUBRESOURCE {
            problems.push(too_long(&field("subresource"), LONGEST_SUBRESOURCE));
        }
    }
    problems.into_list()
}

fn too_long(field: &str, limit: usize) -> FieldError {
    FieldError::new(field, Problem::TooLong, format!("may not be more than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{manager_name, problems};

    fn check(given: Option<&str>, user_agent: Option<&str>, expected: &str) {
        assert_eq!(manager_name(given, user_agent, "PatchOptions").unwrap(), expected);
    }

    #[test]
    fn names_come_from_the_request_or_the_program() {
        check(Some("me"), Some("kubectl/v1.37.2 (linux/amd64)"), "me");
        check(None, Some("kubectl/v1.37.2 (linux/amd64)"), "kubectl");
        check(Some(""), Some("kopf"), "kopf");
        check(None, Some("a\u{7}b c\u{a0}d é/1"), "ab cd é");
        check(None, Some("/1"), "unknown");
        check(None, None, "unknown");
        check(None, Some(&format!("{}é", "x".repeat(127))), &"x".repeat(127));
        check(Some(&"é".repeat(64)), None, &"é".repeat(64));
    }

    #[test]
    fn invalid_manager_names_are_refused() {
        let refusal = manager_name(Some(&"x".repeat(129)), None, "PatchOptions").unwrap_err();
        let said = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes";
        assert_eq!((refusal.code, refusal.reason, refusal.message.as_str()), (422, "Invalid", said));
        let refusal = manager_name(Some("a\tb"), None, "CreateOptions").unwrap_err();
        let said = "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\tb\": \
                    invalid character U+0009 (at position 1)";
        assert_eq!(refusal.message, said);
    }

    #[test]
    fn managers_of_entries_are_validated() {
        let entries = json!([{"manager": "a"}, {"manager": "b\n", "subresource": "x".repeat(257)}]);
        let fields: Vec<_> = problems(&entries).into_iter().map(|problem| problem.field).collect();
        assert_eq!(fields, ["metadata.managedFields[1].manager", "metadata.managedFields[1].subresource"]);
    }
}
