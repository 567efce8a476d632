//! Columns of RoleBindings and ClusterRoleBindings. Roles have none of their own.

use serde_json::Value;

use super::{BuiltIn, Head, each, nothing_more};
use crate::table::column::name_and_age;

pub(super) static BINDING: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Role", "The role that is given."),
        Head::AGE,
        Head::wide("Users", "The users that it is given to."),
        Head::wide("Groups", "The groups that it is given to."),
        Head::wide("ServiceAccounts", "The service accounts that it is given to."),
    ],
    cells: |binding, now| {
        let (name, age) = name_and_age(binding, now);
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let role = format!("{}/{}", part(&binding["roleRef"]["kind"]), part(&binding["roleRef"]["name"]));
        let subjects = |kind: &str| {
            let named =
                each(&binding["subjects"]).filter(|subject| subject["kind"] == kind).map(
                    |subject| match kind {
                        "ServiceAccount" => {
                            format!("{}/{}", part(&subject["namespace"]), part(&subject["name"]))
                        }
                        _ => part(&subject["name"]),
                    },
                );
            Value::from(named.collect::<Vec<_>>().join(", "))
        };
        vec![name, role.into(), age, subjects("User"), subjects("Group"), subjects("ServiceAccount")]
    },
    conditions: nothing_more,
};
