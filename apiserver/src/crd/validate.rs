//! Validation of CustomResourceDefinitions, with the error texts of Kubernetes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::approval::{APPROVAL, ApprovalState, annotation, is_protected, state};
use super::kinds::schema_errors;
use super::{condition, names, subresources};
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};
use crate::meta::names::dns_1035_label;
use crate::table::check_columns;

/// Validates a definition, as a new one or as an update of `old`.
pub(super) fn errors(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    // Unchanged fields are not validated again: validation may have become stricter, and stored
    // definitions must remain editable.
    let is_new = |field: &str| old.is_none_or(|old| old["spec"][field] != crd["spec"][field]);
    let mut errors = FieldErrors::default();
    if is_new("names") || is_new("group") {
        errors.extend(names::errors(crd));
    }
    errors.extend(if old.is_none() { names::of_object(crd) } else { None });
    errors.extend(versions(crd, old));
    if is_new("conversion") {
        errors.extend(conversion(&crd["spec"]["conversion"]));
    }
    errors.extend(approval_error(crd, old));
    if crd["spec"]["preserveUnknownFields"] == true && is_new("preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::new("spec.preserveUnknownFields", Problem::Invalid(true.into()), detail));
    }
    errors.extend(stored_versions(crd));
    errors.extend(old.into_iter().flat_map(|old| changed(crd, old)));
    if errors.is_empty() {
        errors.extend(schema_errors(crd, old));
    }
    at_the_top(crd, errors.into_list())
}

fn all_versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Validates the versions, except their schemas.
fn versions(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let versions = all_versions(crd);
    let before = old.map(all_versions).unwrap_or_default();
    let (mut errors, mut known) = (FieldErrors::default(), BTreeSet::new());
    let stored = versions.iter().filter(|version| version["storage"] == true).count();
    if stored != 1 {
        let detail = "must have exactly one version marked as storage version";
        let value = crd["spec"]["versions"].clone();
        errors.push(FieldError::new("spec.versions", Problem::Invalid(value), detail));
    }
    for (at, version) in versions.iter().enumerate() {
        let is_named_before = !known.insert(version["name"].as_str());
        if before.contains(version) && !is_named_before {
            continue;
        }
        let path = format!("spec.versions[{at}]");
        let name = version["name"].as_str().unwrap_or_default();
        for detail in dns_1035_label(name) {
            // The first version's name is `spec.version` of v1beta1, too.
            for field in (at == 0 && !name.is_empty())
                .then(|| "spec.version".to_owned())
                .into_iter()
                .chain([format!("{path}.name")])
            {
                errors.push(FieldError::new(field, Problem::Invalid(name.into()), detail.clone()));
            }
        }
        if is_named_before {
            let detail = "must contain unique version names";
            errors.push(FieldError::new("spec.versions", Problem::Invalid(version["name"].clone()), detail));
        }
        for flag in ["served", "storage"] {
            if !version[flag].is_boolean() {
                errors.push(FieldError::new(format!("{path}.{flag}"), Problem::Required, ""));
            }
        }
        errors.extend(check_columns(
            &version["additionalPrinterColumns"],
            &format!("{path}.additionalPrinterColumns"),
        ));
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            errors.push(FieldError::new(format!("{path}.schema.openAPIV3Schema"), Problem::Required, ""));
        }
        errors.extend(subresources::scale_errors(
            &version["subresources"]["scale"],
            &format!("{path}.subresources.scale"),
        ));
        errors.extend(subresources::selectable_errors(
            &version["selectableFields"],
            schema,
            &format!("{path}.selectableFields"),
        ));
    }
    errors.into_list()
}

