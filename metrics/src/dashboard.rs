//! Grafana dashboards.

use serde_json::{Value, json};

use crate::markdown::rows;
use crate::{Description, MetricShape, Unit};

/// A Grafana dashboard of described metrics.
///
/// ```
/// use machinery_metrics::{Dashboard, Description};
///
/// let metrics = [Description::counter("pump_strokes", "Strokes").labels(&["pump"]).row("Pumps")];
/// let json = Dashboard::new("Pumps", "pumps").filter("pump", "pump_strokes_total").json(&metrics);
/// assert_eq!(json["panels"][1]["title"], "pump_strokes_total");
/// ```
#[derive(Clone, Debug)]
pub struct Dashboard {
    title: String,
    uid: String,
    filters: Vec<(String, String)>,
}

/// Panels per row, and their size on Grafana's grid of 24 columns.
const ACROSS: usize = 3;
const WIDTH: usize = 24 / ACROSS;
const HEIGHT: usize = 8;

impl Dashboard {
    /// Creates a dashboard without filters. The UID is the dashboard's address in Grafana.
    #[must_use]
    pub fn new(title: &str, uid: &str) -> Self {
        Self { title: title.into(), uid: uid.into(), filters: Vec::new() }
    }

    /// Adds a selection of the values of a label, which are read from the given metric. It applies
    /// to all metrics with the label.
    #[must_use]
    pub fn filter(mut self, label: &str, metric: &str) -> Self {
        self.filters.push((label.into(), metric.into()));
        self
    }

    /// Returns the dashboard for Grafana's import.
    #[must_use]
    pub fn json(&self, descriptions: &[Description]) -> Value {
        let (mut panels, mut top) = (Vec::new(), 0);
        for row in rows(descriptions) {
            panels.push(json!({
                "type": "row", "title": row, "collapsed": false, "panels": [],
                "gridPos": { "h": 1, "w": 24, "x": 0, "y": top },
            }));
            top += 1;
            let of_row: Vec<&Description> = descriptions.iter().filter(|one| one.panel.row == row).collect();
            let groups = panel_groups(&of_row);
            for (at, group) in groups.iter().enumerate() {
                panels.push(self.panel(group, at % ACROSS * WIDTH, top + at / ACROSS * HEIGHT));
            }
            top += groups.len().div_ceil(ACROSS) * HEIGHT;
        }
        for (id, panel) in panels.iter_mut().enumerate() {
            panel["id"] = json!(id + 1);
        }
        json!({
            "title": self.title,
            "uid": self.uid,
            "tags": [self.uid],
            "schemaVersion": 39,
            "editable": true,
            "refresh": "10s",
            "time": { "from": "now-30m", "to": "now" },
            "templating": { "list": self.variables() },
            "panels": panels,
        })
    }

    fn variables(&self) -> Vec<Value> {
        let source =
            json!({ "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus" });
        let filters = self.filters.iter().map(|(label, metric)| {
            json!({
                "name": label, "label": label, "type": "query", "datasource": data_source(),
                "query": { "query": format!("label_values({metric}, {label})"), "refId": label },
                "refresh": 2, "includeAll": true, "allValue": ".*", "multi": true,
                "current": { "text": "All", "value": "$__all" },
            })
        });
        [source].into_iter().chain(filters).collect()
    }

