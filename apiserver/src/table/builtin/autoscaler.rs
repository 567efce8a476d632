//! Columns of HorizontalPodAutoscalers.

use serde_json::Value;

use super::{BuiltIn, Head, count, each, nothing_more};
use crate::table::column::name_and_age;

pub(super) static AUTOSCALER: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Reference", "The object that it scales."),
        Head::text("Targets", "Current and wanted values of its metrics."),
        Head::text("MinPods", "The least number of pods."),
        Head::text("MaxPods", "The greatest number of pods."),
        Head::text("Replicas", "How many pods there are."),
        Head::AGE,
    ],
    cells: |scaler, now| {
        let ((name, age), spec, status) = (name_and_age(scaler, now), &scaler["spec"], &scaler["status"]);
        let text = |field: &str| spec["scaleTargetRef"][field].as_str().unwrap_or_default();
        let least =
            spec["minReplicas"].as_i64().map_or_else(|| "<unset>".to_owned(), |least| least.to_string());
        vec![
            name,
            format!("{}/{}", text("kind"), text("name")).into(),
            targets(scaler).into(),
            least.into(),
            count(&spec["maxReplicas"]).into(),
            count(&status["currentReplicas"]).into(),
            age,
        ]
    },
    conditions: nothing_more,
};

/// `cpu: 20%/50%, 3/5 + 1 more...`, from either version of an autoscaler.
fn targets(scaler: &Value) -> String {
    const MOST: usize = 2;
    let mut all: Vec<String> = Vec::new();
    let current: Vec<&Value> = each(&scaler["status"]["currentMetrics"]).collect();
    for (at, metric) in each(&scaler["spec"]["metrics"]).enumerate() {
        all.push(target(metric, current.get(at).copied().unwrap_or(&Value::Null)));
    }
    if let Some(wanted) = scaler["spec"]["targetCPUUtilizationPercentage"].as_i64() {
        let used = scaler["status"]["currentCPUUtilizationPercentage"].as_i64();
        let used = used.map_or_else(|| "<unknown>".to_owned(), |used| format!("{used}%"));
        all.push(format!("cpu: {used}/{wanted}%"));
    }
    let more = all.len().saturating_sub(MOST);
    match all.as_slice() {
        [] => "<none>".to_owned(),
        all if more > 0 => format!("{} + {more} more...", all[..MOST].join(", ")),
        all => all.join(", "),
    }
}

fn target(metric: &Value, current: &Value) -> String {
    let source = match metric["type"].as_str() {
        Some("External") => "external",
        Some("Pods") => "pods",
        Some("Object") => "object",
        Some("Resource") => "resource",
        Some("ContainerResource") => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, used) = (&metric[source]["target"], &current[source]["current"]);
    let text = |value: &Value| value.as_str().unwrap_or("<unknown>").to_owned();
    let percent =
        |value: &Value, none: &str| value.as_i64().map_or_else(|| none.to_owned(), |n| format!("{n}%"));
    let resource = metric[source]["name"].as_str().filter(|_| source.to_lowercase().ends_with("resource"));
    match (resource, wanted["averageValue"].as_str()) {
        (Some(name), Some(average)) => format!("{name}: {}/{average}", text(&used["averageValue"])),
        (Some(name), None) => format!(
            "{name}: {}/{}",
            percent(&used["averageUtilization"], "<unknown>"),
            percent(&wanted["averageUtilization"], "<auto>")
        ),
        (None, Some(average)) if source == "pods" => format!("{}/{average}", text(&used["averageValue"])),
        (None, Some(average)) => format!("{}/{average} (avg)", text(&used["averageValue"])),
        (None, None) => format!("{}/{}", text(&used["value"]), text(&wanted["value"])),
    }
}
