//! The formats `date` and `date-time`.

use std::sync::LazyLock;

use regex::Regex;

/// `2006-01-02`, a valid day of the calendar.
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

/// `2006-01-02T15:04:05.999Z`, in either case. Leap seconds are rejected.
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
