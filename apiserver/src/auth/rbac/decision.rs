//! Authorization decisions.

use std::sync::Arc;

use crate::bounded::BoundedTexts;
use crate::go_format::quote;

/// The decision about a request, with its reason.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// Whether the request is allowed.
    pub(crate) allowed: bool,
    why: Why,
}

#[derive(Clone, Debug)]
enum Why {
    /// No reason: no rule allows the request, or no rule was evaluated.
    Nothing,
    /// A binding, and the index of the matching subject.
    Binding(Arc<Binding>, usize),
    /// Bindings to roles that do not exist, any of which might have allowed the request.
    Broken(BoundedTexts),
}

impl Decision {
    pub(super) const fn master() -> Self {
        Self { allowed: true, why: Why::Nothing }
    }

    pub(super) const fn allowed_by(binding: Arc<Binding>, subject: usize) -> Self {
        Self { allowed: true, why: Why::Binding(binding, subject) }
    }

    pub(super) fn denied(broken: BoundedTexts) -> Self {
        Self {
            allowed: false,
            why: if broken.kept().is_empty() { Why::Nothing } else { Why::Broken(broken) },
        }
    }

    /// The reason, in the words of Kubernetes; often empty. For the audit log, reviews and
    /// refusals.
    pub(crate) fn reason(&self) -> String {
        match &self.why {
            Why::Nothing => String::new(),
            Why::Binding(binding, subject) => format!("RBAC: allowed by {}", binding.described(*subject)),
            Why::Broken(errors) => format!("RBAC: {}", together(errors)),
        }
    }
}

/// The subjects of a role in a namespace or the cluster.
#[derive(Debug)]
pub(super) struct Binding {
    /// Empty for the whole cluster.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) role_kind: String,
    pub(super) role: String,
    pub(super) subjects: Vec<Subject>,
}

#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) kind: String,
    /// Of a ServiceAccount: its own namespace, by default that of the binding.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Binding {
    fn described(&self, subject: usize) -> String {
        let Self { namespace, name, role_kind, role, subjects } = self;
        let head = match namespace.is_empty() {
            true => format!("ClusterRoleBinding {}", quote(name)),
            false => format!("RoleBinding {}", quote(&format!("{name}/{namespace}"))),
        };
        let subject = subjects.get(subject).map(Subject::described).unwrap_or_default();
        format!("{head} of {role_kind} {} to {subject}", quote(role))
    }
}

impl Subject {
    fn described(&self) -> String {
        let Self { kind, namespace, name } = self;
        match kind.as_str() {
            "ServiceAccount" => format!("{kind} {}", quote(&format!("{name}/{namespace}"))),
            _ => format!("{kind} {}", quote(name)),
        }
    }
}

/// Joins distinct errors into one text.
pub(super) fn together(errors: &BoundedTexts) -> String {
    let mut once: Vec<&str> = Vec::new();
    for error in errors.kept() {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    }
    let others = errors.others();
    once.extend(others.as_deref());
    match once.as_slice() {
        [one] => (*one).to_owned(),
        _ => format!("[{}]", once.join(", ")),
    }
}
