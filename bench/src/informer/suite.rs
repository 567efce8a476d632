//! Puts the suite together.

use super::measured::{CG, Measured, Whose};
use super::process::Library;
use super::rows;
use super::shape::Kind;
use super::site::Site;
use crate::interleave::{self, Found, Missing, Subject};
use crate::scratch::Scratch;
use crate::{Options, go};
use std::cell::RefCell;
use std::rc::Rc;

/// Measures the shapes that are asked for.
pub(crate) fn run(options: &Options) -> anyhow::Result<Found> {
    let plans = options.wanted(rows::plans)?;
    crate::watches::allow(2000)?;
    let scratch = Rc::new(Scratch::new()?);
    let site = Rc::new(RefCell::new(Site::new(scratch.clone())?));
    let measured = |whose| -> Box<dyn Subject<Kind>> {
        Box::new(Measured { whose, site: site.clone(), scratch: scratch.clone() })
    };
    let mut subjects =
        vec![measured(Whose::Rust(Library::Ours)), measured(Whose::Rust(Library::KubeRuntime))];
    let mut missing = Missing::new();
    if go::is_here() {
        subjects.push(measured(Whose::Go(go::build("go")?)));
    } else {
        eprintln!("GO NOT FOUND: client-go is not measured; install Go to compare with it");
        missing.push((CG, format!("go not found: {CG} not measured")));
    }
    let found = interleave::run(&plans, &mut subjects, &missing, options.rounds());
    site.borrow_mut().end()?;
    Ok(found)
}
