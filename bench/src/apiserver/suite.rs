//! Puts the suite together.

use super::measured::Measured;
use super::rows;
use crate::Options;
use crate::interleave::{self, Found};
use crate::server::subjects;
use anyhow::ensure;

/// Measures the shapes that are asked for.
pub(crate) fn run(options: &Options) -> anyhow::Result<Found> {
    let mut plans = rows::plans(options.quick);
    plans.retain(|plan| plan.rows.iter().any(|row| options.wants(&row.name)));
    ensure!(!plans.is_empty(), "no row is called like {:?}", options.only);
    let (mut subjects, missing) =
        subjects(|server, scratch| Ok(Box::new(Measured::new(server, scratch)?) as Box<_>))?;
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}
