//! Section write times: the part of an object's metadata that records its latest writes.

use jiff::Timestamp;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Write times by section, to the microsecond. Times in `metadata` are in seconds, and not by
/// section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExtendedMetadata {
    /// The latest write of each section, most recent first; sections never written are absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

/// A section of an object; writes are stamped by section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The spec.
    Spec,
    /// The status of a subnet.
    Status,
    /// The address part of an attachment's status.
    Address,
    /// The interface part of an attachment's status.
    Implementation,
    /// The report of the post-create program.
    ExecReport,
}

impl Section {
    /// Returns the name used in objects.
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
    /// Returns true if no write is recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the time of the latest write of a section.
    #[must_use]
    pub fn written(&self, section: Section) -> Option<Timestamp> {
        self.writes.iter().find(|write| write.section == section.name()).map(|write| write.server_time.0)
    }

    /// Records a write of a section and moves the section to the front.
    pub fn write(&mut self, section: Section, now: Timestamp) {
        self.writes.retain(|write| write.section != section.name());
        // Truncated to the precision of the wire format, so that it equals itself when read back.
        let now = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        self.writes.insert(0, SectionWrite { section: section.name().into(), server_time: MicroTime(now) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn latest_section_is_first_with_microseconds() {
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
