//! Time formats of the built-in kinds: stricter than RFC 3339, except for the hour.

use std::fmt::Write as _;

/// A time since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KubeTime {
    pub(crate) seconds: i64,
    /// Less than 10^9.
    pub(crate) nanos: u32,
}

/// The precision of a time field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    /// Exactly six decimals.
    Micros,
}

impl KubeTime {
    /// The beginning of the year 1, Go's zero time.
    pub(crate) const NONE: Self = Self { seconds: -62_135_596_800, nanos: 0 };

    /// Parses a time, with Go's error messages.
    pub(crate) fn parse(text: &str, precision: Precision) -> Result<Self, String> {
        let mut parser = Parser { whole: text, at: 0, precision };
        let year = parser.number("2006", 4, i64::MAX, "year")?;
        parser.literal("-")?;
        let month = parser.number("01", 2, 12, "month")?;
        if month == 0 {
            return Err(parser.out_of_range("month"));
        }
        parser.literal("-")?;
        let day = parser.number("02", 2, i64::MAX, "day")?;
        parser.literal("T")?;
        let hour = parser.hour()?;
        parser.literal(":")?;
        let minute = parser.number("04", 2, 59, "minute")?;
        parser.literal(":")?;
        let second = parser.number("05", 2, 59, "second")?;
        let nanos = parser.fraction()?;
        let offset = parser.offset()?;
        parser.end()?;
        if day < 1 || day > days_in(year, month) {
            return Err(parser.out_of_range("day"));
        }
        let seconds = days_before(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Ok(Self { seconds, nanos })
    }

    /// Formats the time in UTC; `None` if the year does not have four digits.
    pub(crate) fn format(self, precision: Precision) -> Option<String> {
        let (year, month, day) = date(self.seconds.div_euclid(86_400))?;
        let second = self.seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if precision == Precision::Micros {
            write!(text, ".{:06}", self.nanos / 1000).ok()?;
        }
        text.push('Z');
        Some(text)
    }
}

struct Parser<'a> {
    whole: &'a str,
    /// Offset of the next byte. All bytes before it are ASCII.
    at: usize,
    precision: Precision,
}

impl Parser<'_> {
    fn rest(&self) -> &[u8] {
        self.whole.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn number(&mut self, layout: &str, digits: usize, most: i64, what: &str) -> Result<i64, String> {
        let number =
            self.rest().get(..digits).and_then(decimal).ok_or_else(|| self.cannot(self.at, layout))?;
        self.at += digits;
        if number > most { Err(self.out_of_range(what)) } else { Ok(number) }
    }

    /// Go accepts a single digit here, unlike in the other fields.
    fn hour(&mut self) -> Result<i64, String> {
        let two = self.rest().get(1).is_some_and(u8::is_ascii_digit);
        self.number("15", if two { 2 } else { 1 }, 23, "hour")
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        if !self.rest().starts_with(literal.as_bytes()) {
            return Err(self.cannot(self.at, literal));
        }
        self.at += literal.len();
        Ok(())
    }

    fn fraction(&mut self) -> Result<u32, String> {
        let rest = self.rest();
        let point = matches!(rest.first(), Some(b'.' | b','));
        let digits = rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let taken = match self.precision {
            Precision::Seconds if point && digits > 0 => digits,
            Precision::Seconds => return Ok(0),
            Precision::Micros if point && digits >= 6 => 6,
            Precision::Micros => return Err(self.cannot(self.at, ".000000")),
        };
        let nanos = (0..9).fold(0, |nanos, place| {
            let digit = if place < taken { u32::from(rest[1 + place] - b'0') } else { 0 };
            nanos * 10 + digit
        });
        self.at += 1 + taken;
        Ok(nanos)
    }

    /// The offset from UTC in seconds.
    fn offset(&mut self) -> Result<i64, String> {
        let rest = self.rest();
        if rest.first() == Some(&b'Z') {
            self.at += 1;
            return Ok(0);
        }
        let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, ..] = *rest else {
            return Err(self.cannot(self.at, "Z07:00"));
        };
        let (Some(hours), Some(minutes)) = (decimal(&[h1, h2]), decimal(&[m1, m2])) else {
            return Err(self.cannot(self.at, "Z07:00"));
        };
        self.at += 6;
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        let offset = hours * 3600 + minutes * 60;
        Ok(if sign == b'-' { -offset } else { offset })
    }

    fn end(&self) -> Result<(), String> {
        let rest = self.whole.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        Err(format!("parsing time {}: extra text: {}", quoted(self.whole), quoted(rest)))
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.whole))
    }

    fn cannot(&self, at: usize, layout: &str) -> String {
        let whole = match self.precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        let rest = self.whole.get(at..).unwrap_or_default();
        format!(
            "parsing time {} as \"{whole}\": cannot parse {} as \"{layout}\"",
            quoted(self.whole),
            quoted(rest)
        )
    }
}

fn decimal(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

/// Go's quoting in parse errors: bytes other than printable ASCII are escaped in hexadecimal.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' | 0x7f => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date. Years begin in March, so that a leap day is the last day of a
/// year.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// The date `days` after 1970-01-01, if its year has four digits.
fn date(days: i64) -> Option<(i64, i64, i64)> {
    if !(days_before(0, 1, 1)..days_before(10_000, 1, 1)).contains(&days) {
        return None;
    }
    // A first estimate, which errs towards 1970 by one year in 366.
    let mut year = 1970 + days / 366;
    while days_before(year, 1, 1) > days {
        year -= 1;
    }
    while days_before(year + 1, 1, 1) <= days {
        year += 1;
    }
    let mut day = days - days_before(year, 1, 1) + 1;
    let mut month = 1;
    while day > days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    Some((year, month, day))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The result of Go's decoder for each text, recorded by `record/bodies`.
    #[test]
    fn times_are_read_as_go_reads_them() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/bodies/times.json")).unwrap();
        for (text, outcomes) in recorded.as_object().unwrap() {
            for (form, precision) in [("Time", Precision::Seconds), ("MicroTime", Precision::Micros)] {
                let (said, expected) = match KubeTime::parse(text, precision) {
                    Ok(moment) if moment == KubeTime::NONE => ("null".to_owned(), &outcomes[form]["is"]),
                    Ok(moment) => (moment.format(precision).unwrap_or_default(), &outcomes[form]["is"]),
                    Err(error) => (error, &outcomes[form]["error"]),
                };
                assert_eq!(said, expected.as_str().unwrap_or("the other"), "{text:?} as {form}: {outcomes}");
            }
        }
    }

    #[test]
    fn years_of_five_digits_are_not_formatted() {
        for (seconds, expected) in [
            (253_402_300_799, Some("9999-12-31T23:59:59Z")),
            (253_402_300_800, None),
            (-62_167_219_200, Some("0000-01-01T00:00:00Z")),
            (-62_167_219_201, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            assert_eq!(KubeTime { seconds, nanos: 0 }.format(Precision::Seconds).as_deref(), expected);
        }
    }

    proptest! {
        #[test]
        fn formatted_times_parse_to_the_same_time(seconds in -62_167_219_200_i64..253_402_300_800, micros in 0..1_000_000_u32) {
            let moment = KubeTime { seconds, nanos: micros * 1000 };
            let text = moment.format(Precision::Micros).unwrap();
            prop_assert_eq!(KubeTime::parse(&text, Precision::Micros), Ok(moment));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = KubeTime::parse(&text, Precision::Seconds);
            let _ = KubeTime::parse(&text, Precision::Micros);
        }
    }
}
