//! RBAC as the `authorizer` of match conditions:
//! `authorizer.group('').resource('pods').check('get').allowed()`.

use std::sync::Arc;

use machinery_cel::{AccessCheck, Authorizer, CheckTarget, Decision};

use crate::auth::Identity;
use crate::auth::identity::AUTHENTICATED;
use crate::auth::rbac::{RbacPolicy, RequestAttributes, RequestTarget, ResourceAttributes};

/// Decides checks about the user of a request, by the policy of one moment.
pub(super) struct RbacAuthorizer {
    /// None: everything is allowed.
    pub(super) rules: Option<Arc<RbacPolicy>>,
    pub(super) identity: Identity,
}

impl Authorizer for RbacAuthorizer {
    fn decide(&self, check: &AccessCheck) -> Decision {
        let Some(rules) = &self.rules else { return Decision { allowed: true, ..Decision::default() } };
        let account = check.account.as_ref().map(|account| {
            let mut identity = Identity::service_account(&account.namespace, &account.name);
            // The service account is not authenticated.
            identity.groups.retain(|group| group != AUTHENTICATED);
            identity
        });
        // RBAC ignores selectors.
        let on = match &check.target {
            CheckTarget::Path(path) => RequestTarget::Path(path),
            CheckTarget::Resource(it) => RequestTarget::Resource(ResourceAttributes {
                group: &it.group,
                resource: &it.resource,
                subresource: &it.subresource,
                namespace: &it.namespace,
                name: &it.name,
            }),
        };
        let decided = rules
            .allows(account.as_ref().unwrap_or(&self.identity), &RequestAttributes { verb: &check.verb, on });
        Decision { allowed: decided.allowed, reason: decided.reason(), error: None }
    }
}
