//! Logarithmic axes: bounds and ticks.

/// A logarithmic axis that begins and ends at a tick. All positions are decimal logarithms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogAxis {
    /// Values of the ticks, at least two, ascending.
    pub(crate) ticks: Vec<f64>,
}

/// The ticks of a decade, if there is space for them.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// Above this number of ticks, only some decades have one.
const MOST_TICKS: usize = 13;
/// Values outside are drawn at the ends.
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e6;

impl LogAxis {
    /// Returns the shortest axis that contains the positive values.
    pub(crate) fn enclosing(values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            let value = value.clamp(LEAST, MOST);
            (least, most) = (least.min(value), most.max(value));
        }
        if least > most {
            (least, most) = (0.001, 1.0);
        }
        let ticks = ticks(least, most);
        if ticks.len() <= MOST_TICKS {
            return Self { ticks };
        }
        let (low, high) = (decade_below(least), decade_above(most));
        let step = usize::try_from(high - low).unwrap_or(1).div_ceil(MOST_TICKS - 1).max(1);
        let mut ticks: Vec<f64> = (low..high).step_by(step).map(|power| 10_f64.powi(power)).collect();
        // The last step may be shorter: the axis still ends at a tick.
        if ticks.len() > 1 && step > 1 && usize::try_from(high - low).unwrap_or(0) % step == 1 {
            ticks.pop();
        }
        ticks.push(10_f64.powi(high));
        Self { ticks }
    }

    /// Returns the position of the first and the last tick.
    pub(crate) fn range(&self) -> (f64, f64) {
        let first = self.ticks.first().copied().unwrap_or(0.1);
        (first.log10(), self.ticks.last().copied().unwrap_or(first * 10.0).log10())
    }

    /// Returns the positions of all ticks.
    pub(crate) fn positions(&self) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.log10()).collect()
    }

    /// Returns the position of a value; values outside are at the ends.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let (low, high) = self.range();
        if value > 0.0 { value.log10().clamp(low, high) } else { low }
    }
}

/// Returns ticks at 1, 2 and 5 of each decade, from the last one below `least` to the first one
/// above `most`.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let (low, high) = (decade_below(least), decade_above(most));
    let all: Vec<f64> = (low..=high).flat_map(|power| STEPS.map(|step| step_value(step, power))).collect();
    let first = all.iter().rposition(|tick| *tick <= least * (1.0 + 1e-9)).unwrap_or_default();
    let last = all.iter().position(|tick| *tick >= most * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
    let last = last.max(first + 1);
    all.into_iter().skip(first).take(last + 1 - first).collect()
}

/// Computed by parsing, as products of powers are off by one in the last digit.
fn step_value(step: f64, power: i32) -> f64 {
    format!("{step}e{power}").parse().unwrap_or(step)
}

#[allow(clippy::cast_possible_truncation, reason = "at most nine decades")]
fn decade_below(value: f64) -> i32 {
    (value.log10() + 1e-9).floor() as i32
}

#[allow(clippy::cast_possible_truncation, reason = "at most nine decades")]
fn decade_above(value: f64) -> i32 {
    (value.log10() - 1e-9).ceil() as i32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p01_axes_begin_and_end_at_ticks() {
        let check = |values: &[f64], expected: &[f64]| {
            assert_eq!(LogAxis::enclosing(values.iter().copied()).ticks, expected, "{values:?}");
        };
        check(&[0.005, 0.147], &[0.005, 0.01, 0.02, 0.05, 0.1, 0.2]);
        check(&[0.003], &[0.002, 0.005]);
        check(&[1.0], &[1.0, 2.0]);
        check(&[], &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]);
        check(&[-1.0, f64::NAN, f64::INFINITY, 3.0], &[2.0, 5.0]);
        check(&[1e-6, 1.0], &[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]);
    }

    proptest! {
        #[test]
        fn p01_every_value_is_on_the_axis(exponents in prop::collection::vec(-9.0_f64..6.0, 1..20)) {
            let values: Vec<f64> = exponents.iter().map(|exponent| 10_f64.powf(*exponent)).collect();
            let axis = LogAxis::enclosing(values.iter().copied());
            let (low, high) = axis.range();
            prop_assert!((2..=MOST_TICKS + 1).contains(&axis.ticks.len()), "{:?}", axis.ticks);
            prop_assert!(axis.ticks.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", axis.ticks);
            for exponent in exponents {
                prop_assert!(low <= exponent + 1e-9 && exponent <= high + 1e-9, "{} {:?}", exponent, axis.ticks);
            }
        }
    }
}
