//! Runs each shape on all subjects in turn, round by round, so that variations of the machine
//! affect all of them.

use crate::measure::{Figures, Series};
use crate::report::{Better, Goal, Row, figure};
use machinery_report::Progress;

/// A subject, ours or a peer, that runs the shapes `S` of a suite.
pub(crate) trait Subject<S> {
    fn name(&self) -> &'static str;
    /// Runs the shape once.
    fn run(&mut self, shape: &S) -> anyhow::Result<Figures>;
}

/// The name of our subject.
pub(crate) const OURS: &str = "ours";

/// A shape, the subjects without it and why, and the rows of its figures.
pub(crate) struct Plan<S> {
    pub(crate) shape: S,
    pub(crate) absent: Vec<(&'static str, &'static str)>,
    pub(crate) rows: Vec<RowSpec>,
}

/// The specification of a row.
pub(crate) struct RowSpec {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    /// The figure of the row.
    pub(crate) figure: &'static str,
    pub(crate) goals: Vec<Goal>,
    pub(crate) note: &'static str,
    /// Further figures for the note, with their labels.
    pub(crate) also: Vec<(&'static str, &'static str)>,
}

impl RowSpec {
    /// Creates a row in which less is better.
    pub(crate) fn less(name: &str, unit: &'static str, figure: &'static str) -> Self {
        Self::new(name, unit, Better::Lower, figure)
    }

    /// Creates a row in which more is better.
    pub(crate) fn more(name: &str, unit: &'static str, figure: &'static str) -> Self {
        Self::new(name, unit, Better::Higher, figure)
    }

    pub(crate) fn goals(mut self, goals: &[Goal]) -> Self {
        self.goals = goals.to_vec();
        self
    }

    pub(crate) fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    pub(crate) fn also(mut self, figure: &'static str, called: &'static str) -> Self {
        self.also.push((figure, called));
        self
    }

    fn new(name: &str, unit: &'static str, better: Better, figure: &'static str) -> Self {
        Self { name: name.to_owned(), unit, better, figure, goals: vec![], note: "", also: vec![] }
    }
}

/// Asserts that each of `names` is a row, and no two rows share a name.
#[cfg(test)]
pub(crate) fn assert_names_once<S>(plans: &[Plan<S>], names: &[&str]) {
    let rows: Vec<&str> = plans.iter().flat_map(|plan| &plan.rows).map(|row| row.name.as_str()).collect();
    for name in names {
        assert!(rows.contains(name), "{name}");
    }
    let once: std::collections::BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!(once.len(), rows.len());
}

