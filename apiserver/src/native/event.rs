//! Events: the same objects in two groups, core and `events.k8s.io`, with different field names.

use serde_json::Value;

use super::zeros;
use crate::builtin::table;
use crate::invalid::FieldError;
use crate::kind::KindHooks;

/// The API group that an Event is converted to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EventGroup {
    Core,
    New,
}

/// Renamed fields: the name in core, and in `events.k8s.io`.
const FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

impl EventGroup {
    /// Returns the name in this group of a field by its name in core.
    pub(super) fn name_of(self, core: &str) -> &str {
        match self {
            Self::Core => core,
            Self::New => FIELDS.into_iter().find(|(name, _)| *name == core).map_or(core, |(_, new)| new),
        }
    }

    const fn api_version(self) -> &'static str {
        match self {
            Self::Core => "v1",
            Self::New => "events.k8s.io/v1",
        }
    }
}

impl KindHooks for EventGroup {
    /// An unset `eventTime` is null, as other times; Go writes both.
    fn default(&self, event: &mut Value) {
        if let Some(of) = table().kind_of(self.api_version(), "Event") {
            zeros::fill(of, event);
        }
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.errors(new, old)
    }

    fn convert(&self, event: &mut Value) {
        let Some(event) = event.as_object_mut() else { return };
        for (core, new) in FIELDS {
            let (from, to) = if *self == Self::Core { (new, core) } else { (core, new) };
            if let Some(value) = event.remove(from) {
                event.insert(to.into(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_the_same_in_both_forms() {
        let core = json!({"involvedObject": {"name": "a"}, "message": "m", "count": 2, "reason": "R"});
        let mut event = core.clone();
        EventGroup::New.convert(&mut event);
        assert_eq!(
            event,
            json!({"regarding": {"name": "a"}, "note": "m", "deprecatedCount": 2, "reason": "R"})
        );
        EventGroup::Core.convert(&mut event);
        assert_eq!(event, core);
    }
}
