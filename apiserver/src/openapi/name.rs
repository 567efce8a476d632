//! Names of schemas and of operations.

/// `com.example.v1.Widget`; Kubernetes' own kinds are named after their Go packages.
pub(super) fn schema(group: &str, version: &str, kind: &str) -> String {
    if group == "apiextensions.k8s.io" {
        return format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}");
    }
    let own = match group.strip_suffix(".k8s.io") {
        _ if group.is_empty() => Some("core"),
        Some(own) => own.split('.').next(),
        None if !group.contains('.') => Some(group),
        None => None,
    };
    match own {
        Some(own) => format!("io.k8s.api.{own}.{version}.{kind}"),
        None => {
            let labels: Vec<&str> = group.rsplit('.').collect();
            format!("{}.{version}.{kind}", labels.join("."))
        }
    }
}

/// `/apis/example.com/v1`, or `/api/v1`.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// `listExampleComV1NamespacedWidget`
pub(super) fn operation(verb: &str, group: &str, version: &str, what: &str) -> String {
    format!("{verb}{}{}{}", camel(own(group), true), camel(version, true), camel(what, true))
}

/// `exampleCom_v1`
pub(super) fn tag(group: &str, version: &str) -> String {
    format!("{}_{}", camel(own(group), false), camel(version, true).to_lowercase())
}

fn own(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) }
}

/// Keeps only letters and digits; a letter after another character is capitalized.
fn camel(text: &str, mut capital: bool) -> String {
    let mut said = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() {
            capital = true;
        } else if std::mem::take(&mut capital) {
            said.extend(c.to_uppercase());
        } else {
            said.push(c);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_named_as_in_kubernetes() {
        for (group, expected) in [
            ("example.com", "com.example.v1.X"),
            ("a.b.example.com", "com.example.b.a.v1.X"),
            ("", "io.k8s.api.core.v1.X"),
            ("apps", "io.k8s.api.apps.v1.X"),
            ("rbac.authorization.k8s.io", "io.k8s.api.rbac.v1.X"),
            ("coordination.k8s.io", "io.k8s.api.coordination.v1.X"),
            ("apiextensions.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.X"),
        ] {
            assert_eq!(schema(group, "v1", "X"), expected);
        }
    }

    #[test]
    fn operations_are_named_as_in_kubernetes() {
        assert_eq!(
            operation("list", "example.com", "v1", "NamespacedWidget"),
            "listExampleComV1NamespacedWidget"
        );
        assert_eq!(operation("read", "", "v1", "NamespacedPod"), "readCoreV1NamespacedPod");
        assert_eq!(
            operation("patch", "rbac.authorization.k8s.io", "v1", "ClusterRole"),
            "patchRbacAuthorizationV1ClusterRole"
        );
        assert_eq!(tag("example.com", "v1"), "exampleCom_v1");
        assert_eq!(tag("", "v1"), "core_v1");
    }
}
