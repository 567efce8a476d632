//! Assembles the suite.

use super::life;
use super::rows;
use super::shape::{KosLoad, KosShape};
use crate::Options;
use crate::interleave::{self, OURS, Subject, SuiteResults};
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::Context;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(rows::plans)?;
    let mut subjects: [Box<dyn Subject<KosShape>>; 1] = [Box::new(Kos { scratch: Scratch::new()? })];
    Ok(interleave::run(&plans, &mut subjects, &Vec::new(), options.rounds()))
}

struct Kos {
    scratch: Scratch,
}

impl Subject<KosShape> for Kos {
    fn name(&self) -> &'static str {
        OURS
    }

    fn run(&mut self, kind: &KosShape) -> anyhow::Result<Figures> {
        life::forget(&self.scratch);
        let live = |load: KosLoad| life::live(&self.scratch, &load);
        match *kind {
            KosShape::Slope { nodes, sizes, peers } => {
                let load = |attachments| KosLoad {
                    nodes,
                    attachments,
                    networks: attachments / peers,
                    per_key: false,
                };
                let [few, more, most] = sizes.map(|size| live(load(size)));
                let (few, more, most) = (few?, more?, most?);
                let cost = |figures: &Figures| figures.of("cpu_us").context("it was measured");
                let irrelevant: f64 =
                    [&few, &more, &most].iter().filter_map(|one| one.of("irrelevant")).sum();
                let (few_us, more_us, slope) = (cost(&few)?, cost(&more)?, cost(&most)? / cost(&few)?);
                let most = most.with("few_us", few_us).with("more_us", more_us).with("slope", slope);
                let of = |figures: &Figures, name| figures.of(name).context("it was measured");
                let most = most
                    .with("few_server_cpu_us", of(&few, "server_cpu_us")?)
                    .with("few_agents_cpu_us", of(&few, "agents_cpu_us")?)
                    .with("more_server_cpu_us", of(&more, "server_cpu_us")?)
                    .with("more_agents_cpu_us", of(&more, "agents_cpu_us")?);
                Ok(most.with("irrelevant", irrelevant))
            }
            KosShape::Fixed { nodes, sizes, networks } => {
                let load = |attachments| KosLoad { nodes, attachments, networks, per_key: false };
                let [few, more] = sizes.map(|size| live(load(size)));
                let few_us = few?.of("cpu_us").context("it was measured")?;
                Ok(more?.with("few_us", few_us))
            }
            KosShape::Streams { nodes, attachments, peers } => {
                let load = |per_key| KosLoad { nodes, attachments, networks: attachments / peers, per_key };
                let (interest, per_key) = (live(load(false))?, live(load(true))?);
                let mut both = interest.clone();
                for name in [
                    "cpu_us",
                    "streams",
                    "agents_mib",
                    "known_p99_ms",
                    "per_second",
                    "bytes",
                    "server_cpu_us",
                ] {
                    let of = |figures: &Figures| figures.of(name).context("it was measured");
                    both = both.with(&format!("per_key_{name}"), of(&per_key)?);
                    both = both.with(&format!("{name}_ratio"), of(&per_key)? / of(&interest)?);
                }
                Ok(both)
            }
        }
    }
}
