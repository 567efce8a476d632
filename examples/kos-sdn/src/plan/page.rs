//! What components counted, read from their pages of metrics.

use std::collections::BTreeMap;

use super::{Buckets, Row, of_buckets};

/// The latencies of all pages together: of each histogram of ours that ends by `_latency_seconds`, by what it was counted from, whoever
/// counted it.
#[must_use]
pub fn of_page(page: &str) -> Vec<Row> {
    let mut all: BTreeMap<(String, String), Buckets> = BTreeMap::new();
    for line in page.lines() {
        let Some((what, labels, count)) = bucket(line) else { continue };
        let label = |name: &str| labels.iter().find(|(label, _)| *label == name).map(|(_, value)| *value);
        let Some(bound) = label("le").and_then(micros) else { continue };
        let cause: Vec<&str> = ["last_client_wr", "op", "err"].into_iter().filter_map(label).collect();
        *all.entry((what.to_owned(), cause.join(" "))).or_default().entry(bound).or_default() += count;
    }
    all.iter().filter_map(|((what, cause), buckets)| of_buckets(what, cause, buckets)).collect()
}

type Labels<'a> = Vec<(&'a str, &'a str)>;

fn bucket(line: &str) -> Option<(&str, Labels<'_>, u64)> {
    let (name, rest) = line.split_once('{')?;
    let what = name.strip_prefix("kos_")?.strip_suffix("_latency_seconds_bucket")?;
    let (labels, count) = rest.rsplit_once("} ")?;
    // What stands behind the count is an example.
    let count = count.split(' ').next()?.parse::<f64>().ok().filter(|count| *count >= 0.0)?;
    let labels = labels.split("\",").filter_map(|label| label.split_once("=\""));
    let labels = labels.map(|(label, value)| (label, value.trim_end_matches('"'))).collect();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
    Some((what, labels, count as u64))
}

/// What is below zero is counted by the next bound as well, and told as if it were there: two clocks may differ.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a bound of a bucket")]
fn micros(bound: &str) -> Option<u64> {
    if bound == "+Inf" {
        return Some(u64::MAX);
    }
    let seconds = bound.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some((seconds * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_counted_are_taken_together() {
        let page = |node: &str| {
            let name = "kos_agent_last_client_write_to_remote_ifc_latency_seconds_bucket";
            format!(
                "# HELP of it\n{name}{{node=\"{node}\",last_client_wr=\"na\",le=\"-1.0\"}} 0\n\
                 {name}{{node=\"{node}\",last_client_wr=\"na\",le=\"1.0\"}} 1\n\
                 {name}{{node=\"{node}\",last_client_wr=\"na\",le=\"2.0\"}} 2\n\
                 {name}{{node=\"{node}\",last_client_wr=\"na\",le=\"+Inf\"}} 2\n\
                 other_bucket{{le=\"1\"}} 7\nkos_agent_fabric_count{{fabric=\"sim\"}} 1\n"
            )
        };
        let rows = of_page(&[page("node-1"), page("node-2")].concat());
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&*row.what, &*row.cause), ("agent_last_client_write_to_remote_ifc", "na"));
        assert_eq!((row.count, row.seconds[0], row.seconds[3]), (4, 1.0, 2.0));
    }

    #[test]
    fn what_clocks_that_differ_put_below_zero_is_counted_once() {
        let bucket = |bound: &str, count: u64| {
            format!(
                "kos_agent_last_client_write_to_remote_ifc_latency_seconds_bucket{{last_client_wr=\"na\",le=\"{bound}\"}} {count}\n"
            )
        };
        let page =
            [bucket("-1.0", 1), bucket("-0.125", 1), bucket("0.0", 1), bucket("1.0", 2), bucket("+Inf", 2)]
                .concat();
        let [row] = &of_page(&page)[..] else { panic!("one row") };
        assert_eq!(row.count, 2);
        assert!(row.seconds[0] <= 0.0 && row.seconds[3] > 0.9, "{row:?}");
    }

    #[test]
    fn what_is_no_page_is_let_go() {
        for page in
            ["", "{", "kos_x_latency_seconds_bucket{le=\"a\"} 1", "kos_x_latency_seconds_bucket{} -1\u{0}"]
        {
            assert_eq!(of_page(page), []);
        }
    }
}
