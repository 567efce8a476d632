//! Quantities: `500m`, `1Gi`, `12e6`. Equal amounts have several texts; Kubernetes stores the
//! canonical one.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// The reason why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoQuantity {
    Format,
    Numeric,
    Suffix,
}

impl fmt::Display for NoQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Numeric => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

/// Maximum number of digits: a 128-bit integer holds them, with margin to move the point.
const MOST_DIGITS: usize = 36;

/// Returns the canonical text, as in Kubernetes. Unlike there, extreme numbers are rejected: more
/// than 36 digits, more than 18 decimals with a binary suffix, or a power of ten beyond a million.
pub(crate) fn canonical(text: &str) -> Result<String, NoQuantity> {
    if text.is_empty() {
        return Err(NoQuantity::Format);
    }
    if text == "0" {
        return Ok(text.to_owned());
    }
    let parts = QuantityParts::parse(text)?;
    let suffix = Suffix::parse(parts.suffix)?;
    let small = is_small(&parts, suffix);
    if small && is_kept(&parts, suffix)? {
        return Ok(text.to_owned());
    }
    // Outside its fast path, Go rejects a number without digits.
    if !small && !parts.digits {
        return Err(NoQuantity::Numeric);
    }
    Amount::new(&parts, suffix)?.text(suffix.form)
}

/// A quantity as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerQuantity {
    /// The number, saturated at `u64::MAX`.
    Number(u64),
    Negative,
    /// A fraction, or an invalid quantity.
    Broken,
}

/// Parses a quantity as an integer.
pub(crate) fn whole(text: &str) -> IntegerQuantity {
    let amount = || {
        let parts = QuantityParts::parse(text)?;
        Amount::new(&parts, Suffix::parse(parts.suffix)?)
    };
    match amount() {
        Ok(amount) if amount.negative && amount.mantissa > 0 => IntegerQuantity::Negative,
        Ok(amount) => amount.number().map_or(IntegerQuantity::Broken, IntegerQuantity::Number),
        Err(_) => IntegerQuantity::Broken,
    }
}

/// Parses a quantity as a number of billionths, saturated, with its notation. `None` for a negative
/// amount, and for a text that is not a quantity.
pub(crate) fn billionths(text: &str) -> Option<(u128, Notation)> {
    let parts = QuantityParts::parse(text).ok()?;
    let suffix = Suffix::parse(parts.suffix).ok()?;
    let amount = Amount::new(&parts, suffix).ok()?;
    let factor = power_of_ten(amount.exponent.saturating_add(9)).unwrap_or(u128::MAX);
    let billionths = amount.mantissa.saturating_mul(factor);
    (!amount.negative || billionths == 0).then_some((billionths, suffix.form))
}

/// Returns the canonical text of a number of billionths, in a notation.
pub(crate) fn text_of_billionths(billionths: u128, form: Notation) -> String {
    let amount = Amount { negative: false, mantissa: billionths, exponent: -9 };
    amount.text(form).unwrap_or_else(|_| (billionths / 1_000_000_000).to_string())
}

/// The text of a quantity in JSON, which may also be a number; any other value yields a text that
/// is not a quantity.
pub(crate) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text.trim()),
        Value::Number(number) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed("none"),
    }
}

/// The components of a text, without leading zeros.
struct QuantityParts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Whether the number has any digit.
    digits: bool,
}

impl<'a> QuantityParts<'a> {
    fn parse(text: &'a str) -> Result<Self, NoQuantity> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let number = unsigned.trim_start_matches('0');
        if number.is_empty() {
            // Go accepts a lone sign as zero, too.
            return Ok(Self { negative: false, whole: "", fraction: "", suffix: "", digits: true });
        }
        let (whole, rest) = split(number, |byte| byte.is_ascii_digit());
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |byte| byte.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, exponent) = split(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
        let (_, garbage) =
            split(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), |byte| byte.is_ascii_digit());
        if !garbage.is_empty() {
            return Err(NoQuantity::Format);
        }
        let digits = number.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty();
        Ok(Self { negative: text.starts_with('-'), whole, fraction, suffix, digits })
    }

    /// Number of digits; an empty whole part counts as one zero.
    fn length(&self) -> usize {
        self.whole.len().max(1) + self.fraction.len()
    }

    fn value(&self) -> Result<u128, NoQuantity> {
        if self.length() > MOST_DIGITS {
            return Err(NoQuantity::Numeric);
        }
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        Ok(digits.fold(0, |value, digit| value * 10 + u128::from(digit - b'0')))
    }
}

