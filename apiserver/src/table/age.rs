//! Ages of objects for tables: `5s`, `3m20s`, `2d`.

use jiff::Timestamp;
use serde_json::Value;

/// Parses a time in the RFC 3339 form that Kubernetes writes. Looser forms are rejected.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20
        && bytes.iter().take(19).zip(b"dddd-dd-ddTdd:dd:dd").all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            _ => byte == shape,
        });
    if shaped { text.parse().ok() } else { None }
}

/// Formats the age of a timestamp: `<unknown>` for none or for Go's zero time, `<invalid>` for an
/// unparseable one.
pub(super) fn age(value: Option<&str>, now: Timestamp) -> String {
    let Some(text) = value.filter(|text| !text.is_empty() && *text != ZERO) else {
        return "<unknown>".into();
    };
    timestamp(text).map_or_else(|| "<invalid>".into(), |then| elapsed(then, now))
}

/// The age of an object.
pub(super) fn object_age(object: &Value, now: Timestamp) -> String {
    age(object["metadata"]["creationTimestamp"].as_str(), now)
}

/// Go's zero time, which stands for no time.
pub(super) const ZERO: &str = "0001-01-01T00:00:00Z";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;
/// Go's longest duration.
const LONGEST: i64 = i64::MAX / 1_000_000_000;

/// Formats a duration.
pub(super) fn elapsed_seconds(seconds: i64) -> String {
    shown(seconds.min(LONGEST))
}

/// Formats two or three significant digits. Two seconds in the future count as now: clocks differ.
pub(super) fn elapsed(then: Timestamp, now: Timestamp) -> String {
    elapsed_seconds(now.duration_since(then).as_secs())
}

fn shown(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{part}"),
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s / MINUTE % 60, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s / HOUR % 24, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s / DAY % 365, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T00:00:00Z";

    fn check(then: &str, expected: &str) {
        let now = timestamp(NOW).expect("a time");
        assert_eq!(age(Some(then), now), expected, "{then}");
    }

    #[test]
    fn two_or_three_digits() {
        check("2026-01-02T00:00:02Z", "<invalid>");
        check("2026-01-02T00:00:01Z", "0s");
        check("2026-01-01T23:58:01Z", "119s");
        check("2026-01-01T23:58:00Z", "2m");
        check("2026-01-01T23:56:40Z", "3m20s");
        check("2026-01-01T23:50:00Z", "10m");
        check("2026-01-01T21:00:01Z", "179m");
        check("2026-01-01T20:45:00Z", "3h15m");
        check("2026-01-01T16:00:00Z", "8h");
        check("2025-12-31T00:00:01Z", "47h");
        check("2025-12-31T00:00:00Z", "2d");
        check("2025-12-29T22:00:00Z", "3d2h");
        check("2025-12-25T00:00:00Z", "8d");
        check("2024-01-04T00:00:00Z", "729d");
        check("2024-01-02T12:00:00Z", "2y");
        check("2024-01-01T12:00:00Z", "2y1d");
        check("2022-12-01T00:00:00Z", "3y33d");
        check("2010-01-02T00:00:00Z", "16y");
        check("0001-01-02T00:00:00Z", "292y");
    }

    #[test]
    fn unparseable_times_are_shown_as_invalid() {
        check("", "<unknown>");
        check(ZERO, "<unknown>");
        for text in [
            "yesterday",
            "2026-01-01",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00Z",
        ] {
            check(text, "<invalid>");
        }
        check("2026-01-01T23:59:00.123456Z", "59s");
        check("2026-01-02T01:59:00+02:00", "60s");
    }
}
