//! Plots of bench files.

use anyhow::Context;
use machinery_report::{ComparisonRow, comparison_plot};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A bench file, as far as a plot shows it.
#[derive(Deserialize)]
struct BenchFile {
    rows: Vec<FileRow>,
}

#[derive(Deserialize)]
struct FileRow {
    name: String,
    better: String,
    ours: Option<f64>,
    peers: BTreeMap<String, Option<f64>>,
    goal: String,
}

/// Writes a plot beside each bench file, with the factors by which ours is better than each peer.
/// Rows without a peer are left out.
pub(crate) fn plot_files(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed: BenchFile = serde_json::from_str(&text)
            .with_context(|| format!("{} is no file of `--json`", file.display()))?;
        let (picture, rows) = (file.with_extension("svg"), rows(&parsed));
        if rows.is_empty() {
            println!("{}: no row has a peer", file.display());
            continue;
        }
        std::fs::write(&picture, comparison_plot(&title(file), &rows)?)
            .with_context(|| format!("cannot write {}", picture.display()))?;
        println!("{}", picture.display());
    }
    Ok(())
}

fn title(file: &Path) -> String {
    let suite = file.file_stem().unwrap_or_default().to_string_lossy();
    format!("{suite}: Machinery beside its peers")
}

fn rows(file: &BenchFile) -> Vec<ComparisonRow> {
    let factors = |row: &FileRow| {
        let ours = row.ours.filter(|ours| *ours > 0.0)?;
        let factor = |theirs: f64| if row.better == "lower" { theirs / ours } else { ours / theirs };
        let measured = row.peers.iter().filter_map(|(peer, theirs)| Some((peer.clone(), factor((*theirs)?))));
        Some(measured.collect::<Vec<_>>()).filter(|factors| !factors.is_empty())
    };
    file.rows
        .iter()
        .filter_map(|row| {
            Some(ComparisonRow { name: row.name.clone(), factors: factors(row)?, goals: goals(&row.goal) })
        })
        .collect()
}

/// Returns the factors of the goals beside peers: `≥ 1.5× etcd, ≤ 40 ns` has one.
fn goals(text: &str) -> Vec<(String, f64)> {
    let goal = |goal: &str| {
        let (factor, peer) = goal.trim().strip_prefix("≥ ")?.split_once("× ")?;
        Some((peer.to_owned(), factor.parse().ok()?))
    };
    text.split(',').filter_map(goal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_goals_are_read_from_a_bench_file() {
        let text = r#"{"machine":"m","rows":[
            {"name":"a","unit":"ns","better":"lower","ours":50.0,"peers":{"etcd":100.0,"redb":null},"goal":"≥ 1.5× etcd, ≤ 40 ns","note":""},
            {"name":"b","unit":"1/s","better":"higher","ours":50.0,"peers":{"etcd":100.0},"goal":"≤ 40 ns","note":""},
            {"name":"c","unit":"B","better":"lower","ours":50.0,"peers":{},"goal":"","note":""},
            {"name":"d","unit":"B","better":"lower","ours":null,"peers":{"etcd":1.0},"goal":"","note":""}
        ]}"#;
        let found = rows(&serde_json::from_str(text).expect("a bench file"));
        let row = |name: &str, factor, goals: &[f64]| ComparisonRow {
            name: name.into(),
            factors: vec![("etcd".into(), factor)],
            goals: goals.iter().map(|goal| ("etcd".into(), *goal)).collect(),
        };
        assert_eq!(found, [row("a", 2.0, &[1.5]), row("b", 0.5, &[])]);
    }
}
