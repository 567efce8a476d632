//! Figures as text.

/// Formats a figure with three significant digits and grouped thousands.
#[must_use]
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude < 9.995 {
        return format!("{value:.2}");
    }
    if magnitude < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let rest = digits.len() - at;
        if at > 0 && rest % 3 == 0 && !text.ends_with('-') {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in seconds, with the unit that leaves up to three digits before the point:
/// `50 µs`, `1.5 ms`, `2 s`.
#[must_use]
pub fn duration_text(seconds: f64) -> String {
    let magnitude = seconds.abs();
    let (value, unit) = if magnitude < 0.9995e-6 {
        (seconds * 1e9, "ns")
    } else if magnitude < 0.9995e-3 {
        (seconds * 1e6, "µs")
    } else if magnitude < 0.9995 {
        (seconds * 1e3, "ms")
    } else {
        (seconds, "s")
    };
    let text = figure(value);
    // Trailing zeros of a tick's label say nothing.
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p05_figures_show_three_digits_and_group_thousands() {
        for (value, expected) in [
            (1.234, "1.23"),
            (78.46, "78.5"),
            (9.999, "10.0"),
            (99.96, "100"),
            (119.4, "119"),
            (52.729_729_729_729_726, "52.7"),
            (5_412_345.0, "5 412 345"),
            (-123.0, "-123"),
            (-4567.0, "-4 567"),
            (0.0, "0.00"),
        ] {
            assert_eq!(figure(value), expected);
        }
    }

    #[test]
    fn p05_durations_have_the_unit_that_fits() {
        for (seconds, expected) in [
            (0.000_000_05, "50 ns"),
            (0.000_05, "50 µs"),
            (0.001, "1 ms"),
            (0.0015, "1.5 ms"),
            (0.0625, "62.5 ms"),
            (0.999_999, "1 s"),
            (500.0, "500 s"),
            (0.0, "0 ns"),
        ] {
            assert_eq!(duration_text(seconds), expected);
        }
    }
}
