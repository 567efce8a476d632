//! When the server wrote which part of an object.

use jiff::Timestamp;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the server notes of an object beside its metadata, whose times are to the second and say nothing of parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExtendedMetadata {
    /// When each section was written last, the latest first. Sections that were never written are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<SectionWrite>,
}

/// The latest write of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionWrite {
    /// Which section.
    pub section: String,
    /// When the server wrote it, by its own clock.
    pub server_time: MicroTime,
}

/// A part of an object whose writes are noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What is wanted.
    Spec,
    /// What is so, of a subnet.
    Status,
    /// Which address an attachment has.
    Address,
    /// Which interface an attachment has, and where.
    Implementation,
    /// What became of the command that runs when an interface was made.
    ExecReport,
}

impl Section {
    /// Its name in an object.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Status => "status",
            Self::Address => "status.address",
            Self::Implementation => "status.impl",
            Self::ExecReport => "status.execReport",
        }
    }
}

impl ExtendedMetadata {
    /// Whether nothing is noted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// When a section was written last.
    #[must_use]
    pub fn written(&self, section: Section) -> Option<Timestamp> {
        self.writes.iter().find(|write| write.section == section.name()).map(|write| write.server_time.0)
    }

    /// Notes that a section is written, which puts it first.
    pub fn write(&mut self, section: Section, now: Timestamp) {
        self.writes.retain(|write| write.section != section.name());
        // In what an object can hold, so that it is the same when it is read.
        let now = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        self.writes.insert(0, SectionWrite { section: section.name().into(), server_time: MicroTime(now) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_latest_section_is_first_and_times_are_to_the_microsecond() {
        let mut extended = ExtendedMetadata::default();
        let at = |nanoseconds: i128| Timestamp::from_nanosecond(nanoseconds).unwrap();
        extended.write(Section::Spec, at(1_000_000_001));
        extended.write(Section::Address, at(2_000_000_999));
        extended.write(Section::Spec, at(3_000_001_500));
        let json = json!({"writes": [
            {"section": "spec", "serverTime": "1970-01-01T00:00:03.000001Z"},
            {"section": "status.address", "serverTime": "1970-01-01T00:00:02.000000Z"},
        ]});
        assert_eq!(serde_json::to_value(&extended).unwrap(), json);
        assert_eq!(serde_json::from_value::<ExtendedMetadata>(json).unwrap(), extended);
        assert_eq!(extended.written(Section::Spec), Some(at(3_000_001_000)));
        assert_eq!(extended.written(Section::Implementation), None);
    }
}
