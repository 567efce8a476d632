//! Assembles the suite.

use super::shape::QueueShape;
use super::{go, kube_runtime, ours, rows};
use crate::Options;
use crate::interleave::{self, MissingPeers, Subject, SuiteResults};

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let mut subjects: Vec<Box<dyn Subject<QueueShape>>> =
        vec![Box::new(ours::OurQueue::new()?), Box::new(kube_runtime::KubeRuntime::new()?)];
    let mut missing = MissingPeers::new();
    match go::start()? {
        Some(peers) => subjects.extend(peers),
        None => {
            eprintln!(
                "GO NOT FOUND: client-go and controller-runtime are not measured; install Go to compare with them"
            );
            missing.extend(go::NAMES.map(|name| (name, format!("go not found: {name} not measured"))));
        }
    }
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}