    fn panel(&self, group: &[&Description], x: usize, y: usize) -> Value {
        let is_shared = group.len() > 1;
        let queries: Vec<Query> = group.iter().flat_map(|one| self.queries(one, is_shared)).collect();
        let targets = queries.iter().enumerate().map(|(at, Query { expression, legend })| {
            json!({
                "refId": reference(at), "datasource": data_source(), "expr": expression, "legendFormat": legend,
            })
        });
        let first = group.first().map_or("short", |one| unit_text(one));
        let helps: Vec<String> =
            group
                .iter()
                .map(|one| {
                    if is_shared { format!("{}: {}", one.exposed_name(), one.help) } else { one.help.into() }
                })
                .collect();
        json!({
            "type": "timeseries",
            "title": group.first().map(|one| title(one)),
            "description": helps.join("\n\n"),
            "datasource": data_source(),
            "gridPos": { "h": HEIGHT, "w": WIDTH, "x": x, "y": y },
            "fieldConfig": { "defaults": { "unit": first, "min": 0 }, "overrides": [] },
            "options": {
                "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" },
            },
            "targets": targets.collect::<Vec<_>>(),
        })
    }

    fn queries(&self, one: &Description, is_shared: bool) -> Vec<Query> {
        let is_filter = |label: &&str| self.filters.iter().any(|(filter, _)| filter == label);
        let (filtered, by): (Vec<&str>, Vec<&str>) = one.labels.iter().copied().partition(is_filter);
        let filters: Vec<String> = filtered.iter().map(|label| format!("{label}=~\"${label}\"")).collect();
        let selector = if filters.is_empty() { String::new() } else { format!("{{{}}}", filters.join(",")) };
        let sum = |series: String, more: &[&str]| {
            let by: Vec<&str> = more.iter().chain(&by).copied().collect();
            if by.is_empty() {
                format!("sum({series})")
            } else {
                format!("sum by ({}) ({series})", by.join(", "))
            }
        };
        let legend = |end: &str| {
            let name = if is_shared { short_name(one) } else { String::new() };
            let labels = by.iter().map(|label| format!("{{{{{label}}}}}"));
            let parts: Vec<String> = [name]
                .into_iter()
                .chain(labels)
                .chain([end.to_owned()])
                .filter(|part| !part.is_empty())
                .collect();
            parts.join(" ")
        };
        let name = one.exposed_name();
        match one.shape {
            MetricShape::Histogram(_) => [("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")]
                .map(|(quantile, short)| {
                    let rate = sum(format!("rate({name}_bucket{selector}[$__rate_interval])"), &["le"]);
                    Query {
                        expression: format!("histogram_quantile({quantile}, {rate})"),
                        legend: legend(short),
                    }
                })
                .into(),
            MetricShape::Counter => {
                let expression = sum(format!("rate({name}{selector}[$__rate_interval])"), &[]);
                vec![Query { expression, legend: legend("") }]
            }
            MetricShape::Gauge | MetricShape::Info => {
                vec![Query { expression: sum(format!("{name}{selector}"), &[]), legend: legend("") }]
            }
        }
    }
}

struct Query {
    expression: String,
    legend: String,
}

