//! A Grafana dashboard generated from the metrics.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{MetricDescription, MetricShape, Metrics, PREFIX};

/// A metric as a dashboard shows it: its exposed name and its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DashboardMetric {
    name: String,
    help: String,
    kind: PanelKind,
    labels: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PanelKind {
    HistogramSeries,
    Sizes,
    Counter,
    Gauge,
}

/// Returns a dashboard of all metrics of `kos`, and of the other metrics of a page: queues,
/// controllers, informers.
#[must_use]
pub fn dashboard(page: &str) -> Value {
    let mut rows: BTreeMap<&'static str, Vec<DashboardMetric>> = BTreeMap::new();
    let own = Metrics::default().described();
    for shown in own.iter().map(of_ours).chain(on_page(page)) {
        let row = row_of(&shown.name);
        let panels_of_row = rows.entry(row).or_default();
        if panels_of_row.iter().all(|other| other.name != shown.name) {
            panels_of_row.push(shown);
        }
    }
    let (mut panels, mut top) = (Vec::new(), 0);
    for (title, shown) in rows {
        panels.push(json!({
            "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": { "h": 1, "w": 24, "x": 0, "y": top },
        }));
        top += 1;
        for (at, shown) in shown.iter().enumerate() {
            panels.push(panel(shown, at % ACROSS * WIDTH, top + at / ACROSS * HEIGHT));
        }
        top += shown.len().div_ceil(ACROSS) * HEIGHT;
    }
    for (id, panel) in panels.iter_mut().enumerate() {
        panel["id"] = json!(id + 1);
    }
    json!({
        "title": "KOS",
        "uid": "kos",
        "tags": ["kos"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "10s",
        "time": { "from": "now-30m", "to": "now" },
        "templating": { "list": [
            { "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus" },
            {
                "name": "node", "label": "Node", "type": "query", "datasource": source(),
                "query": { "query": "label_values(kos_agent_fabric_count, node)", "refId": "node" },
                "refresh": 2, "includeAll": true, "allValue": ".*", "multi": true,
                "current": { "text": "All", "value": "$__all" },
            },
        ] },
        "panels": panels,
    })
}

/// Panels per row, and their size on Grafana's grid of 24 columns.
const ACROSS: usize = 3;
const WIDTH: usize = 24 / ACROSS;
const HEIGHT: usize = 8;

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}

fn of_ours(described: &MetricDescription) -> DashboardMetric {
    let (kind, end) = match described.shape {
        MetricShape::Seconds(_) => (PanelKind::HistogramSeries, ""),
        MetricShape::Sizes(_) => (PanelKind::Sizes, ""),
        MetricShape::Counter => (PanelKind::Counter, "_total"),
        MetricShape::Gauge => (PanelKind::Gauge, ""),
    };
    DashboardMetric {
        name: format!("{PREFIX}_{}{end}", described.name),
        help: described.help.into(),
        kind,
        labels: described.labels.iter().map(|label| (*label).to_owned()).collect(),
    }
}

/// Parses the metrics of a page in the OpenMetrics format.
fn on_page(page: &str) -> Vec<DashboardMetric> {
    let mut shown: Vec<DashboardMetric> = Vec::new();
    let mut helps = BTreeMap::new();
    for line in page.lines() {
        let mut words = line.splitn(4, ' ');
        match [words.next(), words.next(), words.next(), words.next()] {
            [Some("#"), Some("HELP"), Some(name), help] => {
                helps.insert(name.to_owned(), help.unwrap_or_default().trim_end_matches('.').to_owned());
            }
            [Some("#"), Some("TYPE"), Some(name), Some(kind)] => {
                let is_time = name.ends_with("_seconds") || name.ends_with("_secs");
                let (kind, end) = match kind {
                    "histogram" if is_time => (PanelKind::HistogramSeries, ""),
                    "histogram" => (PanelKind::Sizes, ""),
                    "counter" => (PanelKind::Counter, "_total"),
                    _ => (PanelKind::Gauge, ""),
                };
                let help = helps.get(name).cloned().unwrap_or_default();
                shown.push(DashboardMetric { name: format!("{name}{end}"), help, kind, labels: Vec::new() });
            }
            _ => {
                let (Some(last), Some((_, labels))) = (shown.last_mut(), line.split_once('{')) else {
                    continue;
                };
                let labels = labels.split("\",").filter_map(|pair| Some(pair.split_once('=')?.0.to_owned()));
                for label in labels.filter(|label| label != "le") {
                    if !last.labels.contains(&label) {
                        last.labels.push(label);
                    }
                }
            }
        }
    }
    shown
}

