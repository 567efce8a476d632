//! The limits of node agents as a `ValidatingAdmissionPolicy`, for clusters that are not served by
//! `kos` itself.

use serde_json::{Value, json};

use super::agent_writes::AGENT_PREFIX;
use super::definition::GROUP;
use super::roles::AGENTS;

/// The values of an attachment's status that are its address, with their defaults.
const ADDRESS: [(&str, &str); 7] = [
    ("?lockUID", "''"),
    ("?addressVNI", "0"),
    ("?ipv4", "''"),
    ("?prefixLength", "0"),
    ("?addressContention", "false"),
    ("?subnetCreationTime", "''"),
    ("?errors.?ipam", "[]"),
];

/// Returns the policy and its binding (`admissionregistration.k8s.io/v1`), with the rules of
/// [`AgentWrites`](super::AgentWrites).
#[must_use]
pub fn agent_policy() -> Vec<Value> {
    let agents = format!(
        "(has(request.userInfo.groups) && '{AGENTS}' in request.userInfo.groups) || \
         request.userInfo.username.startsWith('{AGENT_PREFIX}')"
    );
    let node = format!(
        "request.userInfo.username.startsWith('{AGENT_PREFIX}') ? \
         request.userInfo.username.substring({}) : ''",
        AGENT_PREFIX.len()
    );
    let same = |(field, default): (&str, &str)| {
        let of = |object: &str| format!("{object}.?status.{field}.orValue({default})");
        format!("{} == {}", of("object"), of("oldObject"))
    };
    let validations = [
        ("variables.node != ''".to_owned(), format!("an agent writes as the user {AGENT_PREFIX}NODE")),
        ("request.operation != 'CREATE'".to_owned(), "an agent creates nothing in this group".to_owned()),
        (
            "request.resource.resource in ['networkattachments', 'probes']".to_owned(),
            "an agent writes attachments and probes only".to_owned(),
        ),
        (
            "request.operation == 'CREATE' || oldObject.?spec.?node.orValue('') == variables.node".to_owned(),
            "the object is of another node".to_owned(),
        ),
        (
            "request.operation != 'DELETE' || (request.resource.resource == 'probes' && \
             oldObject.?status.?finished.orValue(false))"
                .to_owned(),
            "an agent deletes finished probes only".to_owned(),
        ),
        (
            "request.operation != 'UPDATE' || object.?spec == oldObject.?spec".to_owned(),
            "an agent does not change a spec".to_owned(),
        ),
        (
            format!(
                "request.operation != 'UPDATE' || request.resource.resource != 'networkattachments' || ({})",
                ADDRESS.map(same).join(" && ")
            ),
            "an agent does not change the address of an attachment".to_owned(),
        ),
    ];
    let validations: Vec<_> = validations
        .into_iter()
        .map(|(expression, message)| {
            json!({"expression": expression, "message": message, "reason": "Forbidden"})
        })
        .collect();
    vec![
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": AGENTS},
            "spec": {
                // `Fail`: a rule without a result must not let frames go elsewhere.
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["*/*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }]},
                "matchConditions": [{"name": "is-agent", "expression": agents}],
                "variables": [{"name": "node", "expression": node}],
                "validations": validations,
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": AGENTS},
            "spec": {"policyName": AGENTS, "validationActions": ["Deny"]},
        }),
    ]
}