/// Peers that could not be measured, and why.
pub(crate) type MissingPeers = Vec<(&'static str, String)>;

pub(crate) struct SuiteResults {
    pub(crate) rows: Vec<Row>,
    /// Failed runs; their figures are missing.
    pub(crate) failures: Vec<String>,
}

/// Runs all plans. `missing` peers appear in every row without a figure.
pub(crate) fn run<S>(
    plans: &[Plan<S>],
    subjects: &mut [Box<dyn Subject<S>>],
    missing: &MissingPeers,
    rounds: usize,
) -> SuiteResults {
    let mut progress = Progress::of(plans.len() as u64, "");
    let mut found = SuiteResults { rows: Vec::new(), failures: Vec::new() };
    for (number, plan) in (1..).zip(plans) {
        let name = plan.rows.first().map_or("", |row| row.name.as_str());
        progress.at(number - 1);
        progress.stage(name);
        let mut series: Vec<Series> = subjects.iter().map(|_| Series::default()).collect();
        for round in 0..rounds {
            for turn in 0..subjects.len() {
                let at = (turn + round) % subjects.len(); // the order rotates
                let subject = &mut subjects[at];
                if plan.absent.iter().any(|(peer, _)| *peer == subject.name()) {
                    continue;
                }
                progress.message(&format!("{name}: round {} of {rounds}, {}", round + 1, subject.name()));
                match subject.run(&plan.shape) {
                    Ok(figures) => series[at].push(figures),
                    Err(error) => {
                        let failure = format!("{name}: {} failed: {error:#}", subject.name());
                        progress.line(&failure);
                        found.failures.push(failure);
                    }
                }
            }
        }
        let names: Vec<&'static str> = subjects.iter().map(|subject| subject.name()).collect();
        found.rows.extend(plan.rows.iter().map(|spec| row(spec, plan, &names, &series, missing)));
    }
    found
}

fn row<S>(
    spec: &RowSpec,
    plan: &Plan<S>,
    names: &[&'static str],
    series: &[Series],
    missing: &MissingPeers,
) -> Row {
    let measured = || names.iter().copied().zip(series);
    let median = |series: &Series| series.summary(spec.figure).map(|summary| summary.median);
    let mut row = Row {
        name: spec.name.clone(),
        unit: spec.unit,
        better: spec.better,
        ours: measured().find(|(name, _)| *name == OURS).and_then(|(_, series)| median(series)),
        peers: measured()
            .filter(|(name, _)| *name != OURS)
            .map(|(name, series)| (name, median(series)))
            .collect(),
        goals: spec.goals.clone(),
        note: String::new(),
    };
    row.peers.extend(missing.iter().map(|(peer, _)| (*peer, None)));

    let mut notes: Vec<String> = Vec::new();
    notes.extend((!spec.note.is_empty()).then(|| spec.note.to_owned()));
    notes.extend(list("spread", measured(), |series| {
        let summary = series.summary(spec.figure)?;
        (summary.least < summary.most).then(|| format!("{}..{}", figure(summary.least), figure(summary.most)))
    }));
    for (name, called) in &spec.also {
        notes.extend(list(called, measured(), |series| Some(figure(series.summary(name)?.median))));
    }
    notes.extend(plan.absent.iter().map(|(peer, why)| format!("no {peer}: {why}")));
    notes.extend(missing.iter().map(|(_, why)| why.clone()));
    row.note = notes.join("; ");
    row
}

/// Returns `called: ours x, peer y` of the subjects with a figure.
fn list<'a>(
    called: &str,
    measured: impl Iterator<Item = (&'static str, &'a Series)>,
    show: impl Fn(&Series) -> Option<String>,
) -> Option<String> {
    let each: Vec<String> =
        measured.filter_map(|(name, series)| Some(format!("{name} {}", show(series)?))).collect();
    (!each.is_empty()).then(|| format!("{called}: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    struct Counted {
        name: &'static str,
        figures: Vec<f64>,
        ran: Rc<RefCell<Vec<&'static str>>>,
    }

    impl Subject<()> for Counted {
        fn name(&self) -> &'static str {
            self.name
        }

        fn run(&mut self, (): &()) -> anyhow::Result<Figures> {
            self.ran.borrow_mut().push(self.name);
            let next = self.figures.pop().ok_or_else(|| anyhow::anyhow!("no more"))?;
            Ok(Figures::default().with("ns", next))
        }
    }

    #[test]
    fn rounds_alternate_and_a_row_holds_medians_spread_and_reasons() {
        let ran = Rc::new(RefCell::new(Vec::new()));
        let subject = |name, figures: &[f64]| -> Box<dyn Subject<()>> {
            Box::new(Counted { name, figures: figures.to_vec(), ran: ran.clone() })
        };
        let mut subjects = [
            subject(OURS, &[1.0, 2.0, 9.0]),
            subject("client-go", &[10.0, 10.0]),
            subject("kube-runtime", &[]),
        ];
        let spec = RowSpec {
            name: "row".into(),
            unit: "ns",
            better: Better::Lower,
            figure: "ns",
            goals: vec![],
            note: "why",
            also: vec![],
        };
        let plan = Plan { shape: (), absent: vec![("kube-runtime", "has none")], rows: vec![spec] };
        let missing = vec![("controller-runtime", "go not found".to_owned())];
        let found = run(&[plan], &mut subjects, &missing, 3);
        let expect = ["ours", "client-go", "client-go", "ours", "ours", "client-go"];
        assert_eq!(*ran.borrow(), expect);
        assert_eq!(found.failures, ["row: client-go failed: no more"]);
        let row = &found.rows[0];
        assert_eq!(row.ours, Some(2.0));
        assert_eq!(
            row.peers,
            [("client-go", Some(10.0)), ("controller-runtime", None), ("kube-runtime", None)].into()
        );
        assert_eq!(row.note, "why; spread: ours 1.00..9.00; no kube-runtime: has none; go not found");
    }
}
