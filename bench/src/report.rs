//! The results of a suite, as rows, file and tables.

mod goal;
mod markdown;
mod origin;
mod plot;
mod table;

pub(crate) use goal::{Goal, Verdict, judge};
pub(crate) use machinery_report::figure;
pub(crate) use markdown::write_section;
pub(crate) use origin::Origin;
pub(crate) use plot::plot_files;
pub(crate) use table::print;

use anyhow::Context;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::Path;

/// Whether less or more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// A row: our figure beside those of the peers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) ours: Option<f64>,
    /// The figures of the peers; `None` if not available or not measured, with the reason in the
    /// note.
    pub(crate) peers: BTreeMap<&'static str, Option<f64>>,
    #[serde(rename = "goal", serialize_with = "as_text")]
    pub(crate) goals: Vec<Goal>,
    pub(crate) note: String,
}

impl Row {
    /// Returns the factor by which ours is better than the peer's.
    pub(crate) fn ratio(&self, peer: &str) -> Option<f64> {
        let (ours, theirs) = (self.ours?, self.peers.get(peer).copied()??);
        Some(match self.better {
            Better::Lower => theirs / ours,
            Better::Higher => ours / theirs,
        })
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        judge(self)
    }
}

fn as_text<S: Serializer>(goals: &[Goal], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&goal::text(goals))
}

/// The results of one run of a suite, with their origin.
#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    #[serde(skip)]
    pub(crate) suite: &'static str,
    #[serde(skip)]
    pub(crate) rounds: usize,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// Writes the bench file.
    pub(crate) fn write_json(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self).context("a report is plain data")?;
        text.push('\n');
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_file_has_the_agreed_keys() {
        let row = Row {
            name: "add-get-done".into(),
            unit: "ns",
            better: Better::Lower,
            ours: Some(70.0),
            peers: [("client-go", Some(119.0)), ("kube-runtime", None)].into(),
            goals: vec![Goal::times(1.5, "client-go")],
            note: String::new(),
        };
        assert_eq!(row.ratio("client-go"), Some(1.7));
        let origin = Origin { machine: "m".into(), commit: "c".into(), command: "x".into() };
        let report = Report { origin, suite: "workqueue", rounds: 5, rows: vec![row] };
        let expect = r#"{"machine":"m","commit":"c","command":"x","rows":[{"name":"add-get-done","unit":"ns","better":"lower","ours":70.0,"peers":{"client-go":119.0,"kube-runtime":null},"goal":"≥ 1.5× client-go","note":""}]}"#;
        assert_eq!(serde_json::to_string(&report).expect("plain data"), expect);
    }
}
