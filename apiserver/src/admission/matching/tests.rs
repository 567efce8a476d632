use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::*;
use crate::native;

const WORDS: &[&str] = &["*", "CREATE", "UPDATE", "", "example.com", "apps", "v1", "v2", "pods", "widgets"];

/// A rule, matched by enumerating all forms of each field.
fn naive(rule: &Value, about: &RuleInput<'_>) -> bool {
    let list = |field: &str| -> Vec<String> {
        rule[field].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let operation = match about.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
    };
    let mut named = false;
    for one in list("resources") {
        let wanted = match about.subresource {
            "" => {
                vec!["*".to_owned(), "*/*".into(), about.resource.to_owned(), format!("{}/*", about.resource)]
            }
            sub => {
                let of = about.resource;
                vec!["*/*".into(), format!("*/{sub}"), format!("{of}/*"), format!("{of}/{sub}")]
            }
        };
        named |= wanted.contains(&one);
    }
    let has = |field: &str, wanted: &str| {
        list(field).contains(&"*".to_owned()) || list(field).contains(&wanted.to_owned())
    };
    let scope = match rule["scope"].as_str() {
        None | Some("*") => true,
        Some("Namespaced") => about.is_in_namespace,
        _ => !about.is_in_namespace,
    };
    named
        && scope
        && has("operations", operation)
        && has("apiGroups", about.group)
        && has("apiVersions", about.version)
}

fn rules() -> impl Strategy<Value = Value> {
    let some = |of: &'static [&'static str]| subsequence(of, 1..=of.len());
    let resources =
        some(&["*", "*/*", "*/status", "pods", "pods/*", "pods/status", "widgets", "widgets/scale"]);
    let scope = select(vec![json!(null), json!("*"), json!("Cluster"), json!("Namespaced")]);
    let texts = (
        some(&["*", "CREATE", "UPDATE", "CONNECT"]),
        some(&["*", "", "example.com"]),
        some(&["*", "v1", "v2"]),
    );
    (texts, resources, scope).prop_map(|((operations, groups, versions), resources, scope)| {
        json!({
            "operations": operations, "apiGroups": groups, "apiVersions": versions, "resources": resources, "scope": scope,
        })
    })
}

proptest! {
    #[test]
    fn rules_match_as_in_a_naive_evaluation(
        rules in proptest::collection::vec(rules(), 0..3),
        operation in select(vec![Operation::Create, Operation::Update, Operation::Delete]),
        group in select(vec!["", "example.com", "apps"]),
        version in select(vec!["v1", "v2", "v3"]),
        resource in select(vec!["pods", "widgets", "nodes"]),
        subresource in select(vec!["", "status", "scale"]),
        is_in_namespace in any::<bool>(),
    ) {
        let about = RuleInput { operation, group, version, resource, subresource, is_in_namespace };
        let read: Vec<WebhookRule> = rules.iter().map(WebhookRule::of).collect();
        let expected = rules.iter().any(|rule| naive(rule, &about));
        let found = matched(&read, false, &about, &[]);
        prop_assert_eq!(matches!(found, Some(ReviewVersion::Itself)), expected);
        prop_assert_eq!(found.is_some(), expected);
    }

    #[test]
    fn malformed_rules_match_nothing(words in proptest::collection::vec(select(WORDS), 0..4), other in any::<u8>()) {
        let rule = WebhookRule::of(&json!({"operations": words, "resources": other, "apiGroups": [other, null]}));
        let about = RuleInput {
            operation: Operation::Create, group: "", version: "v1", resource: "pods", subresource: "", is_in_namespace: true,
        };
        prop_assert!(!rule.matches(&about), "a rule that names no resource is for nothing");
    }
}

/// An equivalent version, and a version that no rule names.
#[test]
fn an_equivalent_version_is_found() {
    let events = |group: &str| {
        native::kinds().find(|kind| &*kind.group == group && kind.names.kind == "Event").unwrap()
    };
    let rule = |group: &str| {
        vec![WebhookRule::of(
            &json!({"operations": ["*"], "apiGroups": [group], "apiVersions": ["v1"], "resources": ["events"]}),
        )]
    };
    let about = RuleInput {
        operation: Operation::Create,
        group: "",
        version: "v1",
        resource: "events",
        subresource: "",
        is_in_namespace: true,
    };
    let check = |rules: &[WebhookRule], exact: bool| match matched(
        rules,
        exact,
        &about,
        &[events("events.k8s.io")],
    ) {
        None => "nothing",
        Some(ReviewVersion::Itself) => "itself",
        Some(ReviewVersion::Other(_)) => "other",
    };
    assert_eq!(check(&rule(""), false), "itself");
    assert_eq!(check(&rule("events.k8s.io"), false), "other");
    assert_eq!(check(&rule("events.k8s.io"), true), "nothing");
    assert_eq!(check(&rule("apps"), false), "nothing");
}

#[test]
fn a_selector_matches_either_object() {
    let selector = |value: Value| crate::auth::rbac::selector(&value).unwrap();
    let labelled = |labels: Value| json!({"metadata": {"labels": labels}});
    let (yes, no) = (labelled(json!({"a": "b"})), labelled(json!({"a": "c"})));
    let wanted = selector(json!({"matchLabels": {"a": "b"}}));
    for (objects, expected) in [
        ([Some(&yes), None], true),
        ([Some(&no), None], false),
        ([None, Some(&yes)], true),
        ([Some(&no), Some(&yes)], true),
        ([Some(&yes), Some(&no)], true),
        ([None, None], false),
    ] {
        assert_eq!(selects(&wanted, objects), expected);
        assert!(selects(&selector(json!({})), objects), "a selector that says nothing selects everything");
    }
}
