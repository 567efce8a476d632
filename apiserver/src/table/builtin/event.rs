//! Columns of Events, which two groups have under different names of their fields.

use jiff::Timestamp;
use serde_json::Value;

use super::{BuiltIn, Head, count, nothing_more};
use crate::table::age::{ZERO, age};
use crate::table::column::text;

pub(super) static EVENT: BuiltIn = BuiltIn {
    heads: &[
        Head::text("Last Seen", "When it was last seen."),
        Head::text("Type", "Normal or Warning."),
        Head::text("Reason", "Why it happened, in one word."),
        Head::text("Object", "What it is about."),
        Head::wide("Subobject", "The field of the object that it is about."),
        Head::wide("Source", "Who told of it."),
        Head::text("Message", "What happened, for people."),
        Head::wide("First Seen", "When it was first seen."),
        Head::wide("Count", "How often it was seen."),
        Head { format: "name", ..Head::wide("Name", crate::table::column::NAME) },
    ],
    cells: event,
    conditions: nothing_more,
};

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    // Of the core group first, of events.k8s.io second.
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| event.get(name)).unwrap_or(&Value::Null);
    let time = |names| field(names).as_str().filter(|time| !time.is_empty() && *time != ZERO);
    let first = time(["firstTimestamp", "deprecatedFirstTimestamp"]).or_else(|| time(["eventTime"; 2]));
    let mut last = time(["lastTimestamp", "deprecatedLastTimestamp"]).or(first);
    let mut times = count(field(["count", "deprecatedCount"])).max(1);
    if let Some(series) = event.get("series").filter(|series| series.is_object()) {
        (last, times) = (series["lastObservedTime"].as_str(), count(&series["count"]));
    }
    let about = field(["involvedObject", "regarding"]);
    let kind = about["kind"].as_str().unwrap_or_default().to_lowercase();
    let object = match about["name"].as_str() {
        Some(name) if !name.is_empty() => format!("{kind}/{name}"),
        _ => kind,
    };
    vec![
        age(last, now).into(),
        text(&event["type"]),
        text(&event["reason"]),
        object.into(),
        text(&about["fieldPath"]),
        source(event, field(["source", "deprecatedSource"])).into(),
        field(["message", "note"]).as_str().unwrap_or_default().trim().into(),
        age(first, now).into(),
        times.into(),
        text(&event["metadata"]["name"]),
    ]
}

fn source(event: &Value, source: &Value) -> String {
    let either = |old: &Value, names: [&str; 2]| {
        let new = names.into_iter().find_map(|name| event[name].as_str());
        old.as_str().filter(|text| !text.is_empty()).or(new).unwrap_or_default().to_owned()
    };
    let component = either(&source["component"], ["reportingComponent", "reportingController"]);
    let instance = either(&source["host"], ["reportingInstance"; 2]);
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}
