//! HorizontalPodAutoscalers: stored as `autoscaling/v2`. Version v1 has a field for the processor
//! only, and keeps everything else in annotations.

use serde_json::{Map, Value, json};

use crate::kind::KindHooks;
use crate::strategy::metadata_mut;

/// The version that an autoscaler is converted to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoscalerForm {
    /// `autoscaling/v1`
    First,
    /// `autoscaling/v2`
    Second,
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const ANNOTATIONS: [&str; 4] = [METRICS, CURRENT, CONDITIONS, BEHAVIOR];

/// The target of an autoscaler without metrics, in per cent.
const DEFAULT_UTILIZATION: i64 = 80;

impl KindHooks for AutoscalerForm {
    fn convert(&self, autoscaler: &mut Value) {
        // The other version in question is known by its fields: each has some that the other lacks.
        match self {
            Self::First => to_first(autoscaler),
            Self::Second => to_second(autoscaler),
        }
    }

    fn default(&self, autoscaler: &mut Value) {
        if !autoscaler["spec"].is_object() {
            return;
        }
        let spec = &mut autoscaler["spec"];
        if spec["minReplicas"].is_null() {
            spec["minReplicas"] = 1.into();
        }
        if *self == Self::Second {
            if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
                spec["metrics"] = json!([processor(
                    "target",
                    &json!({"type": "Utilization", "averageUtilization": DEFAULT_UTILIZATION})
                )]);
            }
            if let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) {
                fill_rules(
                    &mut behavior["scaleUp"],
                    json!({
                        "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [
                            {"type": "Pods", "value": 4, "periodSeconds": 15},
                            {"type": "Percent", "value": 100, "periodSeconds": 15}],
                    }),
                );
                fill_rules(
                    &mut behavior["scaleDown"],
                    json!({
                        "selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
                    }),
                );
            }
        }
    }
}

fn fill_rules(rules: &mut Value, defaults: Value) {
    let mut filled = defaults;
    if let (Some(filled), Some(given)) = (filled.as_object_mut(), rules.as_object()) {
        filled.extend(given.clone());
    }
    *rules = filled;
}

/// A metric of the processor, with its target or its current value.
fn processor(field: &str, value: &Value) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", field: value}})
}

fn is_processor(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

/// Converts v1 to v2.
fn to_second(autoscaler: &mut Value) {
    let kept = ANNOTATIONS.map(|name| annotation(autoscaler, name));
    let [metrics, current, conditions, behavior] = kept;
    drop_annotations(autoscaler);
    let take = |part: &mut Value, field: &str| part.as_object_mut().and_then(|part| part.remove(field));
    let wanted =
        take(&mut autoscaler["spec"], "targetCPUUtilizationPercentage").filter(|wanted| !wanted.is_null());
    let mut all: Vec<Value> = items(&metrics).map(|metric| metric_to_second(metric, SPEC)).collect();
    all.extend(
        wanted
            .map(|wanted| processor("target", &json!({"type": "Utilization", "averageUtilization": wanted}))),
    );
    if autoscaler["spec"].is_object() {
        if !all.is_empty() {
            autoscaler["spec"]["metrics"] = all.into();
        }
        if behavior.as_object().is_some_and(|behavior| !behavior.is_empty()) {
            autoscaler["spec"]["behavior"] = recapitalized(&behavior, char::to_lowercase);
        }
    }
    if !autoscaler["status"].is_object() {
        return;
    }
    let used =
        take(&mut autoscaler["status"], "currentCPUUtilizationPercentage").filter(|used| !used.is_null());
    let all: Vec<Value> = match current.is_array() {
        true => items(&current).map(|metric| metric_to_second(metric, STATUS)).collect(),
        false => {
            used.into_iter().map(|used| processor("current", &json!({"averageUtilization": used}))).collect()
        }
    };
    if !all.is_empty() {
        autoscaler["status"]["currentMetrics"] = all.into();
    }
    if conditions.is_array() {
        autoscaler["status"]["conditions"] = conditions;
    }
}

/// Converts v2 to v1.
fn to_first(autoscaler: &mut Value) {
    drop_annotations(autoscaler);
    let take = |part: &mut Value, field: &str| {
        part.as_object_mut().and_then(|part| part.remove(field)).unwrap_or_default()
    };
    let mut annotations = Map::new();
    if autoscaler["spec"].is_object() {
        let (metrics, behavior) =
            (take(&mut autoscaler["spec"], "metrics"), take(&mut autoscaler["spec"], "behavior"));
        let utilization = |metric: &Value| metric["resource"]["target"]["averageUtilization"].clone();
        let is_plain = |metric: &&Value| is_processor(metric) && !utilization(metric).is_null();
        if let Some(plain) = items(&metrics).find(is_plain) {
            autoscaler["spec"]["targetCPUUtilizationPercentage"] = utilization(plain);
        }
        let others: Vec<Value> = items(&metrics)
            .filter(|metric| !is_plain(metric))
            .map(|metric| metric_to_first(metric, SPEC))
            .collect();
        if !others.is_empty() {
            annotations.insert(METRICS.into(), Value::from(others).to_string().into());
        }
        if behavior.is_object() {
            annotations
                .insert(BEHAVIOR.into(), recapitalized(&behavior, char::to_uppercase).to_string().into());
        }
    }
    if autoscaler["status"].is_object() {
        let status = &mut autoscaler["status"];
        let (current, conditions) = (take(status, "currentMetrics"), take(status, "conditions"));
        let used = items(&current).filter(|metric| is_processor(metric));
        let used = used.map(|metric| &metric["resource"]["current"]["averageUtilization"]);
        if let Some(used) = used.filter(|used| !used.is_null()).last() {
            status["currentCPUUtilizationPercentage"] = used.clone();
        }
        let all: Vec<Value> = items(&current).map(|metric| metric_to_first(metric, STATUS)).collect();
        if !all.is_empty() {
            annotations.insert(CURRENT.into(), Value::from(all).to_string().into());
        }
        if items(&conditions).next().is_some() {
            annotations.insert(CONDITIONS.into(), conditions.to_string().into());
        }
    }
    if !annotations.is_empty() {
        let all = metadata_mut(autoscaler).entry("annotations").or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            all.extend(annotations);
        }
    }
}

