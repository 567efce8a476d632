//! Assembles the suite.

use super::locked::Locked;
use super::ours::SnapshotCache;
use super::shape::SnapshotShape;
use super::work::InProcess;
use super::{go, rows};
use crate::Options;
use crate::interleave::{self, MissingPeers, OURS, Subject, SuiteResults};

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let mut subjects: Vec<Box<dyn Subject<SnapshotShape>>> = vec![
        Box::new(InProcess::<SnapshotCache>::new(OURS)),
        Box::new(InProcess::<Locked>::new(rows::RWLOCK)),
    ];
    let mut missing = MissingPeers::new();
    match go::start()? {
        Some(peer) => subjects.push(peer),
        None => {
            eprintln!("GO NOT FOUND: client-go is not measured; install Go to compare with it");
            missing.push((go::NAME, format!("go not found: {} not measured", go::NAME)));
        }
    }
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}
