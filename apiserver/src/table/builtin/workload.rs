//! Columns of Deployments, ReplicaSets and the subresource `scale`.

use jiff::Timestamp;
use serde_json::Value;

use super::{BuiltIn, Head, count, each, joined, nothing_more};
use crate::table::column::name_and_age;

const CONTAINERS: Head = Head::wide("Containers", "The names of the containers.");
const IMAGES: Head = Head::wide("Images", "The images of the containers.");
const SELECTOR: Head = Head::wide("Selector", "The labels of its pods.");

pub(super) static DEPLOYMENT: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Ready", "How many pods are ready, of how many wanted."),
        Head::text("Up-to-date", "How many pods are of the newest template."),
        Head::text("Available", "How many pods have been ready for long enough."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |deployment, now| {
        let (name, age) = name_and_age(deployment, now);
        let status = &deployment["status"];
        let ready = format!("{}/{}", count(&status["readyReplicas"]), wanted(deployment));
        let counted = [
            name,
            ready.into(),
            count(&status["updatedReplicas"]).into(),
            count(&status["availableReplicas"]).into(),
            age,
        ];
        counted.into_iter().chain(wide(deployment, "")).collect()
    },
    conditions: nothing_more,
};

pub(super) static REPLICA_SET: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::of("Desired", "integer", "How many pods are wanted."),
        Head::of("Current", "integer", "How many pods there are."),
        Head::of("Ready", "integer", "How many pods are ready."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |set, now| {
        let (name, age) = name_and_age(set, now);
        let status = &set["status"];
        let counted = [
            name,
            wanted(set).into(),
            count(&status["replicas"]).into(),
            count(&status["readyReplicas"]).into(),
            age,
        ];
        counted.into_iter().chain(wide(set, "<none>")).collect()
    },
    conditions: nothing_more,
};

pub(super) static SCALE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::of("Desired", "integer", "How many replicas are wanted."),
        Head::of("Available", "integer", "How many replicas there are."),
        Head::AGE,
    ],
    cells: scale,
    conditions: nothing_more,
};

fn scale(scale: &Value, now: Timestamp) -> Vec<Value> {
    let (name, age) = name_and_age(scale, now);
    vec![name, count(&scale["spec"]["replicas"]).into(), count(&scale["status"]["replicas"]).into(), age]
}

/// Returns the replicas of the spec, by default one.
fn wanted(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn wide(object: &Value, none: &str) -> [Value; 3] {
    let spec = &object["spec"];
    let containers = &spec["template"]["spec"]["containers"];
    let of = |key: &str| Value::from(joined(each(containers).map(|container| &container[key]), ","));
    let selector = selector(&spec["selector"]);
    [of("name"), of("image"), if selector.is_empty() { none.into() } else { selector.into() }]
}

/// `app=web,tier in (back,front),!old`, by key.
fn selector(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels =
        labels.map(|(key, value)| (key.as_str(), format!("{key}={}", value.as_str().unwrap_or_default())));
    let expressions = each(&selector["matchExpressions"]).map(|expression| {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> = each(&expression["values"]).filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let said = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => "<invalid>".to_owned(),
        };
        (key, said)
    });
    let mut terms: Vec<(&str, String)> = labels.chain(expressions).collect();
    terms.sort_by_key(|(key, _)| *key);
    terms.into_iter().map(|(_, said)| said).collect::<Vec<_>>().join(",")
}
