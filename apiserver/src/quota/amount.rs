//! Amounts that quotas add up: numbers of objects, of cores, of bytes.

use serde_json::Value;

use crate::builtin::quantity::{self, Notation};

/// A non-negative quantity, to be added and compared. Sums saturate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuotaAmount {
    billionths: u128,
    form: Notation,
}

impl QuotaAmount {
    pub(crate) const ZERO: Self = Self::number(0);
    pub(crate) const ONE: Self = Self::number(1);

    /// Returns a number of objects.
    pub(crate) const fn number(number: u64) -> Self {
        Self { billionths: number as u128 * 1_000_000_000, form: Notation::Decimal }
    }

    /// Parses a quantity in JSON. A missing, negative or invalid one is zero.
    pub(crate) fn read(value: &Value) -> Self {
        let parsed = quantity::billionths(&quantity::text(value));
        parsed.map_or(Self::ZERO, |(billionths, form)| Self { billionths, form })
    }

    /// Returns the sum. As in Kubernetes, it has the notation of the first summand above zero.
    pub(crate) const fn plus(self, other: Self) -> Self {
        let form = if self.is_zero() { other.form } else { self.form };
        Self { billionths: self.billionths.saturating_add(other.billionths), form }
    }

    /// Returns the difference, or zero if `other` is larger.
    pub(crate) const fn minus(self, other: Self) -> Self {
        Self { billionths: self.billionths.saturating_sub(other.billionths), form: self.form }
    }

    /// Returns the larger amount.
    pub(crate) const fn at_least(self, other: Self) -> Self {
        if self.billionths < other.billionths { other } else { self }
    }

    /// Returns the amount rounded up to a whole number.
    pub(crate) const fn rounded_up(self) -> Self {
        let one = 1_000_000_000;
        Self { billionths: self.billionths.div_ceil(one).saturating_mul(one), form: self.form }
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.billionths == 0
    }

    pub(crate) const fn exceeds(self, other: Self) -> bool {
        self.billionths > other.billionths
    }

    /// Returns the whole part as a number, saturated.
    pub(crate) fn whole(self) -> u64 {
        u64::try_from(self.billionths / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Returns the canonical text.
    pub(crate) fn text(self) -> String {
        quantity::text_of_billionths(self.billionths, self.form)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> QuotaAmount {
        QuotaAmount::read(&json!(text))
    }

    #[test]
    fn sums_have_the_notation_of_the_first_summand_above_zero() {
        let check = |summands: &[&str], expected: &str| {
            let sum = summands.iter().fold(QuotaAmount::ZERO, |sum, summand| sum.plus(read(summand)));
            assert_eq!(sum.text(), expected, "{summands:?}");
        };
        check(&["500m", "600m"], "1100m");
        check(&["500m", "0.5"], "1");
        check(&["252Mi", "4Mi"], "256Mi");
        check(&["0", "1Gi", "1k"], "1073742824");
        check(&["1k", "1Gi"], "1073742824");
        check(&["1e3", "1e3"], "2e3");
        check(&["1Gi", "1Gi"], "2Gi");
        check(&[], "0");
    }

    #[test]
    fn extreme_amounts_saturate() {
        let most = read("999999999999999999999999999999999999E");
        assert!(!most.plus(most).exceeds(most));
        assert_eq!(most.whole(), u64::MAX);
        assert_eq!(read("1n").rounded_up().text(), "1");
        assert_eq!(read("1").minus(read("2")).text(), "0");
    }

    #[test]
    fn invalid_and_negative_amounts_are_zero() {
        for text in ["-1", "x", ""] {
            assert!(read(text).is_zero(), "{text}");
        }
        assert!(QuotaAmount::read(&Value::Null).is_zero());
        assert_eq!(QuotaAmount::read(&json!(2)).text(), "2");
    }
}
