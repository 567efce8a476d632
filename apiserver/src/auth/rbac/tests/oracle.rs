//! A naive implementation of RBAC, independent of the production code.

use serde_json::Value;

/// A request, as strings.
#[derive(Clone, Debug)]
pub(super) struct OracleRequest {
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    pub(super) verb: String,
    /// Group, resource, subresource, namespace, name; or a path.
    pub(super) on: Result<[String; 5], String>,
}

pub(super) fn allowed(objects: &[Value], question: &OracleRequest) -> bool {
    question.groups.iter().any(|group| group == "system:masters")
        || objects.iter().any(|binding| applies(binding, question) && role_allows(objects, binding, question))
}

fn applies(binding: &Value, question: &OracleRequest) -> bool {
    let here = match (binding["kind"].as_str(), &question.on) {
        (Some("ClusterRoleBinding"), _) => "",
        (Some("RoleBinding"), Ok(on)) if binding["metadata"]["namespace"] == on[3] && !on[3].is_empty() => {
            on[3].as_str()
        }
        _ => return false,
    };
    items(&binding["subjects"]).any(|subject| {
        let name = subject["name"].as_str().expect("a name");
        match subject["kind"].as_str() {
            Some("User") => question.user == name,
            Some("Group") => question.groups.iter().any(|group| group == name),
            Some("ServiceAccount") => {
                let namespace = subject["namespace"].as_str().unwrap_or(here);
                !namespace.is_empty() && question.user == format!("system:serviceaccount:{namespace}:{name}")
            }
            _ => false,
        }
    })
}

fn role_allows(objects: &[Value], binding: &Value, question: &OracleRequest) -> bool {
    let to = &binding["roleRef"];
    objects.iter().any(|role| {
        let namespace = &role["metadata"]["namespace"];
        role["kind"] == to["kind"]
            && role["metadata"]["name"] == to["name"]
            && (role["kind"] == "ClusterRole"
                || role["kind"] == "Role"
                    && !namespace.is_null()
                    && *namespace == binding["metadata"]["namespace"])
            && rules(objects, role, &mut Vec::new()).into_iter().any(|rule| rule_allows(rule, question))
    })
}

/// The rules of an aggregated role, and of the roles that it selects transitively.
fn rules<'a>(objects: &'a [Value], role: &'a Value, path: &mut Vec<&'a Value>) -> Vec<&'a Value> {
    let aggregation = &role["aggregationRule"];
    if aggregation.is_null() {
        return items(&role["rules"]).collect();
    }
    if path.contains(&role) {
        return Vec::new();
    }
    path.push(role);
    let mut found = Vec::new();
    for selector in items(&aggregation["clusterRoleSelectors"]) {
        for other in objects.iter().filter(|it| it["kind"] == "ClusterRole") {
            let labels = selector["matchLabels"].as_object().expect("labels");
            if labels.iter().all(|(key, value)| other["metadata"]["labels"].get(key) == Some(value)) {
                found.extend(rules(objects, other, path));
            }
        }
    }
    path.pop();
    found
}

fn rule_allows(rule: &Value, question: &OracleRequest) -> bool {
    let any = |field: &str, of: &dyn Fn(&str) -> bool| {
        items(&rule[field]).any(|it| of(it.as_str().expect("a text")))
    };
    let verb = any("verbs", &|it| it == "*" || it == question.verb);
    let rest = match &question.on {
        Err(path) => any("nonResourceURLs", &|it| {
            it == path || it.ends_with('*') && path.starts_with(it.trim_end_matches('*'))
        }),
        Ok([group, resource, subresource, _, name]) => {
            let (whole, everywhere) = match subresource.as_str() {
                "" => (resource.clone(), None),
                _ => (format!("{resource}/{subresource}"), Some(format!("*/{subresource}"))),
            };
            any("apiGroups", &|it| it == "*" || it == group)
                && any("resources", &|it| it == "*" || it == whole || Some(it) == everywhere.as_deref())
                && (items(&rule["resourceNames"]).count() == 0 || any("resourceNames", &|it| it == name))
        }
    };
    verb && rest
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
