//! Latency histograms read from pages of metrics.

use std::collections::BTreeMap;

use machinery::metrics::{Buckets, page_histograms};

use super::LatencyRow;

/// Returns the percentiles of each histogram `kos_*_latency_seconds`, summed over all pages by
/// cause, regardless of the node.
#[must_use]
pub fn parse_latencies(page: &str) -> Vec<LatencyRow> {
    let mut all: BTreeMap<(String, String), Buckets> = BTreeMap::new();
    for histogram in page_histograms(page) {
        let step = histogram.name.strip_prefix("kos_").and_then(|name| name.strip_suffix("_latency_seconds"));
        let Some(step) = step else { continue };
        let cause: Vec<&str> =
            ["last_client_wr", "op", "err"].into_iter().filter_map(|name| histogram.label(name)).collect();
        all.entry((step.to_owned(), cause.join(" "))).or_default().merge(&histogram.buckets);
    }
    let row = |((step, cause), buckets): ((String, String), Buckets)| {
        Some(LatencyRow { count: buckets.count(), seconds: buckets.percentiles()?, step, cause })
    };
    all.into_iter().filter_map(row).collect()
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
        // From -1 s to 1 s, and to 2 s.
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
        assert_eq!((row.seconds[0], row.seconds[3]), (-1.0, 1.0), "{row:?}");
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