/// The part of an autoscaler that a metric is in: its name in v2, and the prefix of fields in v1.
#[derive(Clone, Copy)]
struct MetricPart {
    field: &'static str,
    prefix: &'static str,
}

const SPEC: MetricPart = MetricPart { field: "target", prefix: "target" };
const STATUS: MetricPart = MetricPart { field: "current", prefix: "current" };

/// The sources of metrics: the field of each, and whether v1 has the value under the prefix and
/// the average under its own name.
const SOURCES: [&str; 5] = ["object", "pods", "resource", "containerResource", "external"];

fn metric_to_first(metric: &Value, part: MetricPart) -> Value {
    let mut made = json!({"type": metric["type"]});
    for source in SOURCES.iter().filter(|source| metric[**source].is_object()) {
        let from = &metric[*source];
        let mut to = Map::new();
        let mut put = |field: &str, value: &Value| {
            if !value.is_null() {
                to.insert(field.into(), value.clone());
            }
        };
        let value = &from[part.field];
        put("name", &from["name"]);
        put("container", &from["container"]);
        put("metricName", &from["metric"]["name"]);
        put(selector_of(source), &from["metric"]["selector"]);
        put("target", &from["describedObject"]);
        put(&average_of(source, part), &value["averageValue"]);
        put(&format!("{}AverageUtilization", part.prefix), &value["averageUtilization"]);
        put(&format!("{}Value", part.prefix), &value["value"]);
        made[*source] = Value::Object(to);
    }
    made
}

fn metric_to_second(metric: &Value, part: MetricPart) -> Value {
    let mut made = json!({"type": metric["type"]});
    for source in SOURCES.iter().filter(|source| metric[**source].is_object()) {
        let from = &metric[*source];
        let (mut to, mut value) = (Map::new(), Map::new());
        let put = |into: &mut Map<String, Value>, field: &str, given: &Value| {
            if !given.is_null() {
                into.insert(field.into(), given.clone());
            }
        };
        let utilization = &from[format!("{}AverageUtilization", part.prefix)];
        let (average, whole) = (&from[average_of(source, part)], &from[format!("{}Value", part.prefix)]);
        put(&mut to, "name", &from["name"]);
        put(&mut to, "container", &from["container"]);
        if !from["metricName"].is_null() {
            let mut named = json!({"name": from["metricName"]});
            if !from[selector_of(source)].is_null() {
                named["selector"] = from[selector_of(source)].clone();
            }
            to.insert("metric".into(), named);
        }
        put(&mut to, "describedObject", &from["target"]);
        // Version v1 cannot leave out the value of an object: its zero is none beside an average.
        let is_filler = *source == "object" && !average.is_null() && matches!(whole.as_str(), Some("0"));
        if !is_filler {
            put(&mut value, "value", whole);
        }
        put(&mut value, "averageValue", average);
        put(&mut value, "averageUtilization", utilization);
        if part.field == SPEC.field {
            let kind =
                match (utilization.is_null(), average.is_null() || *source == "external" && !whole.is_null())
                {
                    (false, _) => "Utilization",
                    (true, true) => "Value",
                    (true, false) => "AverageValue",
                };
            value.insert("type".into(), kind.into());
        }
        to.insert(part.field.into(), Value::Object(value));
        made[*source] = Value::Object(to);
    }
    made
}

