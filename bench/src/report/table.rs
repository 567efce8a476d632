//! The report as a terminal table.

use super::{Report, Row, figure, goal};
use std::collections::BTreeSet;

/// Prints the table, and the notes of the rows.
pub(crate) fn print(report: &Report) {
    let lines = cells(&report.rows);
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    println!("\n{}", report.origin.command);
    println!("{}; commit {}; {}", report.origin.machine, report.origin.commit, figures_are(report.rounds));
    println!();
    for line in &lines {
        let padded: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        println!("{}", padded.join("  ").trim_end());
    }
    println!("\nnotes");
    for row in report.rows.iter().filter(|row| !row.note.is_empty()) {
        println!("  {}: {}", row.name, row.note);
    }
}

/// Returns the explanation of the figures.
pub(super) fn figures_are(rounds: usize) -> String {
    match rounds {
        1 => "one round, no medians: good for a look, not for a claim".to_owned(),
        _ => format!(
            "medians of {rounds} rounds, all subjects one after another in each; in brackets: how many times better ours is"
        ),
    }
}

/// Returns the cells of the table: a heading, then one line per row.
pub(super) fn cells(rows: &[Row]) -> Vec<Vec<String>> {
    // Rows of one suite may have different peers.
    let peers: BTreeSet<&str> = rows.iter().flat_map(|row| row.peers.keys().copied()).collect();
    let peers = Vec::from_iter(peers);
    let fixed = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
    let mut heading = fixed(&["row", "unit", "ours"]);
    heading.extend(fixed(&peers));
    heading.extend(fixed(&["goal", "verdict"]));
    let mut lines = vec![heading];
    for row in rows {
        let mut line = vec![row.name.clone(), row.unit.to_owned(), row.ours.map_or("–".to_owned(), figure)];
        line.extend(peers.iter().map(|peer| goal::beside(row, peer)));
        line.push(goal::text(&row.goals));
        line.push(row.verdict().map_or(String::new(), |verdict| verdict.to_string()));
        lines.push(line);
    }
    lines
}
