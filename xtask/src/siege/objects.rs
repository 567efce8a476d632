//! Objects that exist before the attacks: a namespace, a kind, roles and a webhook.

use std::time::Duration;

use serde_json::{Value, json};

use super::connection::Connection;
use super::site::{NOBODY, OWNER, POLITE, SiegeSite, VIEWER, WRITER};

pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(super) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
pub(super) const ATTACKED_MAPS: &str = "/api/v1/namespaces/attacked/configmaps";
pub(super) const ATTACKED_PODS: &str = "/api/v1/namespaces/attacked/pods";
pub(super) const THINGS: &str = "/apis/siege.machinery.dev/v1/namespaces/attacked/things";
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates all objects. The webhook is at `port`.
pub(super) fn create(site: &SiegeSite, port: u16) -> anyhow::Result<()> {
    let mut admin = Connection::open(site, Some(&site.admin_token), TIMEOUT)?;
    admin.create("/api/v1/namespaces", &json!({"metadata": {"name": "attacked"}}))?;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"},
    }}}});
    admin.create(DEFINITIONS, &definition("things", &schema))?;
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let maps = |verbs: &[&str]| json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
    for (user, rules) in [
        (POLITE, maps(&all)),
        (VIEWER, maps(&["get", "list", "watch"])),
        (WRITER, json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}])),
        (OWNER, json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])),
        (NOBODY, json!([])),
    ] {
        grant(&mut admin, user, &rules)?;
    }
    admin.create(WEBHOOKS, &webhook(site, port))
}

/// Returns a definition of a kind with this schema.
pub(super) fn definition(plural: &str, schema: &Value) -> Value {
    let group = "siege.machinery.dev";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": format!("Kind{plural}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn grant(admin: &mut Connection, user: &str, rules: &Value) -> anyhow::Result<()> {
    let api = "rbac.authorization.k8s.io/v1";
    let name = format!("siege-{user}");
    admin.create(
        ROLES,
        &json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
    )?;
    admin.create(
        BINDINGS,
        &json!({
            "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
        }),
    )
}

/// A webhook for new Secrets, at a port that accepts and never answers.
fn webhook(site: &SiegeSite, port: u16) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hangs"},
        "webhooks": [{
            "name": "hangs.siege.machinery.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "timeoutSeconds": 10,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/"), "caBundle": site.authority},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["secrets"]}],
        }],
    })
}
