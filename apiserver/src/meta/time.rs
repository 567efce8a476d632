//! Times in metadata: to the second, in UTC.

use jiff::Timestamp;

/// The layout that Go names in its errors.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Formats a time as in objects.
pub(crate) fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time of RFC 3339, as objects have it; nothing for the zero of Go.
pub(super) fn read(text: &str) -> Result<Option<String>, String> {
    if let Some((rest, element)) = differs(text) {
        return Err(format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {element:?}"));
    }
    // Jiff reads second 60 as 59.
    let time = text.parse::<Timestamp>().ok().filter(|_| text.get(17..19) != Some("60"));
    let time = shown(time.ok_or_else(|| format!("parsing time {text:?}: out of range"))?);
    Ok((time != "0001-01-01T00:00:00Z").then_some(time))
}

/// Returns the first position at which a text leaves the layout: the remaining text, and the
/// element expected there. Jiff accepts more forms than Go.
fn differs(text: &str) -> Option<(&str, &'static str)> {
    let mut rest = text;
    for element in ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] {
        match after(rest, element) {
            Some(after) => rest = after,
            None => return Some((rest, element)),
        }
    }
    let zone = match rest.strip_prefix('.') {
        Some(digits) if digits.starts_with(|char: char| char.is_ascii_digit()) => {
            digits.trim_start_matches(|char: char| char.is_ascii_digit())
        }
        _ => rest,
    };
    let offset = zone.strip_prefix(['+', '-']).and_then(|zone| after(after(after(zone, "07")?, ":")?, "00"));
    (zone != "Z" && offset != Some("")).then_some((zone, "Z07:00"))
}

/// Returns the text after an element: after that many digits, or after the literal.
fn after<'a>(text: &'a str, element: &str) -> Option<&'a str> {
    if element.starts_with(|char: char| char.is_ascii_digit()) {
        let (digits, after) = text.split_at_checked(element.len())?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(after)
    } else {
        text.strip_prefix(element)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(read(text), Ok(expected.map(str::to_owned)), "{text}");
    }

    #[test]
    fn times() {
        check("2026-11-21T09:30:38Z", Some("2026-11-21T09:30:38Z"));
        check("2026-11-21T09:30:38.941890+00:00", Some("2026-11-21T09:30:38Z"));
        check("2026-11-21T01:30:00+02:00", Some("2026-11-20T23:30:00Z"));
        check("1969-12-31T23:59:59.5Z", Some("1969-12-31T23:59:59Z"));
        check("0001-01-01T00:00:00Z", None);
        for text in [
            "",
            "now",
            "2026-11-21",
            "2026-11-21T09:30Z",
            "2026-11-21t09:30:38z",
            "2026-11-21 09:30:38Z",
            "2026-11-21T09:30:38",
            "2026-11-21T09:30:60Z",
            "2026-13-21T09:30:38Z",
            "2026-11-21T09:30:38.Z",
            "2026-11-21T09:30:38+0200",
            "2026-11-21T09:30:38Z[UTC]",
            "2026-02-30T09:30:38Z",
            "2026-11-21T09:30:38.5",
        ] {
            assert!(read(text).unwrap_err().starts_with(&format!("parsing time {text:?}")), "{text}");
        }
        let why = |text: &str| read(text).unwrap_err().split_once("cannot parse ").unwrap().1.to_owned();
        assert_eq!(why("soon"), r#""soon" as "2006""#);
        assert_eq!(why("2026-11-21"), r#""" as "T""#);
        assert_eq!(why("2026-11-21T09:30:38+0200"), r#""+0200" as "Z07:00""#);
    }
}
