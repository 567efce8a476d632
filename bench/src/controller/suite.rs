//! Assembles the suite.

use super::measured::ControllerSubject;
use super::process::ControllerLibrary;
use super::rows;
use super::shape::ControllerShape;
use crate::Options;
use crate::informer::site::SharedServer;
use crate::interleave::{self, Subject, SuiteResults};
use crate::scratch::Scratch;
use std::cell::RefCell;
use std::rc::Rc;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let scratch = Rc::new(Scratch::new()?);
    let site = Rc::new(RefCell::new(SharedServer::new(scratch)?));
    let turns = Rc::new(RefCell::new(1));
    let mut subjects = [ControllerLibrary::Ours, ControllerLibrary::KubeRuntime].map(
        |library| -> Box<dyn Subject<ControllerShape>> {
            Box::new(ControllerSubject { library, site: site.clone(), turns: turns.clone() })
        },
    );
    let found = interleave::run(&plans, &mut subjects, &Vec::new(), options.rounds());
    site.borrow_mut().end()?;
    Ok(found)
}
