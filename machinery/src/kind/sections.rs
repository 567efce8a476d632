//! Write times of sections, recorded by the server.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The annotation of a definition with its sections, as a `KindOf` reads it.
pub(super) const ANNOTATION: &str = "machinery.dev/sections";

/// Times of the latest write of each section of an object, to the microsecond and by the server's
/// clock: the field named by `sections` in [`kinds!`](crate::kinds). Times in `metadata` are in
/// seconds, and not by section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SectionWrites {
    /// The latest write of each section, most recent first; sections never written are absent.
    // Keyed by section: server-side apply merges sections instead of replacing the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["section"]))]
    pub writes: Vec<SectionWrite>,
}

/// The latest write of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionWrite {
    /// Name of the section.
    pub section: String,
    /// Time of the write, by the server's clock.
    pub server_time: MicroTime,
}

/// The sections of a kind, and the field with their write times.
#[derive(Clone, Debug, Default)]
pub(super) struct SectionPaths {
    pub(super) at: String,
    /// Names, with the paths of their fields.
    pub(super) sections: Vec<(String, Vec<String>)>,
}

impl SectionWrites {
    /// Returns true if no write is recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the time of the latest write of a section.
    #[must_use]
    pub fn written(&self, section: impl AsRef<str>) -> Option<Timestamp> {
        let section = section.as_ref();
        self.writes.iter().find(|write| write.section == section).map(|write| write.server_time.0)
    }

    /// Records a write of a section as the server does, for tests: the section moves to the front.
    pub fn write(&mut self, section: impl AsRef<str>, now: Timestamp) {
        let section = section.as_ref();
        self.writes.retain(|write| write.section != section);
        // Truncated to the precision of the wire format, so that it equals itself when read back.
        let now = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        self.writes.insert(0, SectionWrite { section: section.into(), server_time: MicroTime(now) });
    }
}

impl SectionPaths {
    pub(super) fn annotation(&self) -> Option<String> {
        let Self { at, sections } = self;
        let sections: Vec<_> =
            sections.iter().map(|(name, paths)| json!({"name": name, "paths": paths})).collect();
        let is_used = !at.is_empty() || !sections.is_empty();
        is_used.then(|| json!({"at": at, "sections": sections}).to_string())
    }
}
