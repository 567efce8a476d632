//! Counted resources: the keys of a quota that limit numbers of objects.

use serde_json::Value;

use super::names::OBJECTS;
use crate::builtin::quantity::{self, IntegerQuantity};

/// A limit on the number of objects in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Limit<'q> {
    /// The key in `spec.hard`.
    pub(crate) key: &'q str,
    pub(crate) what: Counted<'q>,
    pub(crate) most: u64,
    /// The limit as the quota writes it.
    pub(crate) text: &'q str,
}

/// A counted resource, as a key names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counted<'q> {
    /// Empty for the oldest.
    pub(crate) group: &'q str,
    pub(crate) plural: &'q str,
    /// Whether only unfinished pods count.
    pub(crate) unended: bool,
}

/// Parses the resource of a key: `count/deployments.apps`, or one of the old names. `None` for keys
/// that do not count objects.
pub(crate) fn counted(key: &str) -> Option<Counted<'_>> {
    let (plural, group, unended) = match key.strip_prefix("count/") {
        Some(resource) => {
            let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
            (plural, group, false)
        }
        None if OBJECTS.contains(&key) => (key, "", key == "pods"),
        None => return None,
    };
    Some(Counted { group, plural, unended })
}

/// Returns the countable limits of a quota, by key in order. Empty for a quota with scopes: they
/// are not evaluated here.
pub(crate) fn limits(quota: &Value) -> Vec<Limit<'_>> {
    if is_scoped(quota) {
        return Vec::new();
    }
    let mut limits = Vec::new();
    for (key, amount) in quota["spec"]["hard"].as_object().into_iter().flatten() {
        let Some(what) = counted(key) else { continue };
        // Validation rejects amounts that are no numbers.
        let most = match quantity::whole(&quantity::text(amount)) {
            IntegerQuantity::Number(most) => most,
            IntegerQuantity::Negative | IntegerQuantity::Broken => 0,
        };
        limits.push(Limit { key, what, most, text: amount.as_str().unwrap_or("0") });
    }
    limits.sort_unstable();
    limits
}

/// Returns whether a quota is only about objects in some scope.
pub(crate) fn is_scoped(quota: &Value) -> bool {
    let spec = &quota["spec"];
    let has = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    has(&spec["scopes"]) || has(&spec["scopeSelector"]["matchExpressions"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_name_counted_resources() {
        let check = |key: &str, expected: Option<(&str, &str, bool)>| {
            let counted = counted(key).map(|counted| (counted.plural, counted.group, counted.unended));
            assert_eq!(counted, expected, "{key}");
        };
        check("count/secrets", Some(("secrets", "", false)));
        check("count/pods", Some(("pods", "", false)));
        check("count/widgets.example.com", Some(("widgets", "example.com", false)));
        check("pods", Some(("pods", "", true)));
        check("services", Some(("services", "", false)));
        for other in ["services.nodeports", "cpu", "requests.storage", "example.com/gpu", "counts/secrets"] {
            check(other, None);
        }
    }

    #[test]
    fn limits_of_objects_are_read_from_a_quota() {
        let check = |spec: Value, expected: &[(&str, u64, &str)]| {
            let quota = json!({"spec": spec});
            let limits: Vec<_> =
                limits(&quota).iter().map(|limit| (limit.key, limit.most, limit.text)).collect();
            assert_eq!(limits, expected);
        };
        check(json!({}), &[]);
        let hard = json!({"secrets": "2k", "cpu": "1", "count/secrets": "3"});
        check(json!({"hard": hard}), &[("count/secrets", 3, "3"), ("secrets", 2000, "2k")]);
        check(json!({"hard": hard, "scopes": ["BestEffort"]}), &[]);
        let selector = json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]});
        check(json!({"hard": hard, "scopeSelector": selector}), &[]);
        check(json!({"hard": {"pods": "1"}, "scopes": [], "scopeSelector": {}}), &[("pods", 1, "1")]);
    }
}