fn conversion(conversion: &Value) -> Vec<FieldError> {
    let required = |field: &str, detail: &str| FieldError::new(field, Problem::Required, detail);
    let unsupported = |strategy: &str, detail: &str| {
        FieldError::new("spec.conversion.strategy", Problem::NotSupported(strategy.into()), detail)
    };
    match conversion["strategy"].as_str() {
        Some("None") | None => Vec::new(),
        Some("Webhook") => {
            let webhook = &conversion["webhook"];
            let mut errors = Vec::new();
            if webhook["conversionReviewVersions"].as_array().is_none_or(Vec::is_empty) {
                errors.push(required("spec.conversion.conversionReviewVersions", ""));
            }
            if webhook["clientConfig"].is_null() {
                let detail = "required when strategy is set to Webhook";
                errors.push(required("spec.conversion.webhookClientConfig", detail));
            }
            if errors.is_empty() {
                errors.push(unsupported("Webhook", "this server converts with strategy None only"));
            }
            errors
        }
        Some(other) => vec![unsupported(other, r#"supported values: "None", "Webhook""#)],
    }
}

/// Requires the approval annotation for groups of the Kubernetes project; an unchanged one passes.
fn approval_error(crd: &Value, old: Option<&Value>) -> Option<FieldError> {
    let text = annotation(crd);
    let (state, detail) = state(text);
    let is_refused = matches!(state, ApprovalState::Missing | ApprovalState::Invalid);
    let is_kept = old.is_some_and(|old| annotation(old) == text);
    if !is_protected(crd["spec"]["group"].as_str().unwrap_or_default()) || !is_refused || is_kept {
        return None;
    }
    let problem = if text.is_empty() { Problem::Required } else { Problem::Invalid(text.into()) };
    Some(FieldError::new(format!("metadata.annotations[{APPROVAL}]"), problem, detail))
}

/// Versions in `status.storedVersions` must remain in the spec.
fn stored_versions(crd: &Value) -> Vec<FieldError> {
    let stored = crd["status"]["storedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        return vec![FieldError::new("status.storedVersions", Problem::Invalid(Value::Null), detail)];
    }
    let named: BTreeSet<_> =
        all_versions(crd).iter().filter_map(|version| version["name"].as_str()).collect();
    let gone = |name: &Value| name.as_str().is_none_or(|name| !named.contains(name));
    let missing = |(at, name): (usize, &Value)| {
        let text = name.as_str().unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {text} was previously a storage version, and must remain in spec.versions until a \
             storage migration ensures no data remains persisted in {text} and removes {text} from status.storedVersions"
        );
        FieldError::new(format!("status.storedVersions[{at}]"), Problem::Invalid(name.clone()), detail)
    };
    let errors: FieldErrors = stored.iter().enumerate().filter(|(_, name)| gone(name)).map(missing).collect();
    errors.into_list()
}

/// The group, scope and names of an established definition are immutable, since its objects' keys
/// depend on them.
fn changed(crd: &Value, old: &Value) -> Vec<FieldError> {
    let established = condition(old, "Established") == Some("True");
    let fields = [
        ("spec.group", "/spec/group"),
        ("spec.scope", "/spec/scope"),
        ("spec.names.kind", "/spec/names/kind"),
        ("spec.names.plural", "/spec/names/plural"),
    ];
    let changed = fields.iter().filter(|(_, at)| established && crd.pointer(at) != old.pointer(at));
    let immutable = |(field, at): &(&str, &str)| {
        let value = crd.pointer(at).cloned().unwrap_or_default();
        FieldError::new(*field, Problem::Invalid(value), "field is immutable")
    };
    changed.map(immutable).collect()
}

/// Reports errors common to all versions once, under the top-level field of Kubernetes' internal
/// type.
fn at_the_top(crd: &Value, errors: Vec<FieldError>) -> Vec<FieldError> {
    let versions = all_versions(crd);
    let kept = [
        ("schema", "validation"),
        ("subresources", "subresources"),
        ("additionalPrinterColumns", "additionalPrinterColumns"),
        ("selectableFields", "selectableFields"),
    ];
    let alike = |field: &str| {
        let first = versions.first().map(|version| &version[field]).filter(|value| !value.is_null());
        first.is_some_and(|first| versions.iter().all(|version| version[field] == *first))
    };
    let kept: Vec<_> = kept.into_iter().filter(|(field, _)| alike(field)).collect();
    let report = |mut error: FieldError| {
        let Some((at, rest)) =
            error.field.strip_prefix("spec.versions[").and_then(|rest| rest.split_once("]."))
        else {
            return Some(error);
        };
        let below = |field: &str| {
            rest.strip_prefix(field).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let Some((top, below)) = kept.iter().find_map(|(field, top)| Some((top, below(field)?))) else {
            return Some(error);
        };
        let field = format!("spec.{top}{below}");
        (at == "0").then(|| {
            // The error text may name the path, too.
            error.detail = error.detail.replace("spec.versions[0].schema.", "spec.validation.");
            error.field = field;
            error
        })
    };
    errors.into_iter().filter_map(report).collect()
}
