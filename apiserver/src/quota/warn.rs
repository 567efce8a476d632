//! Warnings about parts of a quota that are not enforced here.

use serde_json::Value;

use super::counted;
use crate::kind::Registry;

/// Maximum number of keys in warnings, which are headers.
const MAX_TOLD: usize = 20;

/// Returns warnings about the parts of a quota that are not enforced, with the reason.
pub(crate) fn warnings(registry: &Registry, quota: &Value) -> Vec<String> {
    let hard = quota["spec"]["hard"].as_object().into_iter().flatten();
    let mut why: Vec<(&str, String)> =
        hard.filter_map(|(key, _)| Some((key.as_str(), unenforced(registry, key)?))).collect();
    why.sort_unstable();
    let left_out = why.len().saturating_sub(MAX_TOLD);
    let told =
        why.iter().take(MAX_TOLD).map(|(key, why)| format!("spec.hard[{key}]: is not enforced: {why}"));
    let more = (left_out > 0).then(|| format!("spec.hard: {left_out} more keys are not enforced"));
    told.chain(more).collect()
}

/// Why a key is not held. None: it is.
fn unenforced(registry: &Registry, key: &str) -> Option<String> {
    let Some(what) = counted(key) else {
        return Some(
            "this server counts objects, as in count/secrets or count/deployments.apps, and resources of pods, services and persistentvolumeclaims"
                .into(),
        );
    };
    if registry.in_namespaces(what.group, what.plural).is_some() {
        return None;
    }
    let resource = match what.group {
        "" => what.plural.to_owned(),
        group => format!("{}.{group}", what.plural),
    };
    Some(match registry.is_served(what.group, what.plural) {
        true => format!("{resource} are in no namespace"),
        false => format!("no {resource} are served here; it will be when there are"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::native;

    #[test]
    fn unenforced_keys_have_warnings() {
        let registry = Registry::new(native::kinds(), [], None);
        let check = |spec: Value, expected: &[&str]| {
            assert_eq!(warnings(&registry, &json!({"spec": spec})), expected);
        };
        let held = json!({"pods": "1", "count/deployments.apps": "1", "count/events": "1", "count/events.events.k8s.io": "1"});
        check(json!({"hard": held}), &[]);
        let hard = json!({"example.com/gpu": "1", "cpu": "1", "secrets": "1", "count/nodes": "1", "count/widgets.example.com": "1", "persistentvolumeclaims": "1"});
        let objects = "this server counts objects, as in count/secrets or count/deployments.apps, and resources of pods, services and persistentvolumeclaims";
        check(
            json!({"hard": hard}),
            &[
                "spec.hard[count/nodes]: is not enforced: nodes are in no namespace",
                "spec.hard[count/widgets.example.com]: is not enforced: no widgets.example.com are served here; it will be when there are",
                &format!("spec.hard[example.com/gpu]: is not enforced: {objects}"),
            ],
        );
        check(json!({"hard": {"pods": "1"}, "scopes": ["Terminating"]}), &[]);
    }

    #[test]
    fn the_number_of_warned_keys_is_limited() {
        let registry = Registry::new(native::kinds(), [], None);
        let hard: serde_json::Map<String, Value> =
            (0..30).map(|number| (format!("example.com/x{number}"), "1".into())).collect();
        let told = warnings(&registry, &json!({"spec": {"hard": hard}}));
        assert_eq!(told.len(), MAX_TOLD + 1);
        assert_eq!(told[MAX_TOLD], "spec.hard: 10 more keys are not enforced");
    }
}
