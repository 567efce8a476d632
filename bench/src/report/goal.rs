//! Goals of rows, and verdicts.

use super::{Better, Row, figure};
use std::fmt;

/// A goal of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Goal {
    /// Better than a peer in the same run by this factor.
    Times { factor: f64, peer: &'static str },
    /// A bound of our figure: a maximum if less is better, else a minimum.
    Limit { limit: f64, unit: &'static str, better: Better },
}

impl Goal {
    pub(crate) const fn times(factor: f64, peer: &'static str) -> Self {
        Self::Times { factor, peer }
    }

    pub(crate) const fn at_least(limit: f64, unit: &'static str) -> Self {
        Self::Limit { limit, unit, better: Better::Higher }
    }

    pub(crate) const fn at_most(limit: f64, unit: &'static str) -> Self {
        Self::Limit { limit, unit, better: Better::Lower }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times { factor, peer } => write!(f, "≥ {factor}× {peer}"),
            Self::Limit { limit, unit, better } => {
                let sign = if *better == Better::Lower { '≤' } else { '≥' };
                write!(f, "{sign} {limit}{}{unit}", if unit.is_empty() { "" } else { " " })
            }
        }
    }
}

/// Returns the goals of a row as text for the bench file.
pub(super) fn text(goals: &[Goal]) -> String {
    goals.iter().map(Goal::to_string).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// A goal names a peer that has no figure in this run.
    NoPeer,
    /// Our figure is missing.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::NoPeer => "no peer",
            Self::NotMeasured => "not measured",
        })
    }
}

/// Returns the verdict of a row; `None` without a goal. One missed goal makes it a miss.
pub(crate) fn judge(row: &Row) -> Option<Verdict> {
    let each = row.goals.iter().map(|goal| judge_one(row, goal));
    let verdicts: Vec<Verdict> = each.collect();
    [Verdict::NotMeasured, Verdict::Missed, Verdict::NoPeer, Verdict::Met]
        .into_iter()
        .find(|verdict| verdicts.contains(verdict))
}

fn judge_one(row: &Row, goal: &Goal) -> Verdict {
    let Some(ours) = row.ours else { return Verdict::NotMeasured };
    let met = match goal {
        Goal::Times { factor, peer } => match row.ratio(peer) {
            Some(ratio) => ratio >= *factor,
            None => return Verdict::NoPeer,
        },
        Goal::Limit { limit, better: Better::Lower, .. } => ours <= *limit,
        Goal::Limit { limit, better: Better::Higher, .. } => ours >= *limit,
    };
    if met { Verdict::Met } else { Verdict::Missed }
}

/// Returns a peer's cell: its figure, and the factor by which ours is better.
pub(super) fn beside(row: &Row, peer: &str) -> String {
    match (row.peers.get(peer).copied().flatten(), row.ratio(peer)) {
        (Some(theirs), Some(ratio)) => format!("{} ({}×)", figure(theirs), figure(ratio)),
        (Some(theirs), None) => figure(theirs),
        (None, _) => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        better: Better,
        ours: Option<f64>,
        theirs: Option<f64>,
        goals: &[Goal],
        expect: Option<Verdict>,
    ) {
        let row = Row {
            name: "row".into(),
            unit: "ns",
            better,
            ours,
            peers: [("client-go", theirs)].into(),
            goals: goals.to_vec(),
            note: String::new(),
        };
        assert_eq!(judge(&row), expect);
    }

    #[test]
    fn a_verdict_is_computed_from_the_figures() {
        let twice = [Goal::times(2.0, "client-go")];
        check(Better::Lower, Some(50.0), Some(100.0), &twice, Some(Verdict::Met));
        check(Better::Lower, Some(51.0), Some(100.0), &twice, Some(Verdict::Missed));
        check(Better::Higher, Some(200.0), Some(100.0), &twice, Some(Verdict::Met));
        check(Better::Lower, Some(50.0), None, &twice, Some(Verdict::NoPeer));
        check(Better::Lower, None, Some(100.0), &twice, Some(Verdict::NotMeasured));
        check(Better::Lower, Some(50.0), Some(100.0), &[], None);
        check(Better::Lower, Some(160.0), None, &[Goal::at_most(160.0, "B")], Some(Verdict::Met));
    }

    #[test]
    fn one_missed_goal_is_a_miss() {
        let goals = [Goal::times(1.0, "kube-runtime"), Goal::at_most(40.0, "ns")];
        check(Better::Lower, Some(50.0), Some(100.0), &goals, Some(Verdict::Missed));
    }

    #[test]
    fn goals_are_formatted_as_in_the_design() {
        let goals = [Goal::times(1.5, "client-go"), Goal::times(3.0, "kube-runtime"), Goal::at_most(1.2, "")];
        assert_eq!(text(&goals), "≥ 1.5× client-go, ≥ 3× kube-runtime, ≤ 1.2");
    }
}
