//! Assembles the suite. Shapes in which a peer needs our switch measure both in one run: whichever
//! subject comes first in a round runs it, and the other takes its half.

use super::rows;
use super::shape::OvsShape;
use super::{adopt, audit, create, first_ping, pipeline, refill, tools};
use crate::Options;
use crate::interleave::{self, OURS, Plan, Subject, SuiteResults};
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::{Context, bail};
use machinery_sync::Mutex;
use std::rc::Rc;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    if let Some(missing) = tools::missing() {
        bail!("Open vSwitch cannot be measured: {missing}");
    }
    let scratch = Rc::new(Scratch::new()?);
    let mut results = SuiteResults { rows: Vec::new(), failures: Vec::new() };
    for plan in plans {
        let halves = Rc::new(Halves { scratch: scratch.clone(), kept: Mutex::default() });
        let names = std::iter::once(OURS).chain(peer(plan.shape));
        let mut subjects: Vec<Box<dyn Subject<OvsShape>>> =
            names.map(|name| Box::new(Half { name, halves: halves.clone() }) as Box<_>).collect();
        let found = interleave::run(&[plan] as &[Plan<_>], &mut subjects, &Vec::new(), options.rounds());
        results.rows.extend(found.rows);
        results.failures.extend(found.failures);
    }
    Ok(results)
}

pub(super) const CLI: &str = "cli";
pub(super) const CREATE: &str = "create";
pub(super) const DIFF_FLOWS: &str = "diff-flows";
pub(super) const REPLACE_FLOWS: &str = "replace-flows";
pub(super) const DL_DST: &str = "dl-dst";

/// Returns the peer of a shape.
const fn peer(shape: OvsShape) -> Option<&'static str> {
    match shape {
        OvsShape::Together { .. } | OvsShape::Alone { .. } => Some(CLI),
        OvsShape::Adopt { .. } => Some(CREATE),
        OvsShape::Audit { .. } => Some(DIFF_FLOWS),
        OvsShape::Refill { .. } => Some(REPLACE_FLOWS),
        OvsShape::Pipeline { .. } => Some(DL_DST),
        OvsShape::FirstPing => None,
    }
}

struct Half {
    name: &'static str,
    halves: Rc<Halves>,
}

struct Halves {
    scratch: Rc<Scratch>,
    /// The figures of a run that its other subject has not taken yet, with the name of that
    /// subject.
    kept: Mutex<Option<(&'static str, Figures)>>,
}

impl Subject<OvsShape> for Half {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &OvsShape) -> anyhow::Result<Figures> {
        self.halves.run(self.name == OURS, *shape)
    }
}

impl Halves {
    fn run(&self, is_ours: bool, shape: OvsShape) -> anyhow::Result<Figures> {
        let scratch = &self.scratch;
        let (ours, theirs) = match shape {
            OvsShape::Together { attachments } if is_ours => return create::together(scratch, attachments),
            OvsShape::Together { attachments } => {
                return Ok(create::sum(&create::by_cli(attachments)?));
            }
            OvsShape::Alone { attachments } if is_ours => return create::alone(scratch, attachments),
            OvsShape::Alone { attachments } => {
                return create::median_of(&create::by_cli(attachments)?);
            }
            OvsShape::FirstPing => return first_ping::run(scratch),
            _ if let Some(kept) = self.take(is_ours) => return Ok(kept),
            OvsShape::Adopt { locals, peers } => {
                let both = adopt::run(scratch, locals, peers)?;
                (both.adopt, both.create)
            }
            OvsShape::Audit { peers, times } => {
                let both = audit::run(scratch, peers, times)?;
                (both.ours, both.diff_flows)
            }
            OvsShape::Refill { locals, peers } => {
                let both = refill::run(scratch, locals, peers)?;
                (both.ours, both.replace_flows)
            }
            OvsShape::Pipeline { seconds } => {
                let both = pipeline::run(scratch, seconds, is_ours)?;
                (both.ours, both.dl_dst)
            }
        };
        let (taken, kept) = if is_ours { (ours, theirs) } else { (theirs, ours) };
        let other = if is_ours { peer(shape).context("it has a peer")? } else { OURS };
        *self.kept.lock() = Some((other, kept));
        Ok(taken)
    }

    /// Takes the figures that a run of the other subject has left.
    fn take(&self, is_ours: bool) -> Option<Figures> {
        let mut kept = self.kept.lock();
        kept.take_if(|(name, _)| (*name == OURS) == is_ours).map(|(_, figures)| figures)
    }
}