fn selector_of(source: &str) -> &'static str {
    if source == "external" { "metricSelector" } else { "selector" }
}

fn average_of(source: &str, part: MetricPart) -> String {
    if source == "object" { "averageValue".into() } else { format!("{}AverageValue", part.prefix) }
}

/// Changes the case of the first letters of all field names: the annotation of the behavior has
/// those of Go.
fn recapitalized<I: Iterator<Item = char>>(value: &Value, case: fn(char) -> I) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| {
                    let mut letters = name.chars();
                    let first = letters.next().into_iter().flat_map(case);
                    (first.chain(letters).collect(), recapitalized(value, case))
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(|item| recapitalized(item, case)).collect(),
        other => other.clone(),
    }
}

/// The JSON in an annotation; null if there is none.
fn annotation(autoscaler: &Value, name: &str) -> Value {
    let text = autoscaler["metadata"]["annotations"][name].as_str().unwrap_or("null");
    serde_json::from_str(text).unwrap_or_default()
}

fn drop_annotations(autoscaler: &mut Value) {
    let Some(annotations) = autoscaler.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.retain(|name, _| !ANNOTATIONS.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata_mut(autoscaler).remove("annotations");
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(second: Value, first: Value) {
        let mut converted = second.clone();
        AutoscalerForm::First.convert(&mut converted);
        assert_eq!(converted, first);
        AutoscalerForm::Second.convert(&mut converted);
        assert_eq!(converted, second, "back again");
    }

    #[test]
    fn the_metric_of_the_processor_is_a_field_of_v1() {
        let target = json!({"type": "Utilization", "averageUtilization": 50});
        check(
            json!({"metadata": {"name": "a"}, "spec": {"metrics": [processor("target", &target)], "maxReplicas": 3}}),
            json!({"metadata": {"name": "a"}, "spec": {"targetCPUUtilizationPercentage": 50, "maxReplicas": 3}}),
        );
    }

    #[test]
    fn other_metrics_are_annotations_of_v1() {
        let pods = json!({"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}}});
        let external = json!({"type": "External", "external": {"metric": {"name": "queue", "selector": {}}, "target": {"type": "Value", "value": "7"}}});
        let object = json!({"type": "Object", "object": {
            "metric": {"name": "hits"}, "describedObject": {"kind": "Service", "name": "web"}, "target": {"type": "Value", "value": "9"}}});
        let behavior = json!({"scaleUp": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}});
        let status = json!({"currentReplicas": 1, "conditions": [{"type": "AbleToScale", "status": "True"}],
            "currentMetrics": [processor("current", &json!({"averageUtilization": 40, "averageValue": "1"}))]});
        let second = json!({"metadata": {}, "spec": {"metrics": [pods, external, object], "behavior": behavior}, "status": status});
        let mut first = second.clone();
        AutoscalerForm::First.convert(&mut first);
        let annotations = &first["metadata"]["annotations"];
        assert_eq!(
            annotations[BEHAVIOR],
            r#"{"ScaleUp":{"Policies":[{"PeriodSeconds":15,"Type":"Pods","Value":4}]}}"#
        );
        let metrics: Value = serde_json::from_str(annotations[METRICS].as_str().unwrap()).unwrap();
        assert_eq!(
            metrics[0],
            json!({"type": "Pods", "pods": {"metricName": "hits", "targetAverageValue": "5"}})
        );
        assert_eq!(first["status"]["currentCPUUtilizationPercentage"], 40);
        assert_eq!(first["spec"], json!({}));
        AutoscalerForm::Second.convert(&mut first);
        assert_eq!(first, second);
    }

    #[test]
    fn an_autoscaler_without_metrics_has_that_of_the_processor() {
        let mut autoscaler =
            json!({"spec": {"maxReplicas": 3, "behavior": {"scaleUp": {"selectPolicy": "Min"}}}});
        AutoscalerForm::Second.default(&mut autoscaler);
        assert_eq!(autoscaler["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
        assert_eq!(autoscaler["spec"]["minReplicas"], 1);
        assert_eq!(autoscaler["spec"]["behavior"]["scaleUp"]["selectPolicy"], "Min");
        assert_eq!(autoscaler["spec"]["behavior"]["scaleDown"]["policies"][0]["value"], 100);
    }
}
