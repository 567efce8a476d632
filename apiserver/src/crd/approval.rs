//! Groups of the Kubernetes project: their definitions need the approval of an API review.

use serde_json::Value;

use crate::strategy::metadata;

/// The annotation with the approval.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The condition that states the approval.
pub(crate) const CONFORMANT: &str = "KubernetesAPIApprovalPolicyConformant";

/// The approval of a definition in a protected group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalState {
    Missing,
    /// A reason that starts with `unapproved`.
    Bypassed,
    /// The URL of the review.
    Approved,
    Invalid,
}

/// Returns whether a group belongs to the Kubernetes project.
pub(super) fn is_protected(group: &str) -> bool {
    let is_theirs =
        |theirs: &str| group.strip_suffix(theirs).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    is_theirs("k8s.io") || is_theirs("kubernetes.io")
}

/// Returns the value of the annotation.
pub(super) fn annotation(crd: &Value) -> &str {
    let annotations = metadata(crd).get("annotations");
    annotations.and_then(|all| all.get(APPROVAL)).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the state of the approval, and an explanation.
pub(super) fn state(annotation: &str) -> (ApprovalState, String) {
    let needs = format!("protected groups must have approval annotation {APPROVAL:?}");
    let is_url =
        annotation.parse::<http::Uri>().is_ok_and(|url| url.scheme().is_some() && url.host().is_some());
    match annotation {
        "" => (ApprovalState::Missing, format!("{needs}, {SEE}")),
        text if text.starts_with("unapproved") => {
            (ApprovalState::Bypassed, format!("not approved: {text:?}"))
        }
        text if is_url => (ApprovalState::Approved, format!("approved in {text}")),
        _ => {
            let why = format!("{needs} with either a URL or a reason starting with \"unapproved\", {SEE}");
            (ApprovalState::Invalid, why)
        }
    }
}

/// Returns status, reason and message of the condition; none for other groups.
pub(crate) fn approval_condition(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(crd["spec"]["group"].as_str().unwrap_or_default()) {
        return None;
    }
    let (state, message) = state(annotation(crd));
    let (status, reason) = match state {
        ApprovalState::Missing => ("False", "MissingAnnotation"),
        ApprovalState::Bypassed => ("False", "UnapprovedAnnotation"),
        ApprovalState::Approved => ("True", "ApprovedAnnotation"),
        ApprovalState::Invalid => ("False", "InvalidAnnotation"),
    };
    Some((status, reason, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(group: &str, annotation: &str, expected: Option<(&str, &str, &str)>) {
        let crd = json!({"metadata": {"annotations": {APPROVAL: annotation}}, "spec": {"group": group}});
        let found = approval_condition(&crd);
        let found = found.as_ref().map(|(status, reason, message)| (*status, *reason, message.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_protected_group_has_the_condition_of_its_approval() {
        check("example.com", "", None);
        check("notk8s.io", "", None);
        let url = "https://github.com/kubernetes/kubernetes/pull/1";
        let approved = format!("approved in {url}");
        check("sigs.k8s.io", url, Some(("True", "ApprovedAnnotation", &approved)));
        let bypassed = ("False", "UnapprovedAnnotation", "not approved: \"unapproved, experimental\"");
        check("x.kubernetes.io", "unapproved, experimental", Some(bypassed));
        let missing = "protected groups must have approval annotation \"api-approved.kubernetes.io\", \
             see https://github.com/kubernetes/enhancements/pull/1111";
        check("k8s.io", "", Some(("False", "MissingAnnotation", missing)));
        let invalid = "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a \
             reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111";
        check("a.k8s.io", "yes", Some(("False", "InvalidAnnotation", invalid)));
    }
}
