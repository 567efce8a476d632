//! The ceilings of each crate: figures may fall, and then the ceiling follows; they may not rise.

use super::figures::{Figures, Rule};

/// Ceilings of one crate, in the order of [`Rule::ALL`].
pub(crate) struct Ceilings {
    pub(crate) name: &'static str,
    pub(crate) limits: [f64; Rule::ALL.len()],
}

/// The committed table. A crate that is missing here has the goals as its ceilings. It is empty,
/// because every crate is at the goals; a row is for a crate that is merged above them.
pub(crate) const CEILINGS: &[Ceilings] = &[];

/// The share of a ceiling by which a figure may be below it before the ceiling must be lowered.
const SLACK: f64 = 0.1;

/// Compares the figures of a crate with its row of the table. Each entry is a paragraph that names
/// the remedy.
pub(crate) fn judge(name: &str, figures: &Figures, table: &[Ceilings]) -> Vec<String> {
    let judge = |rule| judge_one(name, rule, figures.value(rule), ceiling(name, rule, table));
    Rule::ALL.into_iter().filter_map(judge).collect()
}

/// Returns whether a figure is above its ceiling, so that its lines are worth printing.
pub(crate) fn is_over(name: &str, rule: Rule, figures: &Figures) -> bool {
    figures.value(rule) > ceiling(name, rule, CEILINGS)
}

fn ceiling(name: &str, rule: Rule, table: &[Ceilings]) -> f64 {
    table.iter().find(|row| row.name == name).map_or(rule.goal(), |row| row.limits[rule as usize])
}

fn judge_one(name: &str, rule: Rule, value: f64, ceiling: f64) -> Option<String> {
    if value > ceiling {
        return Some(format!(
            "{name}: {value} {}: the ceiling is {ceiling}\n    what to do: reword the lines below with the terms of docs/glossary.md",
            rule.name()
        ));
    }
    // At the goal and below there is no lower bound, so that a better text is no failure.
    if ceiling > rule.goal() && value < ceiling * (1.0 - SLACK) {
        let lower = value.max(rule.goal());
        return Some(format!(
            "{name}: {value} {}: more than a tenth below the ceiling of {ceiling}\n    what to do: lower the ceiling to {lower} in \
             xtask/src/words/ceilings.rs",
            rule.name()
        ));
    }
    None
}
