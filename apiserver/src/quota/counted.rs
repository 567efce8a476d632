//! Counted resources: the keys of a quota that this server enforces.

use serde_json::Value;

use super::QuotaAmount;
use super::names::OBJECTS;
use super::usage::MeasuredKind;

/// A limit of a quota.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'q> {
    /// The key in `spec.hard`.
    pub(crate) key: &'q str,
    pub(crate) what: Counted<'q>,
    pub(crate) most: QuotaAmount,
    /// The limit as the quota writes it.
    pub(crate) text: &'q str,
}

/// A counted resource, as a key names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted<'q> {
    /// Empty for the oldest.
    pub(crate) group: &'q str,
    pub(crate) plural: &'q str,
    pub(crate) measure: Measure,
}

/// The amount that one object adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// One.
    Object,
    /// One, unless it is a pod that ended.
    Unended,
    /// The amount of its usage under the key.
    Usage,
}

/// Parses the resource of a key: `count/deployments.apps`, one of the old names, or a resource of
/// pods, services or claims. `None` for keys that are not enforced.
pub(crate) fn counted(key: &str) -> Option<Counted<'_>> {
    let (plural, group, measure) = match key.strip_prefix("count/") {
        Some(resource) => {
            let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
            (plural, group, Measure::Object)
        }
        None if key == "pods" => (key, "", Measure::Unended),
        None if OBJECTS.contains(&key) => (key, "", Measure::Object),
        None => (MeasuredKind::of_key(key)?.plural(), "", Measure::Usage),
    };
    Some(Counted { group, plural, measure })
}

/// Returns the enforced limits of a quota, by key in order. A key of objects that its scopes cannot
/// select is among them: its usage is zero.
pub(crate) fn limits(quota: &Value) -> Vec<Limit<'_>> {
    let mut limits = Vec::new();
    for (key, amount) in quota["spec"]["hard"].as_object().into_iter().flatten() {
        let Some(what) = counted(key) else { continue };
        // Validation rejects amounts that are no numbers.
        let most = QuotaAmount::read(amount);
        limits.push(Limit { key, what, most, text: amount.as_str().unwrap_or("0") });
    }
    limits.sort_unstable_by_key(|limit| limit.key);
    limits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_name_counted_resources() {
        let check = |key: &str, expected: Option<(&str, &str, Measure)>| {
            let counted = counted(key).map(|counted| (counted.plural, counted.group, counted.measure));
            assert_eq!(counted, expected, "{key}");
        };
        check("count/secrets", Some(("secrets", "", Measure::Object)));
        check("count/pods", Some(("pods", "", Measure::Object)));
        check("count/widgets.example.com", Some(("widgets", "example.com", Measure::Object)));
        check("pods", Some(("pods", "", Measure::Unended)));
        check("services", Some(("services", "", Measure::Object)));
        check("services.nodeports", Some(("services", "", Measure::Usage)));
        for pods in ["cpu", "limits.memory", "hugepages-2Mi", "requests.example.com/gpu"] {
            check(pods, Some(("pods", "", Measure::Usage)));
        }
        for claims in ["requests.storage", "gold.storageclass.storage.k8s.io/requests.storage"] {
            check(claims, Some(("persistentvolumeclaims", "", Measure::Usage)));
        }
        for other in ["example.com/gpu", "counts/secrets", "gold.deviceclass.resource.k8s.io/devices"] {
            check(other, None);
        }
    }

    #[test]
    fn limits_of_objects_are_read_from_a_quota() {
        let check = |hard: Value, expected: &[(&str, u64, &str)]| {
            let quota = json!({"spec": {"hard": hard}});
            let limits = limits(&quota);
            let limits: Vec<_> =
                limits.iter().map(|limit| (limit.key, limit.most.whole(), limit.text)).collect();
            assert_eq!(limits, expected);
        };
        check(json!({}), &[]);
        let hard = json!({"secrets": "2k", "cpu": "1", "count/secrets": "3", "example.com/x": "1"});
        check(hard, &[("count/secrets", 3, "3"), ("cpu", 1, "1"), ("secrets", 2000, "2k")]);
    }
}
