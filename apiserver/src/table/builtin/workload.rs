//! Columns of Deployments, ReplicaSets and the subresource `scale`.

use jiff::Timestamp;
use serde_json::Value;

use super::{BuiltIn, Head, count, each, joined, nothing_more, pairs};
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

pub(super) static STATEFUL_SET: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Ready", "How many pods are ready, of how many wanted."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
    ],
    cells: |set, now| {
        let (name, age) = name_and_age(set, now);
        let ready = format!("{}/{}", count(&set["status"]["readyReplicas"]), wanted(set));
        let [names, images, _] = wide(set, "");
        vec![name, ready.into(), age, names, images]
    },
    conditions: nothing_more,
};

pub(super) static DAEMON_SET: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::of("Desired", "integer", "How many nodes shall have a pod."),
        Head::of("Current", "integer", "How many nodes have one."),
        Head::of("Ready", "integer", "How many pods are ready."),
        Head::of("Up-to-date", "integer", "How many pods are of the newest template."),
        Head::of("Available", "integer", "How many pods have been ready for long enough."),
        Head::text("Node Selector", "The labels of the nodes."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |set, now| {
        let (name, age) = name_and_age(set, now);
        let number = |field: &str| Value::from(count(&set["status"][field]));
        let counted = [
            name,
            number("desiredNumberScheduled"),
            number("currentNumberScheduled"),
            number("numberReady"),
            number("updatedNumberScheduled"),
            number("numberAvailable"),
            pairs(&set["spec"]["template"]["spec"]["nodeSelector"]).into(),
            age,
        ];
        counted.into_iter().chain(wide(set, "<none>")).collect()
    },
    conditions: nothing_more,
};

pub(super) static REPLICATION_CONTROLLER: BuiltIn = BuiltIn {
    heads: REPLICA_SET.heads,
    cells: |controller, now| {
        let mut cells = (REPLICA_SET.cells)(controller, now);
        cells.pop();
        cells.push(pairs(&controller["spec"]["selector"]).into());
        cells
    },
    conditions: nothing_more,
};

pub(super) static POD_TEMPLATE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Containers", "The names of the containers."),
        Head::text("Images", "The images of the containers."),
        Head::text("Pod Labels", "The labels of its pods."),
    ],
    cells: |object, now| {
        let (name, _) = name_and_age(object, now);
        let template = &object["template"];
        let [names, images] = containers(template);
        vec![name, names, images, pairs(&template["metadata"]["labels"]).into()]
    },
    conditions: nothing_more,
};

/// Returns the replicas of the spec, by default one.
fn wanted(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn wide(object: &Value, none: &str) -> [Value; 3] {
    let spec = &object["spec"];
    let [names, images] = containers(&spec["template"]);
    let selector = selector(&spec["selector"]);
    [names, images, if selector.is_empty() { none.into() } else { selector.into() }]
}

/// The names and the images of a template's containers.
pub(super) fn containers(template: &Value) -> [Value; 2] {
    let containers = &template["spec"]["containers"];
    ["name", "image"].map(|key| joined(each(containers).map(|container| &container[key]), ",").into())
}

/// `app=web,tier in (back,front),!old`, by key.
pub(super) fn selector(selector: &Value) -> String {
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
