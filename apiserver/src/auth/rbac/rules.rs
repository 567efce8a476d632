//! All roles and bindings, indexed by subject.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::GROUP;
use super::aggregate;
use super::attributes::RequestAttributes;
use super::decision::{Binding, Decision, Subject, together};
use super::rule::PolicyRule;
use crate::auth::identity::{Identity, MASTERS, service_account_user};
use crate::bounded::BoundedTexts;

/// The RBAC policy: an immutable value, compiled again when a role or binding changes.
///
/// A decision reads only the bindings of the identity and of its groups.
#[derive(Debug, Default)]
pub(crate) struct RbacPolicy {
    roles: Roles,
    /// By namespace; those of the whole cluster under the empty one.
    scopes: BTreeMap<String, BindingScope>,
}

/// By namespace (empty for ClusterRoles) and name.
type Roles = BTreeMap<(String, String), Arc<[PolicyRule]>>;

#[derive(Debug, Default)]
struct BindingScope {
    bindings: Vec<ResolvedBinding>,
    users: BTreeMap<String, Vec<SubjectIndex>>,
    groups: BTreeMap<String, Vec<SubjectIndex>>,
}

#[derive(Debug)]
struct ResolvedBinding {
    binding: Arc<Binding>,
    /// The rules of the role, or the reason why it does not exist.
    rules: Result<Arc<[PolicyRule]>, String>,
}

/// The index of a binding in its scope and of its subject, in evaluation order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SubjectIndex {
    binding: usize,
    subject: usize,
}

impl RbacPolicy {
    /// Compiles Roles, ClusterRoles, RoleBindings and ClusterRoleBindings; other objects are
    /// ignored. Malformed ones grant nothing.
    pub(crate) fn compile<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut cluster_roles = BTreeMap::new();
        let (mut roles, mut bindings) = (Roles::new(), BTreeMap::new());
        for object in objects {
            let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
            match text(object, "/kind") {
                "ClusterRole" => {
                    cluster_roles.insert(name, object);
                }
                "ClusterRoleBinding" => {
                    bindings.insert(("", name), object);
                }
                // Without a namespace they would apply to the whole cluster.
                "Role" | "RoleBinding" if namespace.is_empty() => {}
                "Role" => {
                    roles.insert((namespace.into(), name.into()), PolicyRule::read_all(object).collect());
                }
                "RoleBinding" => {
                    bindings.insert((namespace, name), object);
                }
                _ => {}
            }
        }
        let of_cluster = aggregate::rules_of(&cluster_roles).into_iter();
        roles.extend(of_cluster.map(|(name, rules)| ((String::new(), name), rules.into())));
        let mut scopes = BTreeMap::<String, BindingScope>::new();
        for ((namespace, name), object) in bindings {
            let binding = binding(object, namespace, name);
            let rules = referred(&roles, &binding.role_kind, &binding.role, namespace).map(Arc::clone);
            let rules = rules.map_err(|error| error.to_string());
            scopes
                .entry(namespace.to_owned())
                .or_default()
                .add(ResolvedBinding { binding: Arc::new(binding), rules });
        }
        Self { roles, scopes }
    }

    /// Decides whether `identity` may make a request.
    pub(crate) fn allows(&self, identity: &Identity, attributes: &RequestAttributes<'_>) -> Decision {
        if identity.is_in(MASTERS) {
            return Decision::master();
        }
        let mut broken = BoundedTexts::default();
        let found = self.visit(identity, attributes.namespace(), |bound, subject| match &bound.rules {
            Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                ControlFlow::Break(Decision::allowed_by(Arc::clone(&bound.binding), subject))
            }
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                broken.push(error);
                ControlFlow::Continue(())
            }
        });
        found.unwrap_or_else(|| Decision::denied(broken))
    }

    /// The permissions of `identity` in `namespace`: the `status` of a SelfSubjectRulesReview.
    pub(crate) fn rules_for(&self, identity: &Identity, namespace: &str) -> Value {
        let (mut resources, mut paths, mut broken) = (Vec::new(), Vec::new(), BoundedTexts::default());
        if identity.is_in(MASTERS) {
            resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
            paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        }
        self.each(identity, namespace, |rules| match rules {
            Ok(rules) => {
                for rule in rules {
                    let (of_resources, of_paths) = rule.reviewed();
                    resources.extend(of_resources);
                    paths.extend(of_paths);
                }
            }
            Err(error) => broken.push(error),
        });
        let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
        if !broken.kept().is_empty() {
            status["evaluationError"] = together(&broken).into();
        }
        status
    }

    /// The effective rules of a ClusterRole; an aggregated one has those of the selected roles.
    pub(crate) fn of_cluster_role(&self, name: &str) -> Option<Value> {
        let rules = self.roles.get(&(String::new(), name.to_owned()))?;
        Some(rules.iter().map(PolicyRule::to_json).collect())
    }

    /// Visits the rules of each binding of `identity` in `namespace`, or the error of a broken one.
    pub(super) fn each<'a>(
        &'a self,
        identity: &Identity,
        namespace: &str,
        mut visit: impl FnMut(Result<&'a [PolicyRule], &'a str>),
    ) {
        let _: Option<()> = self.visit(identity, namespace, |bound, _| {
            visit(bound.rules.as_deref().map_err(String::as_str));
            ControlFlow::Continue(())
        });
    }

    /// Returns the rules of the role that a binding in `namespace` refers to.
    pub(super) fn referred(&self, kind: &str, name: &str, namespace: &str) -> Result<&[PolicyRule], NoRole> {
        referred(&self.roles, kind, name, namespace).map(|rules| &**rules)
    }

    /// Visits each binding of `identity` once, with its first matching subject: those of the
    /// cluster, then those of the namespace, in the order of their names.
    fn visit<'a, T>(
        &'a self,
        identity: &Identity,
        namespace: &str,
        mut visit: impl FnMut(&'a ResolvedBinding, usize) -> ControlFlow<T>,
    ) -> Option<T> {
        let local = Some(namespace).filter(|namespace| !namespace.is_empty());
        for scope in
            [Some(""), local].into_iter().flatten().filter_map(|namespace| self.scopes.get(namespace))
        {
            for SubjectIndex { binding, subject } in scope.of(identity) {
                if let ControlFlow::Break(found) = visit(&scope.bindings[binding], subject) {
                    return Some(found);
                }
            }
        }
        None
    }
}

