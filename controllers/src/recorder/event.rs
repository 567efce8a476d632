//! The Event object of Kubernetes.

use jiff::Timestamp;
use machinery_objects::{Kind, Labels, Object, ObjectKey, ResourceVersion, Scope};
use serde::{Deserialize, Serialize};

use super::Note;

/// An Event of Kubernetes (`v1`), limited to the fields that the recorder writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventObject {
    api_version: String,
    kind: String,
    metadata: EventMetadata,
    involved_object: InvolvedObject,
    reason: String,
    message: String,
    #[serde(rename = "type")]
    event_type: String,
    source: EventSourceRef,
    first_timestamp: String,
    last_timestamp: String,
    count: u32,
    reporting_component: String,
    reporting_instance: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventMetadata {
    name: String,
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InvolvedObject {
    api_version: String,
    kind: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct EventSourceRef {
    component: String,
}

/// Limit of a message in bytes; servers reject longer ones.
pub(super) const MAX_MESSAGE_LENGTH: usize = 1024;
pub(super) const MAX_REASON_LENGTH: usize = 128;

impl EventObject {
    /// Returns the kind of Events.
    ///
    /// # Panics
    /// Never: the names are valid.
    #[must_use]
    pub fn kind() -> Kind {
        Kind::new("v1", "Event", "events", Scope::Namespaced).expect("these names can be a kind's")
    }

    pub(super) fn of(note: &Note, key: &ObjectKey, text: &str, at: Timestamp, component: &str) -> Self {
        let about = &note.about;
        let namespace = about.key.namespace().unwrap_or_default().to_owned();
        Self {
            api_version: "v1".into(),
            kind: "Event".into(),
            metadata: EventMetadata {
                name: key.name().into(),
                namespace: key.namespace().unwrap_or_default().into(),
                resource_version: String::new(),
            },
            involved_object: InvolvedObject {
                api_version: about.kind.api_version().into(),
                kind: about.kind.name().into(),
                name: about.key.name().into(),
                namespace,
                uid: about.uid.as_ref().map(|uid| uid.as_str().to_owned()).unwrap_or_default(),
                resource_version: note.version.as_ref().map(ToString::to_string).unwrap_or_default(),
            },
            reason: note.reason.clone(),
            message: cut(text, MAX_MESSAGE_LENGTH),
            event_type: note.kind.name().into(),
            source: EventSourceRef { component: component.into() },
            first_timestamp: time(at),
            last_timestamp: time(at),
            count: 1,
            reporting_component: component.into(),
            reporting_instance: component.into(),
        }
    }

    /// Returns the number of occurrences.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the reason, one word.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Formats a time in whole seconds, as these fields require.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end =
        (0..=longest - '…'.len_utf8()).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    format!("{}…", &text[..end])
}

impl Object for EventObject {
    fn key(&self) -> ObjectKey {
        let namespace = Some(self.metadata.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        ObjectKey::new(namespace, &self.metadata.name).unwrap_or_default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(&self.metadata.resource_version)
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}