/// Groups the metrics of a row by panel: those with the same title and unit share one.
fn panel_groups<'d>(of_row: &[&'d Description]) -> Vec<Vec<&'d Description>> {
    let mut groups: Vec<Vec<&Description>> = Vec::new();
    for one in of_row {
        let key = (title(one), unit_text(one));
        let same = |group: &&mut Vec<&Description>| {
            group.first().is_some_and(|first| (title(first), unit_text(first)) == key)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn title(one: &Description) -> String {
    if one.panel.title.is_empty() { one.exposed_name() } else { one.panel.title.into() }
}

/// Returns Grafana's name of the unit on the panel's axis.
const fn unit_text(one: &Description) -> &'static str {
    match (one.shape, one.unit) {
        (MetricShape::Counter, Unit::Bytes) => "Bps",
        (MetricShape::Counter, _) => "ops",
        (_, Unit::Seconds) => "s",
        (_, Unit::Bytes) => "bytes",
        (_, Unit::Count | Unit::Flag) => "short",
    }
}

/// Returns the name in a legend: the last three words are enough below the panel's title.
fn short_name(one: &Description) -> String {
    let words: Vec<&str> = one.name.split('_').filter(|word| !["seconds", "bytes"].contains(word)).collect();
    words.iter().skip(words.len().saturating_sub(3)).copied().collect::<Vec<_>>().join(" ")
}

/// Returns the identifier of a query: A to Z, then A1, B1, …
fn reference(at: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    if at < 26 { letter.to_string() } else { format!("{letter}{}", at / 26) }
}

fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const METRICS: &[Description] = &[
        Description::seconds("pump_stroke_seconds", "Strokes", &[])
            .labels(&["node", "op", "err"])
            .row("Pumps"),
        Description::gauge("pump_ports", "Ports").labels(&["node"]).row("Pumps").titled("Switch"),
        Description::gauge("pump_flows", "Flows").labels(&["node"]).row("Pumps").titled("Switch"),
        Description::counter("pump_repairs", "Repairs").row("Pumps").titled("Switch"),
        Description::counter("pump_sent_bytes", "Bytes").unit(Unit::Bytes).row("Others"),
        Description::gauge("queue_depth", "Keys").labels(&["name"]).row("Queues"),
    ];

    fn dashboard() -> Value {
        Dashboard::new("Pumps", "pumps").filter("node", "pump_ports").json(METRICS)
    }

    fn panels(dashboard: &Value) -> &[Value] {
        dashboard["panels"].as_array().unwrap()
    }

    #[test]
    fn p02_every_metric_has_exactly_one_panel() {
        let dashboard = dashboard();
        for one in METRICS {
            let name = one.exposed_name();
            let holds = |panel: &&Value| panel["targets"].to_string().contains(&name);
            assert_eq!(panels(&dashboard).iter().filter(holds).count(), 1, "{name}");
        }
        let titles: Vec<&str> =
            panels(&dashboard).iter().map(|panel| panel["title"].as_str().unwrap()).collect();
        // The counter has another unit, hence a panel of its own.
        assert_eq!(
            titles,
            [
                "Pumps",
                "pump_stroke_seconds",
                "Switch",
                "Switch",
                "Others",
                "pump_sent_bytes_total",
                "Queues",
                "queue_depth"
            ]
        );
        let units: Vec<_> = panels(&dashboard)
            .iter()
            .filter_map(|panel| panel["fieldConfig"]["defaults"]["unit"].as_str())
            .collect();
        assert_eq!(units, ["s", "short", "ops", "Bps", "short"]);
    }

    #[test]
    fn p02_queries_have_filters_and_labels() {
        let dashboard = dashboard();
        let target = |panel: usize, at: usize| {
            let target = &panels(&dashboard)[panel]["targets"][at];
            [target["refId"].as_str(), target["expr"].as_str(), target["legendFormat"].as_str()]
                .map(Option::unwrap)
        };
        assert_eq!(
            target(1, 2),
            [
                "C",
                "histogram_quantile(0.99, sum by (le, op, err) (rate(pump_stroke_seconds_bucket{node=~\"$node\"}[$__rate_interval])))",
                "{{op}} {{err}} p99",
            ]
        );
        assert_eq!(target(2, 1), ["B", "sum(pump_flows{node=~\"$node\"})", "pump flows"]);
        assert_eq!(target(3, 0), ["A", "sum(rate(pump_repairs_total[$__rate_interval]))", ""]);
        assert_eq!(target(7, 0), ["A", "sum by (name) (queue_depth)", "{{name}}"]);
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        assert_eq!(variables[1]["query"]["query"], "label_values(pump_ports, node)");
        assert_eq!(["A", "Z", "A1", "B2"].map(String::from), [0, 25, 26, 53].map(reference));
    }

    /// Grafana draws overlapping panels over each other.
    #[test]
    fn p02_panels_do_not_overlap() {
        let many: Vec<Description> = METRICS.iter().cycle().take(60).map(|one| one.titled("")).collect();
        for dashboard in [dashboard(), Dashboard::new("x", "x").json(&many)] {
            let (mut taken, mut ids) = (BTreeSet::new(), BTreeSet::new());
            for panel in panels(&dashboard) {
                assert!(ids.insert(panel["id"].as_u64()));
                let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
                for x in at("x")..at("x") + at("w") {
                    for y in at("y")..at("y") + at("h") {
                        assert!(x < 24 && taken.insert((x, y)), "{panel:#}");
                    }
                }
            }
        }
    }
}
