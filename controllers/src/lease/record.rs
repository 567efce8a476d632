//! The election record of a Lease: the fields that client-go writes.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The five fields of an election. Two records are equal if there was no renewal between them;
/// other fields of the object do not matter.
///
/// The values are kept as read, since other clients may write malformed ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeaseRecord([Value; 5]);

const FIELDS: [&str; 5] =
    ["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"];
const HOLDER: usize = 0;
const DURATION: usize = 1;
const ACQUIRED: usize = 2;
const RENEWED: usize = 3;
const TRANSITIONS: usize = 4;

/// Maximum of duration and transitions, which have 32 bits in a Lease.
const MOST: u64 = i32::MAX as u64;

impl LeaseRecord {
    pub(super) fn of(spec: Option<&Map<String, Value>>) -> Self {
        let field = |name| spec.and_then(|spec| spec.get(name)).cloned().unwrap_or(Value::Null);
        Self(FIELDS.map(field))
    }

    /// Creates the record of a new holder.
    pub(crate) fn held(by: &str, duration: Duration, epoch: u64, now: Timestamp) -> Self {
        let now: Value = micro_time(now).into();
        Self([by.into(), duration.as_secs().into(), now.clone(), now, epoch.into()])
    }

    /// Returns the record of a renewal.
    pub(crate) fn renewed(&self, duration: Duration, now: Timestamp) -> Self {
        let mut renewed = self.clone();
        renewed.0[DURATION] = duration.as_secs().into();
        renewed.0[RENEWED] = micro_time(now).into();
        renewed
    }

    /// Returns the record of a release. It has a duration of one second, as client-go writes it,
    /// for readers that ignore an empty identity.
    pub(crate) fn released(&self, now: Timestamp) -> Self {
        let epoch = self.epoch().unwrap_or_default();
        Self::held("", Duration::from_secs(1), epoch, now)
    }

    /// Writes the record into a spec, and preserves other fields.
    pub(super) fn put(&self, spec: &mut Map<String, Value>) {
        for (name, value) in FIELDS.iter().zip(&self.0) {
            spec.insert((*name).into(), value.clone());
        }
    }

    pub(crate) fn holder(&self) -> Option<&str> {
        self.0[HOLDER].as_str().filter(|holder| !holder.is_empty())
    }

    /// Returns whether the Lease is free. An identity that is no string counts as held.
    pub(crate) fn is_free(&self) -> bool {
        matches!(&self.0[HOLDER], Value::Null) || self.0[HOLDER].as_str() == Some("")
    }

    /// Returns the lease duration, if valid.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let seconds = self.0[DURATION].as_u64().filter(|seconds| (1..=MOST).contains(seconds))?;
        Some(Duration::from_secs(seconds))
    }

    pub(crate) fn acquired(&self) -> Option<&str> {
        self.0[ACQUIRED].as_str()
    }

    pub(crate) fn renewed_at(&self) -> Option<&str> {
        self.0[RENEWED].as_str()
    }

    /// Returns the number of transitions; `None` if malformed.
    pub(crate) fn epoch(&self) -> Option<u64> {
        match &self.0[TRANSITIONS] {
            Value::Null => Some(0),
            count => count.as_u64().filter(|count| *count <= MOST),
        }
    }

    /// Returns the epoch of the next holder. `None` at the maximum, as a repeated epoch would not
    /// distinguish holders.
    pub(crate) fn next_epoch(&self) -> Option<u64> {
        self.epoch().filter(|epoch| *epoch < MOST).map(|epoch| epoch + 1)
    }
}

/// Formats a time as client-go: UTC, always six fractional digits.
fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn malformed_fields_count_as_absent() {
        let check =
            |spec: Value, free: bool, duration: Option<u64>, epoch: Option<u64>, next: Option<u64>| {
                let record = LeaseRecord::of(spec.as_object());
                assert_eq!(
                    (record.is_free(), record.epoch(), record.next_epoch()),
                    (free, epoch, next),
                    "{spec}"
                );
                assert_eq!(record.duration(), duration.map(Duration::from_secs), "{spec}");
            };
        check(json!(null), true, None, Some(0), Some(1));
        check(json!({"holderIdentity": "", "leaseDurationSeconds": 1}), true, Some(1), Some(0), Some(1));
        check(json!({"holderIdentity": 7, "leaseDurationSeconds": 0}), false, None, Some(0), Some(1));
        check(
            json!({"holderIdentity": "a", "leaseDurationSeconds": -1, "leaseTransitions": 6}),
            false,
            None,
            Some(6),
            Some(7),
        );
        check(json!({"leaseDurationSeconds": 1e30, "leaseTransitions": -1}), true, None, None, None);
        check(json!({"leaseDurationSeconds": "9", "leaseTransitions": "6"}), true, None, None, None);
        check(json!({"leaseTransitions": 2_147_483_647}), true, None, Some(MOST), None);
        check(
            json!({"leaseTransitions": 2_147_483_648_u64, "leaseDurationSeconds": 2_147_483_647}),
            true,
            Some(MOST),
            None,
            None,
        );
    }

    #[test]
    fn times_have_the_format_of_client_go() {
        let check = |text: &str, expected: &str| assert_eq!(micro_time(text.parse().unwrap()), expected);
        check("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z");
        check("2026-11-22T21:30:00.120+01", "2026-11-22T20:30:00.120000Z");
        check("2026-11-22T20:30:00.123456789Z", "2026-11-22T20:30:00.123456Z");
    }
}
