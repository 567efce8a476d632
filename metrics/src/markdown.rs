//! The table of metrics for the documentation.

use std::fmt::Write as _;

use crate::{Description, MetricShape, Unit};

/// Returns Markdown: a heading and a table for each row of the dashboard, in the order of the
/// descriptions.
#[must_use]
pub fn markdown(descriptions: &[Description]) -> String {
    let mut text = String::new();
    for row in rows(descriptions) {
        let _ = write!(
            text,
            "\n## {row}\n\n| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n"
        );
        for one in descriptions.iter().filter(|one| one.panel.row == row) {
            let labels: Vec<String> = one.labels.iter().map(|label| format!("`{label}`")).collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} |",
                one.exposed_name(),
                shape_text(one.shape),
                unit_text(one.unit),
                labels.join(", "),
                one.help.replace('|', "\\|")
            );
        }
    }
    text
}

/// Returns the rows in the order of their first metric.
pub(crate) fn rows(descriptions: &[Description]) -> Vec<&'static str> {
    let mut rows = Vec::new();
    for one in descriptions {
        if !rows.contains(&one.panel.row) {
            rows.push(one.panel.row);
        }
    }
    rows
}

const fn shape_text(shape: MetricShape) -> &'static str {
    match shape {
        MetricShape::Counter => "counter",
        MetricShape::Gauge => "gauge",
        MetricShape::Info => "info",
        MetricShape::Histogram(_) => "histogram",
    }
}

const fn unit_text(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Count => "",
        Unit::Flag => "0 or 1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p03_each_metric_has_a_line_below_its_row() {
        let descriptions = [
            Description::counter("a", "One | two").row("X").labels(&["l", "m"]),
            Description::seconds("b_seconds", "Two", &[]).row("Y"),
            Description::gauge("c", "Three").unit(Unit::Flag).row("X"),
        ];
        let head = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
        let expected = format!(
            "\n## X\n\n{head}| `a_total` | counter |  | `l`, `m` | One \\| two |\n| `c` | gauge | 0 or 1 |  | Three |\n\
             \n## Y\n\n{head}| `b_seconds` | histogram | seconds |  | Two |\n"
        );
        assert_eq!(markdown(&descriptions), expected);
        assert_eq!(markdown(&[]), "");
    }
}
