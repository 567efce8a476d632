//! Assembles the suite.

use super::measured::{CG, InformerSubject, SubjectProcess};
use super::process::InformerLibrary;
use super::rows;
use super::shape::InformerShape;
use super::site::SharedServer;
use crate::interleave::{self, MissingPeers, Subject, SuiteResults};
use crate::scratch::Scratch;
use crate::{Options, go};
use std::cell::RefCell;
use std::rc::Rc;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    crate::watches::allow(2000)?;
    let scratch = Rc::new(Scratch::new()?);
    let site = Rc::new(RefCell::new(SharedServer::new(scratch.clone())?));
    let measured = |whose| -> Box<dyn Subject<InformerShape>> {
        Box::new(InformerSubject { whose, site: site.clone(), scratch: scratch.clone() })
    };
    let mut subjects = vec![
        measured(SubjectProcess::Rust(InformerLibrary::Ours)),
        measured(SubjectProcess::Rust(InformerLibrary::KubeRuntime)),
    ];
    let mut missing = MissingPeers::new();
    if go::is_here() {
        subjects.push(measured(SubjectProcess::Go(go::build("go")?)));
    } else {
        eprintln!("GO NOT FOUND: client-go is not measured; install Go to compare with it");
        missing.push((CG, format!("go not found: {CG} not measured")));
    }
    let found = interleave::run(&plans, &mut subjects, &missing, options.rounds());
    site.borrow_mut().end()?;
    Ok(found)
}
