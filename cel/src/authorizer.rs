//! Authorization checks of expressions:
//! `authorizer.group('').resource('pods').check('get').allowed()`.

use std::fmt;
use std::sync::Arc;

/// Makes authorization decisions for expressions. Each check costs [`crate::limits::CHECK_COST`].
pub trait Authorizer: Send + Sync {
    /// Decides a check.
    fn decide(&self, check: &AccessCheck) -> Decision;
}

/// An authorization check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessCheck {
    /// The service account to check, if not the bound user.
    pub account: Option<ServiceAccount>,
    /// The verb; for a path, the HTTP method in lower case.
    pub verb: String,
    /// The resource or path.
    pub target: CheckTarget,
}

/// A service account with valid names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The target of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckTarget {
    /// A non-resource path, as `/healthz`.
    Path(String),
    /// A resource.
    Resource(ResourceAttributes),
}

/// The attributes of a resource check. Unset ones are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// The API group.
    pub group: String,
    /// The plural resource name.
    pub resource: String,
    /// The subresource, as `status`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The unparsed field selector. The authorizer must ignore an invalid one.
    pub field_selector: String,
    /// The unparsed label selector. The authorizer must ignore an invalid one.
    pub label_selector: String,
}

/// The decision of an authorizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The reason; may be empty.
    pub reason: String,
    /// An evaluation error, if any.
    pub error: Option<String>,
}

/// An authorizer bound to a user or service account.
#[derive(Clone)]
#[doc(hidden)]
pub struct BoundAuthorizer {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) account: Option<ServiceAccount>,
}

impl BoundAuthorizer {
    pub(crate) fn of(authorizer: &Arc<dyn Authorizer>) -> Self {
        Self { authorizer: authorizer.clone(), account: None }
    }

    pub(crate) fn ask(&self, verb: &str, target: CheckTarget) -> Decision {
        self.authorizer.decide(&AccessCheck { account: self.account.clone(), verb: verb.to_owned(), target })
    }
}

impl fmt::Debug for BoundAuthorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundAuthorizer").field("account", &self.account).finish_non_exhaustive()
    }
}
