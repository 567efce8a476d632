//! The authenticated user of a request.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Members of this group may do everything, regardless of RBAC.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of unauthenticated users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of a request without credentials, where such requests are allowed.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// A user with its groups, as seen by authorization and audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub user: String,
    /// Distinguishes users that had the same name at different times. May be empty.
    pub uid: String,
    /// The groups, without duplicates.
    pub groups: Vec<String>,
    /// Further attributes from the credential.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// An authenticated user, in the group `system:authenticated` alone.
    #[must_use]
    pub fn new(user: impl Into<String>) -> Self {
        Self::of(user.into(), [AUTHENTICATED])
    }

    /// A user with all permissions.
    #[must_use]
    pub fn admin() -> Self {
        Self::of("admin".into(), [MASTERS, AUTHENTICATED])
    }

    /// The anonymous user.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::of(ANONYMOUS.into(), [UNAUTHENTICATED])
    }

    /// The ServiceAccount `name` of `namespace`.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let groups =
            ["system:serviceaccounts", &format!("system:serviceaccounts:{namespace}"), AUTHENTICATED];
        Self::of(service_account_user(namespace, name), groups)
    }

    /// Adds the user to `group`.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        let group = group.into();
        if !self.is_in(&group) {
            self.groups.push(group);
        }
        self
    }

    /// Sets the UID.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// Returns whether the user is in `group`.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|of| of == group)
    }

    /// The `UserInfo` for reviews, admission and the audit log. Empty fields are omitted.
    #[must_use]
    pub fn user_info(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".into(), self.user.clone().into());
        if !self.uid.is_empty() {
            info.insert("uid".into(), self.uid.clone().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".into(), json!(self.extra));
        }
        Value::Object(info)
    }

    fn of<const N: usize>(user: String, groups: [&str; N]) -> Self {
        Self { user, uid: String::new(), groups: groups.map(str::to_owned).into(), extra: BTreeMap::new() }
    }
}

/// The user name of a ServiceAccount.
pub(crate) fn service_account_user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_info_omits_empty_fields() {
        let known = Identity::new("ann").with_uid("7").in_group("dev").in_group("dev");
        let expected = json!({"username": "ann", "uid": "7", "groups": ["system:authenticated", "dev"]});
        assert_eq!(known.user_info(), expected);
    }

    #[test]
    fn a_service_account_is_in_three_groups() {
        let account = Identity::service_account("a", "robot");
        assert_eq!(account.user, "system:serviceaccount:a:robot");
        let groups = ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"];
        assert_eq!(account.groups, groups);
    }

    #[test]
    fn anonymous_is_not_authenticated() {
        assert!(!Identity::anonymous().is_in(AUTHENTICATED));
        assert!(Identity::admin().is_in(MASTERS));
    }
}
