//! Privilege escalation check: writing a role or binding requires the permissions that it grants.

use serde_json::Value;

use super::GROUP;
use super::attributes::{RequestAttributes, ResourceAttributes, forbidden};
use super::cover::missing;
use super::rule::PolicyRule;
use super::rules::{NoRole, RbacPolicy, text};
use crate::auth::identity::{Identity, MASTERS};
use crate::bounded::BoundedTexts;
use crate::go_format::{quote, quote_all};
use crate::refusal::{About, Refusal};
use crate::strategy::forget_trace;

impl RbacPolicy {
    /// Checks that `identity` may create `object`, or replace `old` with it: a Role, ClusterRole,
    /// RoleBinding or ClusterRoleBinding in its final form. Objects of other kinds pass.
    ///
    /// Writing a role requires its permissions or the verb `escalate`. Writing a binding requires
    /// the permissions of its role or the verb `bind`. An aggregated role can come to grant
    /// anything, so it requires all permissions.
    ///
    /// # Errors
    /// 403 with the missing permissions; 404 for a binding to a role that does not exist.
    pub(crate) fn may_grant(
        &self,
        identity: &Identity,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Refusal> {
        if identity.is_in(MASTERS) || old.is_some_and(|old| differ_in_upkeep_only(old, object)) {
            return Ok(());
        }
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let granter = Granter { rules: self, identity, namespace, name };
        // Cluster-scoped kinds have no namespace, even if the object sets one.
        let of_cluster = Granter { namespace: "", ..granter };
        match text(object, "/kind") {
            "Role" => granter.role("roles", object, old),
            "ClusterRole" => of_cluster.role("clusterroles", object, old),
            "RoleBinding" => granter.binding("rolebindings", object),
            "ClusterRoleBinding" => of_cluster.binding("clusterrolebindings", object),
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy)]
struct Granter<'a> {
    rules: &'a RbacPolicy,
    identity: &'a Identity,
    namespace: &'a str,
    name: &'a str,
}

impl Granter<'_> {
    fn role(&self, resource: &'static str, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        // An object to be created has no name yet, so a rule with `resourceNames` does not allow
        // it.
        if self.may("escalate", resource, if old.is_some() { self.name } else { "" }) {
            return Ok(());
        }
        self.has_all(resource, &PolicyRule::read_all(object).collect::<Vec<_>>())?;
        let aggregated = |role: &Value| role.get("aggregationRule").is_some_and(|it| !it.is_null());
        if resource == "clusterroles" && (aggregated(object) || old.is_some_and(aggregated)) {
            // A user with all permissions may `escalate`, and has passed above.
            return Err(
                self.forbidden(resource, "must have cluster-admin privileges to use an aggregationRule")
            );
        }
        Ok(())
    }

    fn binding(&self, resource: &'static str, object: &Value) -> Result<(), Refusal> {
        let (kind, role) = (text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
        let roles = if kind == "ClusterRole" { "clusterroles" } else { "roles" };
        // A reference to any other kind is invalid, even with permission to `bind` roles.
        let bindable = matches!(kind, "ClusterRole" | "Role");
        if bindable && self.may("bind", roles, role) {
            return Ok(());
        }
        let rules = self.rules.referred(kind, role, self.namespace).map_err(|error| no_role(&error))?;
        self.has_all(resource, rules)
    }

    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let of = ResourceAttributes {
            group: GROUP,
            resource,
            namespace: self.namespace,
            name,
            ..ResourceAttributes::default()
        };
        self.rules.allows(self.identity, &RequestAttributes::of(verb, of)).allowed
    }

    fn has_all(&self, resource: &str, required: &[PolicyRule]) -> Result<(), Refusal> {
        let (mut held, mut broken) = (Vec::new(), BoundedTexts::default());
        self.rules.each(self.identity, self.namespace, |rules| match rules {
            Ok(rules) => held.extend(rules),
            Err(error) => broken.push(error),
        });
        let missing: Vec<_> = missing(&held, required).into_iter().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let Identity { user, groups, .. } = self.identity;
        let (user, groups, missing) = (quote(user), quote_all(groups), missing.join("\n"));
        let mut why = format!(
            "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{missing}"
        );
        if !broken.kept().is_empty() {
            why += &format!("; resolution errors: [{}]", broken.join(" "));
        }
        Err(self.forbidden(resource, &why))
    }

    fn forbidden(&self, resource: &str, why: &str) -> Refusal {
        forbidden(GROUP, resource, self.name, why)
    }
}

/// Returns whether only metadata changes that garbage collection and finalizers need, so that the
/// object can be deleted.
fn differ_in_upkeep_only(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion", "selfLink"] {
                metadata.remove(field);
            }
        }
        forget_trace(&mut object);
        object
    };
    rest(old) == rest(new)
}

fn no_role(error: &NoRole) -> Refusal {
    let message = error.to_string();
    match error {
        NoRole::NotFound { kind, name } => {
            let about =
                About { group: GROUP.into(), kind: (*kind).into(), name: name.clone(), uid: String::new() };
            Refusal { about, ..Refusal::new(404, "NotFound", message) }
        }
        NoRole::Kind(_) => Refusal::bad_request(message),
    }
}
