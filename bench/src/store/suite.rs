//! Assembles the suite.

use super::measured::StoreSubject;
use super::ours::OurStore;
use super::shape::StoreShape;
use super::{etcd, rows};
use crate::interleave::{self, MissingPeers, Subject, SuiteResults};
use crate::scratch::Scratch;
use crate::{Options, go};
use std::rc::Rc;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let scratch = Rc::new(Scratch::new()?);
    let mut subjects: Vec<Box<dyn Subject<StoreShape>>> =
        vec![Box::new(StoreSubject::new(OurStore::new(scratch.clone()), scratch.clone()))];
    let mut missing = MissingPeers::new();
    match (etcd::version(), go::start()?) {
        (Some(version), Some(peers)) => {
            eprintln!("beside {version}");
            let etcd = etcd::Etcd::new(peers, scratch.clone());
            subjects.push(Box::new(StoreSubject::new(etcd, scratch)));
        }
        (version, _) => {
            let (what, remedy) = match version {
                None => ("etcd", "`cargo xtask setup` installs it where it may"),
                Some(_) => ("go", "install Go, which builds etcd's client"),
            };
            eprintln!("{} NOT FOUND: etcd is not measured; {remedy}", what.to_uppercase());
            missing.push((etcd::NAME, format!("{what} not found: etcd not measured")));
        }
    }
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}
