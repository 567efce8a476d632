//! Puts the suite together.

use super::measured::Measured;
use super::process::Library;
use super::rows;
use super::shape::Kind;
use crate::Options;
use crate::informer::site::Site;
use crate::interleave::{self, Found, Subject};
use crate::scratch::Scratch;
use std::cell::RefCell;
use std::rc::Rc;

/// Measures the shapes that are asked for.
pub(crate) fn run(options: &Options) -> anyhow::Result<Found> {
    let plans = options.wanted(rows::plans)?;
    let scratch = Rc::new(Scratch::new()?);
    let site = Rc::new(RefCell::new(Site::new(scratch)?));
    let turns = Rc::new(RefCell::new(1));
    let mut subjects = [Library::Ours, Library::KubeRuntime].map(|library| -> Box<dyn Subject<Kind>> {
        Box::new(Measured { library, site: site.clone(), turns: turns.clone() })
    });
    let found = interleave::run(&plans, &mut subjects, &Vec::new(), options.rounds());
    site.borrow_mut().end()?;
    Ok(found)
}
