//! A dashboard for Grafana, made from what there is to show.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Described, Metrics, PREFIX, Shape};

/// Of one metric, how it is called on the page `/metrics`, and by what it is told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    name: String,
    help: String,
    kind: Kind,
    labels: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Times,
    Sizes,
    Counter,
    Gauge,
}

/// A dashboard of all numbers of `kos`, and of what a page `/metrics` has besides: of queues, controllers, informers.
#[must_use]
pub fn dashboard(page: &str) -> Value {
    let mut rows: BTreeMap<&'static str, Vec<Shown>> = BTreeMap::new();
    let own = Metrics::default().described();
    for shown in own.iter().map(of_ours).chain(on_page(page)) {
        let row = row_of(&shown.name);
        let shown_there = rows.entry(row).or_default();
        if shown_there.iter().all(|other| other.name != shown.name) {
            shown_there.push(shown);
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

/// So many panels stand side by side, each so wide and so high, where the whole is 24 wide.
const ACROSS: usize = 3;
const WIDTH: usize = 24 / ACROSS;
const HEIGHT: usize = 8;

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}

fn of_ours(described: &Described) -> Shown {
    let (kind, end) = match described.shape {
        Shape::Seconds(_) => (Kind::Times, ""),
        Shape::Sizes(_) => (Kind::Sizes, ""),
        Shape::Counter => (Kind::Counter, "_total"),
        Shape::Gauge => (Kind::Gauge, ""),
    };
    Shown {
        name: format!("{PREFIX}_{}{end}", described.name),
        help: described.help.into(),
        kind,
        labels: described.labels.iter().map(|label| (*label).to_owned()).collect(),
    }
}

/// What a page has, as OpenMetrics writes it.
fn on_page(page: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
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
                    "histogram" if is_time => (Kind::Times, ""),
                    "histogram" => (Kind::Sizes, ""),
                    "counter" => (Kind::Counter, "_total"),
                    _ => (Kind::Gauge, ""),
                };
                let help = helps.get(name).cloned().unwrap_or_default();
                shown.push(Shown { name: format!("{name}{end}"), help, kind, labels: Vec::new() });
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
        ("machinery_informer", "What is heard of"),
        ("workqueue_", "Queues"),
    ];
    ROWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or("What runs", |(_, row)| row)
}

fn panel(shown: &Shown, x: usize, y: usize) -> Value {
    let by: Vec<&str> = shown.labels.iter().map(String::as_str).filter(|label| *label != "node").collect();
    let of_nodes = if shown.labels.iter().any(|label| label == "node") { "{node=~\"$node\"}" } else { "" };
    let legend = |more: &str| {
        let labels = by.iter().map(|label| format!("{{{{{label}}}}}")).chain([more.to_owned()]);
        labels.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let sum = |what: String, besides: &[&str]| {
        let by: Vec<&str> = besides.iter().chain(&by).copied().collect();
        if by.is_empty() { format!("sum({what})") } else { format!("sum by ({}) ({what})", by.join(", ")) }
    };
    let Shown { name, .. } = shown;
    let queries: Vec<(String, String)> = match shown.kind {
        Kind::Times | Kind::Sizes => [("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")]
            .map(|(quantile, short)| {
                let rate = sum(format!("rate({name}_bucket{of_nodes}[$__rate_interval])"), &["le"]);
                (format!("histogram_quantile({quantile}, {rate})"), legend(short))
            })
            .into(),
        Kind::Counter => vec![(sum(format!("rate({name}{of_nodes}[$__rate_interval])"), &[]), legend(""))],
        Kind::Gauge => vec![(sum(format!("{name}{of_nodes}"), &[]), legend(""))],
    };
    let targets = queries.into_iter().zip('A'..).map(|((query, legend), id)| {
        json!({ "refId": id.to_string(), "datasource": source(), "expr": query, "legendFormat": legend })
    });
    let unit = match shown.kind {
        Kind::Times => "s",
        Kind::Counter => "ops",
        Kind::Sizes | Kind::Gauge => "short",
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
    fn every_number_has_a_panel_and_none_two() {
        let page = "# HELP workqueue_depth How many.\n# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"a, b\",kind=\"x\"} 3\n\
                    # TYPE kos_agent_local_attachments gauge\nkos_agent_local_attachments{node=\"n\"} 1\n# EOF\n";
        let dashboard = dashboard(page);
        let mut titles = titles(&dashboard);
        let rows = ["Addresses", "Load", "Nodes", "Queues", "Subnets", "What runs"];
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

    /// Grafana draws what lies on another on top of it.
    #[test]
    fn no_panel_lies_on_another() {
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
