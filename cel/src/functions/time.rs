//! Timestamps, in nanoseconds since 1970 UTC, and durations, in nanoseconds of 64 bits.

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

use super::Function;
use crate::value::{Failure, Outcome, Val, fail, no_overload};

const SECOND: i128 = 1_000_000_000;
/// The first second of the year 1, and the last of 9999.
const FIRST: i128 = -62_135_596_800 * SECOND;
const LAST: i128 = 253_402_300_800 * SECOND - 1;

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "getFullYear" => |args| part(args.values, |it| it.year().into()),
        "getMonth" => |args| part(args.values, |it| i64::from(it.month()) - 1),
        "getDate" => |args| part(args.values, |it| it.day().into()),
        "getDayOfMonth" => |args| part(args.values, |it| i64::from(it.day()) - 1),
        "getDayOfWeek" => |args| part(args.values, |it| it.weekday().to_sunday_zero_offset().into()),
        "getDayOfYear" => |args| part(args.values, |it| i64::from(it.day_of_year()) - 1),
        "getHours" => |args| match args.values {
            [Val::Duration(it)] => Ok(Val::Int(it / 3_600_000_000_000)),
            values => part(values, |it| it.hour().into()),
        },
        "getMinutes" => |args| match args.values {
            [Val::Duration(it)] => Ok(Val::Int(it / 60_000_000_000)),
            values => part(values, |it| it.minute().into()),
        },
        "getSeconds" => |args| match args.values {
            [Val::Duration(it)] => Ok(Val::Int(it / 1_000_000_000)),
            values => part(values, |it| it.second().into()),
        },
        "getMilliseconds" => |args| match args.values {
            [Val::Duration(it)] => Ok(Val::Int(it / 1_000_000)),
            values => part(values, |it| it.millisecond().into()),
        },
        _ => return None,
    })
}

/// Returns whether a timestamp is in range: years 1 to 9999.
pub(crate) fn in_range(nanos: i128) -> bool {
    (FIRST..=LAST).contains(&nanos)
}

/// Returns a duration that fits 64 bits.
pub(crate) fn nanos(nanos: i128) -> Option<i64> {
    i64::try_from(nanos).ok()
}

fn part<'a>(values: &[Val<'a>], of: fn(DateTime) -> i64) -> Outcome<'a> {
    let (moment, zone) = match values {
        [Val::Timestamp(moment)] => (*moment, TimeZone::UTC),
        [Val::Timestamp(moment), Val::String(zone)] => (*moment, zone_of(zone.as_str())?),
        _ => return no_overload(),
    };
    // The offset is taken at a representable moment, and the civil time computed without the zone,
    // so that the last day of 9999 works.
    let known = Timestamp::from_nanosecond(moment).unwrap_or(Timestamp::MAX);
    let offset = zone.to_offset(known).seconds();
    match civil(moment + i128::from(offset) * SECOND) {
        Some(there) => Ok(Val::Int(of(there))),
        None => fail("timestamp overflow"),
    }
}

/// Parses a zone name or an offset such as `-08:00`.
fn zone_of(name: &str) -> Result<TimeZone, Failure> {
    let unknown = || Failure::Error(format!("unknown time zone {name}"));
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            _ => TimeZone::get(name).map_err(|_| unknown()),
        };
    };
    let number = |text: &str| text.parse::<i32>().map_err(|_| unknown());
    let (hour, minute) = (number(hours)?, number(minutes)?);
    let sign = if hours.starts_with('-') { -1 } else { 1 };
    if !(0..60).contains(&minute) {
        return Err(unknown());
    }
    let seconds = hour.checked_mul(3600).and_then(|it| it.checked_add(sign * minute * 60));
    let offset = seconds.and_then(|it| Offset::from_seconds(it).ok()).ok_or_else(unknown)?;
    Ok(TimeZone::fixed(offset))
}

/// Parses an RFC 3339 timestamp.
pub(crate) fn parse_timestamp(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range)?.iter().all(u8::is_ascii_digit).then_some(());
    for range in [0..4, 5..7, 8..10, 11..13, 14..16, 17..19] {
        digits(range)?;
    }
    let marks = [(4, b"-".as_slice()), (7, b"-"), (10, b"Tt"), (13, b":"), (16, b":")];
    let zoned = text.ends_with(['Z', 'z']) || text.get(text.len().checked_sub(6)?..)?.contains(':');
    if !zoned || !marks.iter().all(|(at, mark)| mark.contains(&bytes[*at])) {
        return None;
    }
    if &text[17..19] == "60" || &text[0..4] == "0000" {
        return None;
    }
    // Digits beyond a nanosecond are read and dropped.
    let rest = &text[19..];
    let fraction = rest.strip_prefix('.').map_or(0, |it| it.bytes().take_while(u8::is_ascii_digit).count());
    if rest.starts_with('.') && fraction == 0 {
        return None;
    }
    let kept = fraction.min(9);
    let dot = usize::from(fraction > 0);
    let shortened = format!("{}{}{}", &text[..19], &rest[..dot + kept], &rest[dot + fraction..]);
    let (civil, offset) = match shortened.strip_suffix(['Z', 'z']) {
        Some(civil) => (civil, 0),
        None => {
            let (civil, offset) = shortened.split_at_checked(shortened.len().checked_sub(6)?)?;
            (civil, offset_of(offset)?)
        }
    };
    let civil: DateTime = civil.to_ascii_uppercase().parse().ok()?;
    Some(since_1970(civil) - i128::from(offset) * SECOND)
}

/// Parses an offset such as `+01:00` to seconds.
fn offset_of(text: &str) -> Option<i64> {
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let digits = |it: &str| {
        if it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit()) { it.parse().ok() } else { None }
    };
    let (hours, minutes): (i64, i64) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn since_1970(civil: DateTime) -> i128 {
    let days = (civil.date() - jiff::civil::date(1970, 1, 1)).get_days();
    let time = civil.time();
    let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    (i128::from(days) * 86_400 + i128::from(seconds)) * SECOND + i128::from(time.subsec_nanosecond())
}

/// Returns the date and time in UTC.
fn civil(nanos: i128) -> Option<DateTime> {
    let day = 86_400 * SECOND;
    let days = i64::try_from(nanos.div_euclid(day)).ok()?;
    let date = jiff::civil::date(1970, 1, 1).checked_add(days.days()).ok()?;
    let within = i64::try_from(nanos.rem_euclid(day)).ok()?;
    DateTime::from_parts(date, jiff::civil::Time::midnight()).checked_add(within.nanoseconds()).ok()
}

/// Parses a date to the start of its day.
pub(crate) fn date(text: &str) -> Option<i128> {
    let date: Date = Some(text).filter(|it| it.len() == 10)?.parse().ok()?;
    Some(since_1970(date.to_datetime(jiff::civil::Time::midnight())))
}

/// Parses a duration in Go's format: `1h30m`, `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        rest = after;
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return None,
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || whole.len() > 19 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let kept = &fraction[..fraction.len().min(15)];
        let part: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
        total = total.checked_add(whole * scale + part * scale / 10i128.pow(kept.len() as u32))?;
    }
    nanos(if negative { -total } else { total })
}

pub(crate) fn timestamp_text(nanos: i128) -> String {
    civil(nanos).map_or_else(|| nanos.to_string(), |it| format!("{it}Z"))
}

/// Formats a duration in seconds, as protobuf does.
pub(crate) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, fraction) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    if fraction == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{fraction:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}
