//! Durations of `format: duration` in schemas, including units in words.

use super::time::parse_duration;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * 3600 * SECOND;

/// Units. The last form of each row may be a prefix: `microseconds`.
const UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", SECOND),
    (&["m"], "min", 60 * SECOND),
    (&["h", "hr"], "hour", 3600 * SECOND),
    (&["d"], "day", DAY),
    (&["w", "wk"], "week", 7 * DAY),
];

/// Parses a value of `format: duration` to nanoseconds: Go's format, `1h30m`, or Scala's words, `2
/// weeks 3 min`.
///
/// Like Kubernetes, finds numbers with units anywhere, ignores other text, and wraps on overflow of
/// 64 bits. The CEL function `duration` accepts Go's format only.
pub fn declared_duration(text: &str) -> Option<i64> {
    parse_duration(text).or_else(|| in_words(text))
}

fn in_words(text: &str) -> Option<i64> {
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (number, after) = split(&rest[start..], |c| c.is_ascii_digit());
        rest = after;
        let after = after.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let (unit, after) = split(after, |c| c.is_ascii_alphabetic() || c == 'µ');
        if unit.is_empty() {
            continue;
        }
        rest = after;
        let number: i64 = number.parse().ok()?;
        let unit = unit.to_lowercase();
        let known =
            UNITS.iter().find(|(short, long, _)| short.contains(&unit.as_str()) || unit.starts_with(long));
        if let Some((.., scale)) = known {
            total = Some(total.unwrap_or(0).wrapping_add(number.wrapping_mul(*scale)));
        }
    }
    total
}

fn split(text: &str, is: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_words_are_parsed() {
        for (text, seconds) in [
            ("1h30m", 5400),
            ("1d", 86_400),
            ("2 weeks", 14 * 86_400),
            ("30 min", 1800),
            ("1 day 2hr, 3 Minutes", 86_400 + 7200 + 180),
            ("about 3 seconds", 3),
            ("12 5m", 300),
            ("-1d", 86_400),
            ("1.5d", 5 * 86_400),
            ("3 months 1s", 1),
        ] {
            assert_eq!(declared_duration(text), Some(seconds * SECOND), "{text}");
        }
        for text in ["", "day", "3", "3 months", "99999999999999999999d 1s"] {
            assert_eq!(declared_duration(text), None, "{text}");
        }
    }
}