fn split(text: &str, mut belongs: impl FnMut(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !belongs(byte)).unwrap_or(text.len()))
}

/// The three notations of powers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Decimal,
    Exponent,
    Binary,
}

#[derive(Clone, Copy)]
struct Suffix {
    form: Notation,
    /// A power of two in binary notation, otherwise of ten.
    power: i32,
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Suffix {
    fn parse(text: &str) -> Result<Self, NoQuantity> {
        let find =
            |among: &[(&str, i32)]| among.iter().find(|(suffix, _)| *suffix == text).map(|(_, power)| *power);
        if let Some(power) = find(&DECIMAL) {
            return Ok(Self { form: Notation::Decimal, power });
        }
        if let Some(power) = find(&BINARY) {
            return Ok(Self { form: Notation::Binary, power });
        }
        let power = text.strip_prefix(['e', 'E']).and_then(|power| power.parse().ok());
        let power =
            power.filter(|power: &i32| power.unsigned_abs() <= 1_000_000).ok_or(NoQuantity::Suffix)?;
        Ok(Self { form: Notation::Exponent, power })
    }
}

/// Returns whether Go uses its fast path for this number.
fn is_small(parts: &QuantityParts<'_>, suffix: Suffix) -> bool {
    match suffix.form {
        Notation::Binary => {
            let power = usize::try_from(suffix.power * 3 / 10).unwrap_or(usize::MAX);
            parts.fraction.is_empty() && parts.length().saturating_add(power) <= 14
        }
        Notation::Decimal | Notation::Exponent => parts.length() <= 18 && scale(parts, suffix) >= -9,
    }
}

/// Returns whether Go keeps the text of a small number. This accepts more than canonical texts:
/// `1.500` and
/// `+1Ki`.
fn is_kept(parts: &QuantityParts<'_>, suffix: Suffix) -> Result<bool, NoQuantity> {
    if suffix.form == Notation::Binary {
        return Ok(parts.value()? & 7 != 0);
    }
    let zeros = format!("{}{}", parts.whole, parts.fraction).ends_with("000");
    Ok(scale(parts, suffix) % 3 == 0 && !zeros && !parts.whole.is_empty())
}

/// The power of ten of the last digit.
fn scale(parts: &QuantityParts<'_>, suffix: Suffix) -> i32 {
    let places = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
    if suffix.form == Notation::Binary { -places } else { suffix.power.saturating_sub(places) }
}

/// An amount: `mantissa` × 10^`exponent`, with `exponent` ≥ -9.
struct Amount {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

impl Amount {
    fn new(parts: &QuantityParts<'_>, suffix: Suffix) -> Result<Self, NoQuantity> {
        let mut mantissa = parts.value()?;
        let mut exponent = scale(parts, suffix);
        if suffix.form == Notation::Binary {
            const MOST: u128 = i64::MAX as u128;
            if parts.fraction.len() > 18 {
                return Err(NoQuantity::Numeric);
            }
            mantissa = mantissa.saturating_mul(1 << suffix.power);
            if power_of_ten(-exponent).is_none_or(|one| mantissa / one >= MOST) {
                (mantissa, exponent) = (MOST, 0);
            }
        }
        // As in Kubernetes, amounts below 1n are rounded away from zero.
        if exponent < -9 {
            mantissa =
                power_of_ten(-9 - exponent).map_or(u128::from(mantissa > 0), |one| mantissa.div_ceil(one));
            exponent = -9;
        }
        Ok(Self { negative: parts.negative, mantissa, exponent })
    }

