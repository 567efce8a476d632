//! Assembles the suite.

use super::measured::{CR, ControllerSubject, LoopProgram};
use super::process::ControllerLibrary;
use super::rows;
use super::shape::ControllerShape;
use crate::informer::site::SharedServer;
use crate::interleave::{self, MissingPeers, Subject, SuiteResults};
use crate::scratch::Scratch;
use crate::{Options, go};
use std::cell::RefCell;
use std::rc::Rc;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let scratch = Rc::new(Scratch::new()?);
    let site = Rc::new(RefCell::new(SharedServer::new(scratch)?));
    let turns = Rc::new(RefCell::new(1));
    let subject = |of| -> Box<dyn Subject<ControllerShape>> {
        Box::new(ControllerSubject { of, site: site.clone(), turns: turns.clone() })
    };
    let mut subjects = vec![
        subject(LoopProgram::Rust(ControllerLibrary::Ours)),
        subject(LoopProgram::Rust(ControllerLibrary::KubeRuntime)),
    ];
    let mut missing = MissingPeers::new();
    if go::is_here() {
        subjects.push(subject(LoopProgram::Go(go::build("go")?)));
    } else {
        eprintln!("GO NOT FOUND: {CR} is not measured; install Go to compare with it");
        missing.push((CR, format!("go not found: {CR} not measured")));
    }
    let found = interleave::run(&plans, &mut subjects, &missing, options.rounds());
    site.borrow_mut().end()?;
    Ok(found)
}
