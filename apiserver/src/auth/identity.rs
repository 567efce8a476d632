//! Who a request is from, once that is known.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Whoever is in this group may do everything, whatever the policy says.
pub(crate) const MASTERS: &str = "system:masters";
/// Everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who is not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user that a request without a credential is from, where such requests are let in.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// A user with its groups: what authorization and audit see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub user: String,
    /// Tells two users apart that have one name at different times. May be empty.
    pub uid: String,
    /// The groups, each of them once.
    pub groups: Vec<String>,
    /// What else the credential said.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// A user who has shown who it is: in `system:authenticated`, and in no other group yet.
    #[must_use]
    pub fn new(user: impl Into<String>) -> Self {
        Self::of(user.into(), [AUTHENTICATED])
    }

    /// One who may do everything.
    #[must_use]
    pub fn admin() -> Self {
        Self::of("admin".into(), [MASTERS, AUTHENTICATED])
    }

    /// Nobody in particular.
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

    /// The same one, in `group` as well.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        let group = group.into();
        if !self.is_in(&group) {
            self.groups.push(group);
        }
        self
    }

    /// The same one, with this UID.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// Whether it is in `group`.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|of| of == group)
    }

    /// As `UserInfo` says it: in reviews, in admission, in the audit log. What is empty is left out.
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

/// The user that a ServiceAccount is.
pub(crate) fn service_account_user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_info_has_what_is_known() {
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
    fn nobody_is_not_authenticated() {
        assert!(!Identity::anonymous().is_in(AUTHENTICATED));
        assert!(Identity::admin().is_in(MASTERS));
    }
}