    fn text(mut self, form: Notation) -> Result<String, NoQuantity> {
        if self.mantissa == 0 {
            return Ok("0".to_owned());
        }
        let sign = if self.negative { "-" } else { "" };
        if form == Notation::Binary
            && let Some(whole) = self.whole().filter(|whole| *whole >= 1024)
        {
            let times = (whole.trailing_zeros() / 10).min(6);
            let suffix = BINARY.iter().rfind(|(_, power)| *power == 10 * times.cast_signed());
            return Ok(format!("{sign}{}{}", whole >> (10 * times), suffix.map_or("", |(suffix, _)| suffix)));
        }
        while self.mantissa.is_multiple_of(10) {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        // Kubernetes loses the power beyond the last suffix. Here the number is written with zeros
        // instead, so that every output parses again.
        let most = if form == Notation::Exponent { 999_999 } else { 18 };
        while self.exponent % 3 != 0 || self.exponent > most {
            self.mantissa = self.mantissa.saturating_mul(10);
            self.exponent -= 1;
        }
        let mantissa = self.mantissa;
        // Every output must parse again.
        if mantissa.to_string().len() > MOST_DIGITS {
            return Err(NoQuantity::Numeric);
        }
        Ok(match DECIMAL.iter().find(|(_, power)| *power == self.exponent) {
            Some((suffix, _)) if form != Notation::Exponent || self.exponent == 0 => {
                format!("{sign}{mantissa}{suffix}")
            }
            _ => format!("{sign}{mantissa}e{}", self.exponent),
        })
    }

    /// The amount as an integer, saturated; `None` for a fraction.
    fn number(&self) -> Option<u64> {
        let whole = match self.exponent {
            ..=0 => self.whole()?,
            _ if self.mantissa == 0 => 0,
            exponent => power_of_ten(exponent).map_or(u128::MAX, |one| self.mantissa.saturating_mul(one)),
        };
        Some(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// The amount as an integer; `None` for a fraction.
    fn whole(&self) -> Option<u128> {
        let one = power_of_ten(-self.exponent)?;
        self.mantissa.is_multiple_of(one).then(|| self.mantissa / one)
    }
}

fn power_of_ten(power: i32) -> Option<u128> {
    10_u128.checked_pow(u32::try_from(power).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Go's result for each text, recorded by `record/bodies`.
    #[test]
    fn quantities_are_those_of_go() {
        let recorded: Value =
            serde_json::from_str(include_str!("../../tests/bodies/quantities.json")).unwrap();
        for (text, outcome) in recorded.as_object().unwrap() {
            let (said, expected) = match canonical(text) {
                Ok(said) => (said, &outcome["is"]),
                Err(error) => (error.to_string(), &outcome["error"]),
            };
            assert_eq!(said, expected.as_str().unwrap_or("the other"), "{text:?}: {outcome}");
        }
    }

    #[test]
    fn extreme_numbers_are_rejected_or_exact() {
        for (text, expected) in [
            ("1000E", Ok("1000E")),
            ("1e1000000", Ok("10e999999")),
            ("1000e1000000", Ok("10000e999999")),
            ("1e-1000000", Ok("1e-9")),
            ("1e1000001", Err(NoQuantity::Suffix)),
            ("1e99999999999", Err(NoQuantity::Suffix)),
            ("1.0000000000000000001Ei", Err(NoQuantity::Numeric)),
            ("1234567890123456789012345678901234567", Err(NoQuantity::Numeric)),
        ] {
            assert_eq!(canonical(text), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn integers_are_distinguished_from_fractions() {
        for (text, expected) in [
            ("0", IntegerQuantity::Number(0)),
            ("-0", IntegerQuantity::Number(0)),
            ("5", IntegerQuantity::Number(5)),
            ("2k", IntegerQuantity::Number(2000)),
            ("1Ki", IntegerQuantity::Number(1024)),
            ("3e2", IntegerQuantity::Number(300)),
            ("0e1000000", IntegerQuantity::Number(0)),
            ("5000m", IntegerQuantity::Number(5)),
            ("1e30", IntegerQuantity::Number(u64::MAX)),
            ("1e1000000", IntegerQuantity::Number(u64::MAX)),
            ("500m", IntegerQuantity::Broken),
            ("1.5", IntegerQuantity::Broken),
            ("lots", IntegerQuantity::Broken),
            ("-1", IntegerQuantity::Negative),
            ("-1n", IntegerQuantity::Negative),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn canonicalization_is_idempotent(text in "[+-]?[0-9]{1,24}(\\.[0-9]{1,14})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?") {
            if let Ok(once) = canonical(&text) {
                prop_assert_eq!(canonical(&once), Ok(once.clone()), "{}", text);
            }
        }

        #[test]
        fn no_text_panics(text in "[+-]?[0-9.]{0,45}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,12}.?") {
            let _ = (canonical(&text), whole(&text));
        }
    }
}
