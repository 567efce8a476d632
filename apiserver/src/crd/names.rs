//! The names of a definition, and their validation.

use serde_json::Value;

use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};
use crate::kind::KindNames;
use crate::meta::names::{MIXED_CASE, dns_1035_label, dns_subdomain};

/// Reads the names from the spec of a definition, or the accepted ones from its status.
pub(crate) fn names(names: &Value) -> KindNames {
    let text = |field: &str| names[field].as_str().unwrap_or_default().to_owned();
    let texts = |field: &str| {
        let all = names[field].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    KindNames {
        kind: text("kind"),
        list_kind: text("listKind"),
        plural: text("plural"),
        singular: text("singular"),
        short_names: texts("shortNames"),
        categories: texts("categories"),
    }
}

/// Checks that `metadata.name` is `PLURAL.GROUP`.
pub(super) fn of_object(crd: &Value) -> Option<FieldError> {
    let text = |at: &str| crd.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let expected = format!("{}.{}", text("/spec/names/plural"), text("/spec/group"));
    let detail = r#"must be spec.names.plural+"."+spec.group"#;
    let value = &crd["metadata"]["name"];
    (*value != expected).then(|| FieldError::new("metadata.name", Problem::Invalid(value.clone()), detail))
}

/// Validates the names, group and scope of a definition.
pub(super) fn errors(crd: &Value) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let names = names(&spec["names"]);
    let group = spec["group"].as_str().unwrap_or_default();
    let mut errors = FieldErrors::default();
    match group {
        "" => errors.push(FieldError::new("spec.group", Problem::Required, "")),
        _ => {
            let dots = (!group.contains('.')).then(|| "should be a domain with at least one dot".to_owned());
            let wrong = dns_subdomain(group).into_iter().chain(dots);
            let problem = || Problem::Invalid(group.into());
            errors.extend(wrong.map(|why| FieldError::new("spec.group", problem(), why)));
        }
    }
    match spec["scope"].as_str() {
        Some("Namespaced" | "Cluster") => {}
        None | Some("") => errors.push(FieldError::new("spec.scope", Problem::Required, "")),
        Some(other) => {
            let problem = Problem::NotSupported(other.into());
            errors.push(FieldError::new(
                "spec.scope",
                problem,
                r#"supported values: "Cluster", "Namespaced""#,
            ));
        }
    }
    let mut label = |field: &str, text: &str| {
        let field = format!("spec.names.{field}");
        let mixed = matches!(field.rsplit('.').next(), Some("kind" | "listKind"));
        let wrong = if mixed { dns_1035_label(&text.to_lowercase()) } else { dns_1035_label(text) };
        if text.is_empty() {
            errors.push(FieldError::new(field, Problem::Required, ""));
        } else if mixed && !wrong.is_empty() {
            let detail = format!("{MIXED_CASE}{}", wrong.join(","));
            errors.push(FieldError::new(field, Problem::Invalid(text.into()), detail));
        } else {
            let problem = || Problem::Invalid(text.into());
            errors.extend(wrong.into_iter().map(|why| FieldError::new(&*field, problem(), why)));
        }
    };
    label("plural", &names.plural);
    label("singular", &names.singular);
    label("kind", &names.kind);
    label("listKind", &names.list_kind);
    for (at, name) in names.short_names.iter().enumerate() {
        label(&format!("shortNames[{at}]"), name);
    }
    for (at, name) in names.categories.iter().enumerate() {
        label(&format!("categories[{at}]"), name);
    }
    if names.kind == names.list_kind && !names.kind.is_empty() {
        let problem = Problem::Invalid(names.list_kind.as_str().into());
        errors.push(FieldError::new("spec.names.listKind", problem, "kind and listKind may not be the same"));
    }
    errors.into_list()
}
