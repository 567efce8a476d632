//! Dates, times and spans of time.

use std::sync::LazyLock;

use regex::Regex;

/// `2006-01-02`, a day that was or will be.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let number = |text: &str, width: usize| {
        let digits = text.len() == width && text.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `2006-01-02T15:04:05.999Z`, in either case; a leap second is none.
pub(super) fn is_date_time(text: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        let clock = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
        let whole = format!("^{clock}(?:.[0-9]+)?(?:z|[+-][0-9]{{2}}:[0-9]{{2}})$");
        Regex::new(&whole).expect("it is a constant")
    });
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    parts.next().is_some_and(is_date) && parts.next().is_some_and(|time| TIME.is_match(time))
}

/// `1h30m` as Go has it, or words as Scala has them: `2 hours 3 min`.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    static SPANS: LazyLock<Regex> = LazyLock::new(|| {
        let number = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)";
        let whole = format!("^[+-]?(?:0|(?:{number}(?:ns|us|µs|μs|ms|s|m|h))+)$");
        Regex::new(&whole).expect("it is a constant")
    });
    SPANS.is_match(text) && fits(text)
}

/// Whether a span of Go's is one of 64 bits in nanoseconds.
fn fits(text: &str) -> bool {
    let mut sum = 0.0_f64;
    let mut rest = text.trim_start_matches(['+', '-']);
    while let Some(split) = rest.find(|c: char| !c.is_ascii_digit() && c != '.') {
        let (number, after) = rest.split_at(split);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let number: f64 = format!("0{number}").parse().unwrap_or(f64::INFINITY);
        sum += number * nanoseconds(unit).unwrap_or_default();
        rest = after;
    }
    sum <= 9_223_372_036_854_775_807.0
}

fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// Anywhere a number and a unit; a number that is no integer of 64 bits spoils it.
fn is_worded_duration(text: &str) -> bool {
    static SPAN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("it is a constant"));
    /// Short forms are whole, the last of each line may go on: `microseconds`.
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let mut known = false;
    for span in SPAN.captures_iter(text) {
        if span[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = span[2].to_lowercase();
        known |= UNITS.iter().any(|(short, long)| short.contains(&unit.as_str()) || unit.starts_with(long));
    }
    known
}
