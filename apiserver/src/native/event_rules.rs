//! Validation of Events: lenient in the core group, strict in `events.k8s.io`. Errors name the
//! fields of the core group, as in Kubernetes.

use serde_json::Value;

use super::event::EventGroup;
use crate::invalid::{FieldError, Problem};
use crate::meta::names::label_key;
use crate::strategy::meta_text;

/// Maximum length of `reportingInstance`, `action` and `reason`, in bytes.
const MAX_NAME: usize = 128;
/// Maximum length of `message`, in bytes.
const MAX_MESSAGE: usize = 1024;

/// Namespaces in which an Event may concern a cluster-scoped object.
const DEFAULT: &str = "default";
const SYSTEM: &str = "kube-system";

const DIFFERS: &str = "does not match event.namespace";

/// An Event in the form of its group.
struct EventView<'a> {
    group: EventGroup,
    event: &'a Value,
}

impl EventGroup {
    /// Returns the errors of an Event written in the form of the group.
    pub(super) fn errors(self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let view = EventView { group: self, event: new };
        let mut errors = view.consistent();
        if self == Self::New {
            match old {
                Some(old) => errors.extend(view.immutable(&EventView { group: self, event: old })),
                None => errors.extend(view.strict()),
            }
        }
        errors
    }
}

impl EventView<'_> {
    /// Returns a field by its name in the core group.
    fn field(&self, core: &str) -> &Value {
        &self.event[self.group.name_of(core)]
    }

    fn text(&self, core: &str) -> &str {
        self.field(core).as_str().unwrap_or_default()
    }

    fn is_set(&self, core: &str) -> bool {
        !self.field(core).is_null()
    }

    /// Errors of every Event; those with an `eventTime` follow the new rules.
    fn consistent(&self) -> Vec<FieldError> {
        let namespace = meta_text(self.event, "namespace");
        let about = self.field("involvedObject")["namespace"].as_str().unwrap_or_default();
        let differs = || invalid("involvedObject.namespace", about, DIFFERS);
        if !self.is_set("eventTime") {
            // An Event about a cluster-scoped object is in the default namespace.
            let fits = if about.is_empty() { matches!(namespace, "" | DEFAULT) } else { about == namespace };
            return (!fits).then(differs).into_iter().collect();
        }
        let mut errors = Vec::new();
        if about.is_empty() && namespace != DEFAULT && namespace != SYSTEM {
            errors.push(differs());
        }
        let controller = self.text("reportingComponent");
        let name = match self.group {
            EventGroup::Core => "reportingComponent",
            EventGroup::New => "reportingController",
        };
        errors.extend(controller.is_empty().then(|| required(name)));
        errors.extend(label_key(controller).into_iter().map(|why| invalid(name, controller, &why)));
        for field in ["reportingInstance", "action", "reason"] {
            errors.extend(self.text(field).is_empty().then(|| required(field)));
            errors.extend(self.too_long(field, MAX_NAME));
        }
        errors.extend(self.too_long("message", MAX_MESSAGE));
        errors
    }

    fn too_long(&self, field: &str, most: usize) -> Option<FieldError> {
        let is = self.text(field).len() > most;
        is.then(|| invalid(field, "", &format!("can have at most {most} characters")))
    }

    /// Errors of a new Event of `events.k8s.io`.
    fn strict(&self) -> Vec<FieldError> {
        let mut errors = self.series();
        errors.extend((!self.is_set("eventTime")).then(|| required("eventTime")));
        let kind = self.text("type");
        if !matches!(kind, "Normal" | "Warning") {
            errors.push(invalid("type", "", &format!("has invalid value: {kind}")));
        }
        let source = self.field("source");
        let has_source =
            ["component", "host"].iter().any(|name| source[name].as_str().is_some_and(|it| !it.is_empty()));
        let deprecated = [
            ("firstTimestamp", self.is_set("firstTimestamp")),
            ("lastTimestamp", self.is_set("lastTimestamp")),
            ("count", self.field("count").as_i64().is_some_and(|count| count != 0)),
            ("source", has_source),
        ];
        let set = deprecated.into_iter().filter(|(_, is_set)| *is_set);
        errors.extend(set.map(|(field, _)| invalid(field, "", "needs to be unset")));
        errors
    }

    fn series(&self) -> Vec<FieldError> {
        let series = self.field("series");
        if series.is_null() {
            return Vec::new();
        }
        let few = series["count"].as_i64().unwrap_or_default() < 2;
        let unseen = series["lastObservedTime"].is_null();
        let errors = [
            few.then(|| invalid("series.count", "", "should be at least 2")),
            unseen.then(|| required("series.lastObservedTime")),
        ];
        errors.into_iter().flatten().collect()
    }

    /// Errors of an update through `events.k8s.io`: only the series may change.
    fn immutable(&self, old: &Self) -> Vec<FieldError> {
        const FIELDS: [(&str, &str); 13] = [
            ("involvedObject", "involvedObject"),
            ("reason", "reason"),
            ("message", "message"),
            ("source", "source"),
            ("firstTimestamp", "firstTimestamp"),
            ("lastTimestamp", "lastTimestamp"),
            ("count", "count"),
            ("type", "type"),
            ("eventTime", "eventTime"),
            ("action", "action"),
            ("related", "related"),
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
        ];
        let mut errors = if self.field("series") == old.field("series") { Vec::new() } else { self.series() };
        let changed = FIELDS.into_iter().filter(|(field, _)| self.field(field) != old.field(field));
        errors.extend(changed.map(|(field, name)| {
            FieldError::new(name, Problem::Invalid(self.field(field).clone()), "field is immutable")
        }));
        errors
    }
}

