//! Puts the suite together.

use super::locked::Locked;
use super::ours::Ours;
use super::shape::Shape;
use super::work::Here;
use super::{go, rows};
use crate::Options;
use crate::interleave::{self, Found, Missing, OURS, Subject};

/// Measures the shapes that are asked for.
pub(crate) fn run(options: &Options) -> anyhow::Result<Found> {
    let plans = options.wanted(rows::plans)?;
    let mut subjects: Vec<Box<dyn Subject<Shape>>> =
        vec![Box::new(Here::<Ours>::new(OURS)), Box::new(Here::<Locked>::new(rows::RWLOCK))];
    let mut missing = Missing::new();
    match go::start()? {
        Some(peer) => subjects.push(peer),
        None => {
            eprintln!("GO NOT FOUND: client-go is not measured; install Go to compare with it");
            missing.push((go::NAME, format!("go not found: {} not measured", go::NAME)));
        }
    }
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}