fn row_of(name: &str) -> &'static str {
    const ROWS: [(&str, &str); 6] = [
        ("kos_subnet_validator_", "Subnets"),
        ("kos_ipam_", "Addresses"),
        ("kos_agent_", "Nodes"),
        ("kos_driver_", "Load"),
        ("machinery_informer", "Informers"),
        ("workqueue_", "Queues"),
    ];
    ROWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or("Controllers", |(_, row)| row)
}

fn panel(shown: &DashboardMetric, x: usize, y: usize) -> Value {
    let by: Vec<&str> = shown.labels.iter().map(String::as_str).filter(|label| *label != "node").collect();
    let of_nodes = if shown.labels.iter().any(|label| label == "node") { "{node=~\"$node\"}" } else { "" };
    let legend = |more: &str| {
        let labels = by.iter().map(|label| format!("{{{{{label}}}}}")).chain([more.to_owned()]);
        labels.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let sum = |what: String, extra: &[&str]| {
        let by: Vec<&str> = extra.iter().chain(&by).copied().collect();
        if by.is_empty() { format!("sum({what})") } else { format!("sum by ({}) ({what})", by.join(", ")) }
    };
    let DashboardMetric { name, .. } = shown;
    let queries: Vec<(String, String)> = match shown.kind {
        PanelKind::HistogramSeries | PanelKind::Sizes => [("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")]
            .map(|(quantile, short)| {
                let rate = sum(format!("rate({name}_bucket{of_nodes}[$__rate_interval])"), &["le"]);
                (format!("histogram_quantile({quantile}, {rate})"), legend(short))
            })
            .into(),
        PanelKind::Counter => {
            vec![(sum(format!("rate({name}{of_nodes}[$__rate_interval])"), &[]), legend(""))]
        }
        PanelKind::Gauge => vec![(sum(format!("{name}{of_nodes}"), &[]), legend(""))],
    };
    let targets = queries.into_iter().zip('A'..).map(|((query, legend), id)| {
        json!({ "refId": id.to_string(), "datasource": source(), "expr": query, "legendFormat": legend })
    });
    let unit = match shown.kind {
        PanelKind::HistogramSeries => "s",
        PanelKind::Counter => "ops",
        PanelKind::Sizes | PanelKind::Gauge => "short",
    };
    json!({
        "type": "timeseries",
        "title": name,
        "description": shown.help,
        "datasource": source(),
        "gridPos": { "h": HEIGHT, "w": WIDTH, "x": x, "y": y },
        "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
        "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
        "targets": targets.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(dashboard: &Value) -> Vec<&str> {
        let panels = dashboard["panels"].as_array().unwrap();
        panels.iter().map(|panel| panel["title"].as_str().unwrap()).collect()
    }

    #[test]
    fn every_metric_has_exactly_one_panel() {
        let page = "# HELP workqueue_depth How many.\n# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"a, b\",kind=\"x\"} 3\n\
                    # TYPE kos_agent_local_attachments gauge\nkos_agent_local_attachments{node=\"n\"} 1\n# EOF\n";
        let dashboard = dashboard(page);
        let mut titles = titles(&dashboard);
        let rows = ["Addresses", "Load", "Nodes", "Queues", "Subnets", "Controllers"];
        assert_eq!(titles.len(), Metrics::default().described().len() + 1 + rows.len(), "{titles:#?}");
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), Metrics::default().described().len() + 1 + rows.len());
        let of = |title: &str| {
            let panels = dashboard["panels"].as_array().unwrap();
            panels.iter().find(|panel| panel["title"] == title).unwrap()["targets"].clone()
        };
        assert_eq!(of("workqueue_depth")[0]["expr"], "sum by (name, kind) (workqueue_depth)");
        assert_eq!(of("workqueue_depth")[0]["legendFormat"], "{{name}} {{kind}}");
        assert_eq!(
            of("kos_agent_fabric_latency_seconds")[2]["expr"],
            "histogram_quantile(0.99, sum by (le, op, err) (rate(kos_agent_fabric_latency_seconds_bucket{node=~\"$node\"}[$__rate_interval])))"
        );
        assert_eq!(of("kos_ipam_address_contention")[0]["legendFormat"], "p50");
    }

    /// Grafana draws overlapping panels over each other.
    #[test]
    fn panels_do_not_overlap() {
        let dashboard = dashboard("");
        let mut taken = std::collections::BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(x < 24 && taken.insert((x, y)), "{panel:#}");
                }
            }
        }
    }
}
