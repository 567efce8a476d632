//! Audit policy: the level of each request, decided from its attributes without I/O.

use crate::auth::Identity;
use crate::auth::rbac::{RequestTarget, ResourceAttributes};

/// The level of detail that is logged of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AuditLevel {
    #[default]
    None,
    /// User, request and time.
    Metadata,
    /// With the request body.
    Request,
    /// With the response body.
    RequestResponse,
}

/// The stage of a request at which an event is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuditStage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stages(u8);

/// An audit policy: the first matching rule decides; requests without one are not logged.
///
/// As in Kubernetes (`audit.k8s.io/v1`), but requests for `secrets`, `serviceaccounts/token` and
/// `tokenreviews`, and for kinds with a field of the format `password`, are never logged beyond
/// metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    pub(super) rules: Vec<AuditRule>,
    pub(super) omit_stages: Stages,
    pub(super) omit_managed_fields: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AuditRule {
    pub(super) level: AuditLevel,
    pub(super) users: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) resources: Vec<GroupResources>,
    pub(super) namespaces: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) omit_stages: Stages,
    pub(super) omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupResources {
    pub(super) group: String,
    pub(super) resources: Vec<String>,
    pub(super) names: Vec<String>,
}

/// The attributes that a policy decides on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditAttributes<'a> {
    /// `None` for an unauthenticated request.
    pub(crate) user: Option<&'a Identity>,
    pub(crate) verb: &'a str,
    /// Fields of the kind are passwords.
    pub(crate) has_passwords: bool,
    pub(crate) on: RequestTarget<'a>,
}

/// The decision of a policy about one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditDecision {
    pub(crate) level: AuditLevel,
    pub(crate) omit_stages: Stages,
    pub(crate) omit_managed_fields: bool,
}

impl AuditLevel {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::Metadata, Self::Request, Self::RequestResponse];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

impl AuditStage {
    pub(super) const ALL: [Self; 4] =
        [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }
}

impl Stages {
    pub(super) const fn with(self, stage: AuditStage) -> Self {
        Self(self.0 | 1 << stage as u8)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn has(self, stage: AuditStage) -> bool {
        self.0 & 1 << stage as u8 != 0
    }
}

impl AuditPolicy {
    /// Returns the level and stages to log of a request.
    pub(crate) fn decide(&self, request: &AuditAttributes<'_>) -> AuditDecision {
        let Some(rule) = self.rules.iter().find(|rule| rule.matches(request)) else {
            return AuditDecision { omit_stages: self.omit_stages, ..AuditDecision::default() };
        };
        let holds_secrets = request.has_passwords
            || matches!(&request.on, RequestTarget::Resource(resource) if holds_secrets(resource));
        AuditDecision {
            // Whatever the rules: one in the wrong order would log every password.
            level: if holds_secrets { rule.level.min(AuditLevel::Metadata) } else { rule.level },
            omit_stages: self.omit_stages.or(rule.omit_stages),
            omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
        }
    }
}

/// Returns whether requests and responses of a resource hold secrets.
pub(crate) fn holds_secrets(resource: &ResourceAttributes<'_>) -> bool {
    match (resource.group, resource.resource) {
        ("", "secrets") | ("authentication.k8s.io", "tokenreviews") => true,
        ("", "serviceaccounts") => resource.subresource == "token",
        _ => false,
    }
}

impl AuditRule {
    fn matches(&self, request: &AuditAttributes<'_>) -> bool {
        let of_user = |is: &dyn Fn(&Identity) -> bool| request.user.is_some_and(is);
        let about_objects = !self.resources.is_empty() || !self.namespaces.is_empty();
        (self.users.is_empty() || of_user(&|user| self.users.contains(&user.user)))
            && (self.groups.is_empty() || of_user(&|user| self.groups.iter().any(|group| user.is_in(group))))
            && (self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == request.verb))
            && match &request.on {
                RequestTarget::Resource(resource) if about_objects => self.matches_resource(resource),
                RequestTarget::Path(_) if about_objects => false,
                RequestTarget::Resource(_) => self.paths.is_empty(),
                RequestTarget::Path(path) => {
                    self.paths.is_empty() || self.paths.iter().any(|of| path_matches(of, path))
                }
            }
    }

    fn matches_resource(&self, resource: &ResourceAttributes<'_>) -> bool {
        let there = self.namespaces.is_empty() || self.namespaces.iter().any(|one| one == resource.namespace);
        there && (self.resources.is_empty() || self.resources.iter().any(|of| of.matches(resource)))
    }
}

impl GroupResources {
    fn matches(&self, request: &ResourceAttributes<'_>) -> bool {
        let named = || self.names.is_empty() || self.names.iter().any(|name| name == request.name);
        let one = |of: &String| resource_matches(of, request);
        self.group == request.group
            && (self.resources.is_empty() || named() && self.resources.iter().any(one))
    }
}

/// Matches `pods`, `pods/log`, `*/status`, `pods/*` (pods and their subresources) or `*`
/// (everything).
fn resource_matches(of: &str, request: &ResourceAttributes<'_>) -> bool {
    let ResourceAttributes { resource, subresource, .. } = *request;
    match of.split_once('/') {
        None => of == "*" || (of == resource && subresource.is_empty()),
        Some((plural, "*")) => plural == resource,
        Some(("*", below)) => !below.is_empty() && below == subresource,
        Some((plural, below)) => plural == resource && below == subresource && !below.is_empty(),
    }
}

/// Matches `/healthz`, `/openapi/*` or `*`.
fn path_matches(of: &str, path: &str) -> bool {
    match of.strip_suffix('*') {
        Some(begin) => path.starts_with(begin),
        None => of == path,
    }
}

#[cfg(test)]
mod tests;
