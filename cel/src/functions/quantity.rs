//! Resource quantities: `1.5Gi`, `100m`. Exact, in billionths.

use std::fmt;
use std::sync::Arc;

use super::Function;
use super::opaque::Opaque;
use crate::value::{Outcome, Val, fail, no_overload};

/// A quantity in billionths, the smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Quantity(pub(crate) i128);

const ONE: i128 = 1_000_000_000;
/// The maximum, to which larger quantities are clamped.
const MOST: i128 = 100_000_000_000_000_000_000_000_000_000 * ONE;

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "quantity" => |args| match args.values {
            [Val::String(text)] => match parse(text.as_str()) {
                Some(it) => Ok(Val::Opaque(Arc::new(Opaque::Quantity(it)))),
                None => fail(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                ),
            },
            _ => no_overload(),
        },
        "isQuantity" => |args| match args.values {
            [Val::String(text)] => Ok(Val::Bool(parse(text.as_str()).is_some())),
            _ => no_overload(),
        },
        "sign" => |args| one(args.values, |it| Ok(Val::Int(it.0.signum() as i64))),
        "isInteger" => |args| one(args.values, |it| Ok(Val::Bool(it.whole().is_some()))),
        "asInteger" => |args| {
            one(args.values, |it| match it.whole() {
                Some(it) => Ok(Val::Int(it)),
                None => fail("cannot convert value to integer"),
            })
        },
        "asApproximateFloat" => |args| one(args.values, |it| Ok(Val::Double(it.float()))),
        "add" => |args| two(args.values, i128::checked_add),
        "sub" => |args| two(args.values, i128::checked_sub),
        _ => return None,
    })
}

fn quantity(value: &Val<'_>) -> Option<Quantity> {
    match value {
        Val::Opaque(it) => match **it {
            Opaque::Quantity(it) => Some(it),
            _ => None,
        },
        Val::Int(it) => Some(Quantity(i128::from(*it) * ONE)),
        _ => None,
    }
}

fn one<'a>(values: &[Val<'a>], of: impl Fn(Quantity) -> Outcome<'a>) -> Outcome<'a> {
    match values {
        [it @ Val::Opaque(_)] => quantity(it).map_or_else(no_overload, of),
        _ => no_overload(),
    }
}

fn two<'a>(values: &[Val<'a>], of: fn(i128, i128) -> Option<i128>) -> Outcome<'a> {
    match values {
        [a @ Val::Opaque(_), b] => match (quantity(a), quantity(b)) {
            (Some(a), Some(b)) => match of(a.0, b.0) {
                Some(sum) => Ok(Val::Opaque(Arc::new(Opaque::Quantity(Quantity(sum))))),
                None => fail("quantity overflow"),
            },
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}

impl Quantity {
    fn whole(self) -> Option<i64> {
        if self.0 % ONE == 0 { i64::try_from(self.0 / ONE).ok() } else { None }
    }

    fn float(self) -> f64 {
        match self.whole() {
            Some(it) => it as f64,
            None if self.0 % ONE == 0 => (self.0 / ONE) as f64,
            None => self.0 as f64 / ONE as f64,
        }
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(number);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // The value is digits × 2^n × 10^m.
    let (two, ten) = scale(suffix)?;
    let mut digits = format!("{whole}{fraction}");
    let digits_kept = digits.trim_start_matches('0').to_owned();
    digits = digits_kept;
    let mut ten = ten + 9 - fraction.len() as i64;
    let mut exact = true;
    // Digits beyond the range only make the value the maximum.
    while digits.len() > 36 {
        exact &= digits.ends_with('0');
        digits.pop();
        ten += 1;
    }
    let value: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let capped = |it: i128| Some(Quantity(if negative { -it.min(MOST) } else { it.min(MOST) }));
    if value == 0 {
        return capped(0);
    }
    if ten >= 0 {
        let scaled = 10i128.checked_pow(ten.min(60) as u32).and_then(|it| value.checked_mul(it));
        return capped(scaled.and_then(|it| it.checked_mul(1 << two)).unwrap_or(MOST));
    }
    // Below a billionth, round away from zero; apply the power of two first, if it fits.
    let divisor = if ten < -38 { None } else { 10i128.checked_pow((-ten) as u32) };
    let Some(divisor) = divisor else { return capped(1) };
    let (quotient, remainder) = (value / divisor, value % divisor);
    let high = quotient.checked_mul(1 << two);
    let low = remainder.checked_mul(1 << two);
    let (Some(high), Some(low)) = (high, low) else {
        let approximate = value as f64 / divisor as f64 * (1u64 << two) as f64;
        return capped(approximate as i128);
    };
    let up = i128::from(low % divisor != 0 || !exact);
    capped(high.saturating_add(low / divisor).saturating_add(up))
}

/// Returns the powers of two and of ten of a suffix.
fn scale(suffix: &str) -> Option<(u32, i64)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        exponent => {
            let digits = exponent.strip_prefix(['e', 'E'])?;
            let exponent: i64 = digits.parse::<i32>().ok()?.into();
            (0, exponent)
        }
    })
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, fraction) = (self.0.abs() / ONE, self.0.abs() % ONE);
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{fraction:09}");
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}
