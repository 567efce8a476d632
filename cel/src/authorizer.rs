//! Whether somebody may do something, as expressions ask it: `authorizer.group('').resource('pods').check('get').allowed()`.

use std::fmt;
use std::sync::Arc;

/// Who knows what is allowed. It is asked while an expression runs, and each question costs [`crate::limits::CHECK_COST`].
pub trait Authorizer: Send + Sync {
    /// Whether this is allowed.
    fn decide(&self, check: &AccessCheck) -> Decision;
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessCheck {
    /// Whom it is about, where that is not who the authorizer was bound for.
    pub account: Option<ServiceAccount>,
    /// `get`, `list`; of a path, the method in lower case.
    pub verb: String,
    /// What it is done to.
    pub target: CheckTarget,
}

/// A service account, by names that can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What something is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckTarget {
    /// A path that is no resource: `/healthz`.
    Path(String),
    /// Objects of a resource.
    Resource(ResourceAttributes),
}

/// Objects of a resource. What was not said is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// The API group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// `status`, `scale`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of one.
    pub name: String,
    /// By which fields they are selected, as it was written. What cannot be read selects nothing, and is to be passed over.
    pub field_selector: String,
    /// The same of labels.
    pub label_selector: String,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why; may be empty.
    pub reason: String,
    /// What went wrong when that was found out.
    pub error: Option<String>,
}

/// An authorizer, and whom it is asked about.
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
