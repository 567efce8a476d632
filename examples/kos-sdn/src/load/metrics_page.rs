//! Latency histograms read from pages of metrics.

use std::collections::BTreeMap;

use super::{Buckets, LatencyRow, bucket_percentiles};

/// Returns the percentiles of each histogram `kos_*_latency_seconds`, summed over all pages by
/// cause, regardless of the node.
#[must_use]
pub fn parse_latencies(page: &str) -> Vec<LatencyRow> {
    let mut all: BTreeMap<(String, String), Buckets> = BTreeMap::new();
    for line in page.lines() {
        let Some((step, labels, count)) = bucket(line) else { continue };
        let label = |name: &str| labels.iter().find(|(label, _)| *label == name).map(|(_, value)| *value);
        let Some(bound) = label("le").and_then(micros) else { continue };
        let cause: Vec<&str> = ["last_client_wr", "op", "err"].into_iter().filter_map(label).collect();
        *all.entry((step.to_owned(), cause.join(" "))).or_default().entry(bound).or_default() += count;
    }
    all.iter().filter_map(|((step, cause), buckets)| bucket_percentiles(step, cause, buckets)).collect()
}

type PageLabels<'a> = Vec<(&'a str, &'a str)>;

fn bucket(line: &str) -> Option<(&str, PageLabels<'_>, u64)> {
    let (name, rest) = line.split_once('{')?;
    let step = name.strip_prefix("kos_")?.strip_suffix("_latency_seconds_bucket")?;
    let (labels, count) = rest.rsplit_once("} ")?;
    // An exemplar may follow the count.
    let count = count.split(' ').next()?.parse::<f64>().ok().filter(|count| *count >= 0.0)?;
    let labels = labels.split("\",").filter_map(|label| label.split_once("=\""));
    let labels = labels.map(|(label, value)| (label, value.trim_end_matches('"'))).collect();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
    Some((step, labels, count as u64))
}

/// Negative latencies, from clocks that differ, count in the bucket of the next bound.
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
    fn pages_are_summed_over_nodes() {
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
        let rows = parse_latencies(&[page("node-1"), page("node-2")].concat());
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&*row.step, &*row.cause), ("agent_last_client_write_to_remote_ifc", "na"));
        assert_eq!((row.count, row.seconds[0], row.seconds[3]), (4, 1.0, 2.0));
    }

    #[test]
    fn negative_buckets_are_counted_once() {
        let bucket = |bound: &str, count: u64| {
            format!(
                "kos_agent_last_client_write_to_remote_ifc_latency_seconds_bucket{{last_client_wr=\"na\",le=\"{bound}\"}} {count}\n"
            )
        };
        let page =
            [bucket("-1.0", 1), bucket("-0.125", 1), bucket("0.0", 1), bucket("1.0", 2), bucket("+Inf", 2)]
                .concat();
        let [row] = &parse_latencies(&page)[..] else { panic!("one row") };
        assert_eq!(row.count, 2);
        assert!(row.seconds[0] <= 0.0 && row.seconds[3] > 0.9, "{row:?}");
    }

    #[test]
    fn malformed_pages_are_ignored() {
        for page in
            ["", "{", "kos_x_latency_seconds_bucket{le=\"a\"} 1", "kos_x_latency_seconds_bucket{} -1\u{0}"]
        {
            assert_eq!(parse_latencies(page), []);
        }
    }
}