impl BindingScope {
    fn add(&mut self, bound: ResolvedBinding) {
        let binding = self.bindings.len();
        for (subject, of) in bound.binding.subjects.iter().enumerate() {
            let (index, name) = match of.kind.as_str() {
                "User" => (&mut self.users, of.name.clone()),
                "Group" => (&mut self.groups, of.name.clone()),
                "ServiceAccount" if of.namespace.is_empty() => continue,
                "ServiceAccount" => (&mut self.users, service_account_user(&of.namespace, &of.name)),
                _ => continue,
            };
            index.entry(name).or_default().push(SubjectIndex { binding, subject });
        }
        self.bindings.push(bound);
    }

    fn of(&self, identity: &Identity) -> Vec<SubjectIndex> {
        let groups = identity.groups.iter().filter_map(|group| self.groups.get(group));
        let mut found: Vec<_> =
            self.users.get(&identity.user).into_iter().chain(groups).flatten().copied().collect();
        found.sort_unstable();
        found.dedup_by_key(|at| at.binding);
        found
    }
}

/// The reason why a role reference is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRole {
    /// `kind` is `role` or `clusterrole`, as in the message.
    #[error("{kind}.{GROUP} {} not found", crate::go_format::quote(name))]
    NotFound { kind: &'static str, name: String },
    #[error("unsupported role reference kind: {}", crate::go_format::quote(.0))]
    Kind(String),
}

fn referred<'a>(
    roles: &'a Roles,
    kind: &str,
    name: &str,
    namespace: &str,
) -> Result<&'a Arc<[PolicyRule]>, NoRole> {
    let (kind, namespace) = match kind {
        "ClusterRole" => ("clusterrole", ""),
        "Role" => ("role", namespace),
        _ => return Err(NoRole::Kind(kind.to_owned())),
    };
    // The empty namespace holds ClusterRoles only.
    let found = roles
        .get(&(namespace.to_owned(), name.to_owned()))
        .filter(|_| kind == "clusterrole" || !namespace.is_empty());
    found.ok_or_else(|| NoRole::NotFound { kind, name: name.to_owned() })
}

fn binding(object: &Value, namespace: &str, name: &str) -> Binding {
    let subject = |subject: &Value| {
        let own = text(subject, "/namespace");
        let namespace = if own.is_empty() { namespace } else { own };
        let [kind, name] = ["/kind", "/name"].map(|field| text(subject, field).to_owned());
        Subject { kind, namespace: namespace.to_owned(), name }
    };
    let subjects =
        object.get("subjects").and_then(Value::as_array).into_iter().flatten().map(subject).collect();
    let [role_kind, role] = ["/roleRef/kind", "/roleRef/name"].map(|field| text(object, field).to_owned());
    Binding { namespace: namespace.into(), name: name.into(), role_kind, role, subjects }
}

/// Returns the string at `pointer`, or an empty one.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
