//! Histograms read from pages of metrics.

use crate::{Buckets, Description, MetricShape};

/// A histogram of a page: the name of its metric, its labels, and its buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageHistogram {
    /// Name of the metric, without `_bucket`.
    pub name: String,
    /// Label names and values in the order of the page, without `le`.
    pub labels: Vec<(String, String)>,
    /// The buckets.
    pub buckets: Buckets,
}

impl PageHistogram {
    /// Returns the value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| &**value)
    }
}

/// Returns the histograms of a page in the text format of Prometheus or OpenMetrics, in the order
/// of the page. Of several pages in one text, histograms with the same name and labels are added.
#[must_use]
pub fn page_histograms(page: &str) -> Vec<PageHistogram> {
    let mut found: Vec<PageHistogram> = Vec::new();
    for line in page.lines() {
        let Some(BucketLine { name, labels, bound, count }) = bucket_line(line) else { continue };
        let same = |one: &&mut PageHistogram| one.name == name && one.labels == labels;
        match found.iter_mut().rev().find(same) {
            Some(histogram) => histogram.buckets.add(bound, count),
            None => {
                let mut buckets = Buckets::default();
                buckets.add(bound, count);
                found.push(PageHistogram { name: name.into(), labels, buckets });
            }
        }
    }
    found
}

/// Compares a page with the descriptions of its metrics, for tests. Returns a line for each series
/// without description, and for each one with other labels than the declared ones.
#[must_use]
pub fn undeclared_series(page: &str, descriptions: &[Description]) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let bare = |end: &str| name.strip_suffix(end).unwrap_or_default();
        let found = descriptions.iter().find(|one| match one.shape {
            MetricShape::Histogram(_) => {
                ["_bucket", "_sum", "_count"].iter().any(|end| bare(end) == one.name)
            }
            _ => one.exposed_name() == name,
        });
        let Some(found) = found else {
            wrong.push(format!("{name} is not declared"));
            continue;
        };
        let labels =
            rest.strip_prefix('{').and_then(parse_labels).map(|(labels, _)| labels).unwrap_or_default();
        let mut names: Vec<&str> =
            labels.iter().map(|(label, _)| &**label).filter(|label| *label != "le").collect();
        let mut declared = found.labels.to_vec();
        (names.sort_unstable(), declared.sort_unstable());
        if names != declared {
            wrong.push(format!("{name} has the labels {names:?}, and declares {declared:?}"));
        }
    }
    wrong.sort_unstable();
    wrong.dedup();
    wrong
}

struct BucketLine<'a> {
    name: &'a str,
    labels: Vec<(String, String)>,
    bound: f64,
    count: u64,
}

fn bucket_line(line: &str) -> Option<BucketLine<'_>> {
    let (name, rest) = line.split_once('{')?;
    let name = name.strip_suffix("_bucket")?;
    let (mut labels, rest) = parse_labels(rest)?;
    // An exemplar may follow the count.
    let count = rest.trim_start().split(' ').next()?.parse::<f64>().ok()?;
    let at = labels.iter().position(|(label, _)| label == "le")?;
    let (_, bound) = labels.remove(at);
    let bound = bound.parse::<f64>().ok().filter(|bound| !bound.is_nan())?;
    if !(0.0..=9e15).contains(&count) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count in this range")]
    Some(BucketLine { name, labels, bound, count: count as u64 })
}

/// Returns the labels, and the text after the closing brace.
fn parse_labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, value) = rest.split_once("=\"")?;
        let (value, after) = unquoted(value)?;
        labels.push((name.to_owned(), value));
        rest = after;
    }
}

/// Returns the value up to its closing quote, and the text after it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, next)) = chars.next() {
        match next {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CALLS, MetricSet, metrics};

    metrics! {
        struct StrokeMetrics("pump", "Pumps") {
            /// Strokes
            stroke: seconds("stroke_seconds", ["name", "valve"], CALLS);
        }
    }

    fn page_of(valves: &[&str]) -> String {
        let pumps = StrokeMetrics::default();
        let mut set = MetricSet::default();
        set.add(&pumps);
        valves.iter().for_each(|valve| pumps.stroke.observe(["a}", valve], 0.0015));
        set.page()
    }

    #[test]
    fn p05_histograms_of_several_pages_are_added() {
        let text = [page_of(&["x", "y"]), page_of(&["y"])].concat();
        let mut found = page_histograms(&text);
        found.sort_by(|one, other| one.labels.cmp(&other.labels));
        let shown: Vec<_> = found
            .iter()
            .map(|one| (&*one.name, one.label("name"), one.label("valve"), one.buckets.count()))
            .collect();
        assert_eq!(
            shown,
            [
                ("pump_stroke_seconds", Some("a}"), Some("x"), 1),
                ("pump_stroke_seconds", Some("a}"), Some("y"), 2)
            ]
        );
        assert_eq!(found[0].buckets.percentiles().map(|all| all[3]), Some(0.002));
    }

    #[test]
    fn p05_exemplars_and_other_lines_are_skipped() {
        let page = "# HELP x_bucket of it\nx_bucket{le=\"1.0\"} 3 # {trace_id=\"a\"} 0.5\nx_bucket{le=\"+Inf\"} 4\n\
            x_sum 3\nx_bucket{a=\"b\"} 3\nx_bucket{le=\"b\"} 3\nx_bucket{le=\"1\"} -1\nx_bucket{le=\"1\nx_bucket{";
        let found = page_histograms(page);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].buckets.count(), 4);
    }

    #[test]
    fn p01_undeclared_series_are_found() {
        let page = page_of(&["x"]);
        let declared = *StrokeMetrics::default().stroke.description();
        assert_eq!(undeclared_series(&page, &[declared]), Vec::<String>::new());
        assert_eq!(undeclared_series(&page, &[]).len(), 3);
        let [bucket, ..] = &undeclared_series(&page, &[declared.labels(&["name"])])[..] else {
            panic!("wrong")
        };
        let expected =
            r#"pump_stroke_seconds_bucket has the labels ["name", "valve"], and declares ["name"]"#;
        assert_eq!(bucket, expected);
        let info = Description::info("pump_build", "Version").labels(&["v"]);
        assert_eq!(undeclared_series("pump_build_info{v=\"1\"} 1\n", &[info]), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn p05_label_values_are_read_as_they_were_observed(value in "[ -~\n]{0,12}") {
            let found = page_histograms(&page_of(&[&value]));
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].label("valve"), Some(&*value));
        }

        #[test]
        fn p05_no_text_causes_a_panic(text in ".{0,80}") {
            let _ = page_histograms(&text);
            let _ = page_histograms(&format!("x_bucket{{{text}}} 1"));
        }
    }
}
