//! A process that one shape is measured in: `machinery-bench informer-subject`, which people do not call.

use super::agents::Agents;
use super::step::Step;
use super::{kube, ours};
use crate::lines;
use crate::measure::Figures;
use anyhow::{Context, bail};
use std::any::Any;
use tokio::runtime::{Builder, Runtime};

/// Whose informers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Library {
    Ours,
    KubeRuntime,
}

/// Answers until nobody asks any more.
pub(crate) fn serve(library: Library) -> anyhow::Result<()> {
    crate::watches::allow(2000)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut held = Held::default();
    lines::serve(|line| answer(&runtime, library, &mut held, line))?;
    // What is held ends with the process: letting go of it in good order takes as long as making it.
    std::process::exit(0);
}

/// What goes on between steps.
#[derive(Default)]
struct Held {
    informer: Option<Box<dyn Any>>,
    agents: Option<Agents>,
}

fn answer(runtime: &Runtime, library: Library, held: &mut Held, line: &str) -> anyhow::Result<Figures> {
    let step: Step = serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))?;
    match (library, step) {
        (Library::Ours, Step::Writes { objects, readers, ms, under_way }) => {
            ours::writes(runtime, objects, readers, ms, under_way)
        }
        (Library::KubeRuntime, Step::Writes { objects, readers, ms, under_way }) => {
            kube::writes(runtime, objects, readers, ms, under_way)
        }
        (Library::Ours, Step::Reads { objects, passes }) => ours::reads(runtime, objects, passes),
        (Library::KubeRuntime, Step::Reads { objects, passes }) => kube::reads(runtime, objects, passes),
        (Library::Ours, Step::Hop { objects, events }) => ours::hop(runtime, objects, events),
        (Library::KubeRuntime, Step::Hop { objects, events }) => kube::hop(runtime, objects, events),
        (Library::Ours, Step::Decode { objects, passes }) => ours::decode(objects, passes),
        (Library::KubeRuntime, Step::Decode { objects, passes }) => kube::decode(objects, passes),
        (Library::Ours, Step::Near { objects }) => runtime.block_on(ours::near(objects)),
        (_, Step::Sync { kubeconfig, of, objects }) => {
            let (figures, informer) = runtime.block_on(async {
                match library {
                    Library::Ours => ours::sync(&kubeconfig, of, objects).await,
                    Library::KubeRuntime => kube::sync(&kubeconfig, of, objects).await,
                }
            })?;
            held.informer = Some(informer);
            Ok(figures)
        }
        (Library::Ours, Step::Agents { agents, each, keys, kubeconfig, per_key }) => {
            let (agents, figures) =
                runtime.block_on(Agents::begin(&kubeconfig, agents, each, keys, per_key))?;
            held.agents = Some(agents);
            Ok(figures)
        }
        (Library::Ours, Step::Heard { events }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.heard(events))
        }
        (Library::Ours, Step::Edits { edits }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.edit(edits))
        }
        (Library::Ours, Step::Holds { keys }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.hold(keys))
        }
        (library, step) => bail!("{library:?} has no {step:?}"),
    }
}
