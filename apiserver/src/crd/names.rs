//! What a definition calls its kind, and whether the texts may be used so.

use machinery_objects::NameRule;
use serde_json::Value;

use crate::invalid::{FieldError, Problem};
use crate::kind::Names;

/// The names that a definition asks for in its spec, or that its status says are accepted.
pub(crate) fn names(names: &Value) -> Names {
    let text = |field: &str| names[field].as_str().unwrap_or_default().to_owned();
    let texts = |field: &str| {
        let all = names[field].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Names {
        kind: text("kind"),
        list_kind: text("listKind"),
        plural: text("plural"),
        singular: text("singular"),
        short_names: texts("shortNames"),
        categories: texts("categories"),
    }
}

/// Groups of Kubernetes' own take what was approved, or says that it was not.
pub(super) fn approval(crd: &Value) -> Option<FieldError> {
    const NAME: &str = "api-approved.kubernetes.io";
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let of =
        |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !of("k8s.io") && !of("kubernetes.io") {
        return None;
    }
    let (field, see) =
        (format!("metadata.annotations[{NAME}]"), "https://github.com/kubernetes/enhancements/pull/1111");
    let needs = format!("protected groups must have approval annotation \"{NAME}\"");
    match crd["metadata"]["annotations"][NAME].as_str().unwrap_or_default() {
        "" => Some(FieldError::new(field, Problem::Required, format!("{needs}, see {see}"))),
        text if text.starts_with("unapproved") => None,
        text if text.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some() && uri.scheme().is_some()) => {
            None
        }
        text => {
            let why =
                format!("{needs} with either a URL or a reason starting with \"unapproved\", see {see}");
            Some(FieldError::new(field, Problem::Invalid(text.into()), why))
        }
    }
}

/// What is wrong with the names, the group and the scope of a definition.
pub(super) fn errors(crd: &Value) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let names = names(&spec["names"]);
    let group = spec["group"].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    let expected = format!("{}.{group}", names.plural);
    if crd["metadata"]["name"] != expected {
        let value = Problem::Invalid(crd["metadata"]["name"].clone());
        errors.push(FieldError::new("metadata.name", value, r#"must be spec.names.plural+"."+spec.group"#));
    }
    match group {
        "" => errors.push(FieldError::new("spec.group", Problem::Required, "")),
        _ if NameRule::DnsSubdomain.check(group).is_err() => {
            let problem = Problem::Invalid(group.into());
            errors.push(FieldError::new("spec.group", problem, SUBDOMAIN));
        }
        _ if !group.contains('.') => {
            let problem = Problem::Invalid(group.into());
            errors.push(FieldError::new("spec.group", problem, "should be a domain with at least one dot"));
        }
        _ => {}
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
    let mut label = |field: &str, text: &str, required: bool| {
        let field = format!("spec.names.{field}");
        if text.is_empty() {
            if required {
                errors.push(FieldError::new(field, Problem::Required, ""));
            }
        } else if NameRule::DnsLabel.check(&text.to_lowercase()).is_err() {
            errors.push(FieldError::new(field, Problem::Invalid(text.into()), LABEL));
        }
    };
    label("plural", &names.plural, true);
    label("singular", &names.singular, true);
    label("kind", &names.kind, true);
    label("listKind", &names.list_kind, true);
    for (at, name) in names.short_names.iter().enumerate() {
        label(&format!("shortNames[{at}]"), name, true);
    }
    for (at, name) in names.categories.iter().enumerate() {
        label(&format!("categories[{at}]"), name, true);
    }
    if names.kind == names.list_kind && !names.kind.is_empty() {
        let problem = Problem::Invalid(names.list_kind.as_str().into());
        errors.push(FieldError::new("spec.names.listKind", problem, "kind and listKind may not be the same"));
    }
    errors
}

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
     character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
     '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
     must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