fn required(field: &str) -> FieldError {
    FieldError::new(field, Problem::Required, "")
}

fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
    FieldError::new(field, Problem::Invalid(value.into()), detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(group: EventGroup, new: &Value, old: Option<&Value>, expected: &[&str]) {
        let found: Vec<String> = group.errors(new, old).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{new}");
    }

    fn with(event: &Value, field: &str, value: Value) -> Value {
        let mut event = event.clone();
        event[field] = value;
        event
    }

    #[test]
    fn an_event_is_in_the_namespace_of_its_object() {
        let at = |namespace: &str, about: &str| json!({"metadata": {"namespace": namespace}, "involvedObject": {"namespace": about}});
        let differs = |about: &str| format!("involvedObject.namespace: Invalid value: {about:?}: {DIFFERS}");
        check(EventGroup::Core, &at("a", "a"), None, &[]);
        check(EventGroup::Core, &at("default", ""), None, &[]);
        check(EventGroup::Core, &at("a", "b"), None, &[&differs("b")]);
        check(EventGroup::Core, &at("kube-system", ""), None, &[&differs("")]);
    }

    #[test]
    fn an_event_with_a_time_names_its_controller_and_action() {
        let event = json!({"metadata": {"namespace": "kube-system"}, "eventTime": "2026-11-21T09:30:38.000000Z",
            "reportingComponent": "a/b", "reportingInstance": "i", "action": "A", "reason": "R"});
        check(EventGroup::Core, &event, None, &[]);
        let long = with(&event, "message", "m".repeat(1025).into());
        check(
            EventGroup::Core,
            &long,
            None,
            &["message: Invalid value: \"\": can have at most 1024 characters"],
        );
        let bare = json!({"metadata": {"namespace": "a"}, "eventTime": "2026-11-21T09:30:38.000000Z"});
        let name = label_key("");
        let mut expected = vec![
            format!("involvedObject.namespace: Invalid value: \"\": {DIFFERS}"),
            "reportingComponent: Required value".into(),
        ];
        expected.extend(name.iter().map(|why| format!("reportingComponent: Invalid value: \"\": {why}")));
        expected.extend(
            ["reportingInstance", "action", "reason"].map(|field| format!("{field}: Required value")),
        );
        check(EventGroup::Core, &bare, None, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn events_of_the_new_group_are_strict_and_immutable() {
        let event = json!({"metadata": {"namespace": "default"}, "eventTime": "2026-11-21T09:30:38.000000Z",
            "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal"});
        check(EventGroup::New, &event, None, &[]);
        let odd = with(&with(&event, "deprecatedCount", 3.into()), "type", "Odd".into());
        let series = with(&odd, "series", json!({"count": 1}));
        check(
            EventGroup::New,
            &series,
            None,
            &[
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "type: Invalid value: \"\": has invalid value: Odd",
                "count: Invalid value: \"\": needs to be unset",
            ],
        );
        let next = json!({"count": 2, "lastObservedTime": "2026-11-21T09:30:38.000000Z"});
        check(EventGroup::New, &with(&event, "series", next), Some(&event), &[]);
        check(
            EventGroup::New,
            &with(&with(&event, "note", "n".into()), "reportingInstance", "j".into()),
            Some(&event),
            &[
                "message: Invalid value: \"n\": field is immutable",
                "reportingInstance: Invalid value: \"j\": field is immutable",
            ],
        );
    }
}
