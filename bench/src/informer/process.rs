//! The process of one shape: `machinery-bench informer-subject`, for internal use.

use super::agents::AgentGroup;
use super::step::InformerStep;
use super::{kube, ours};
use crate::lines;
use crate::measure::Figures;
use anyhow::{Context, bail};
use std::any::Any;
use tokio::runtime::{Builder, Runtime};

/// The library of the informers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InformerLibrary {
    Ours,
    KubeRuntime,
}

/// Answers requests until the standard input closes.
pub(crate) fn serve(library: InformerLibrary) -> anyhow::Result<()> {
    crate::watches::allow(2000)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut held = ProcessState::default();
    lines::serve(|line| answer(&runtime, library, &mut held, line))?;
    // Exit without drops, which would take as long as building.
    std::process::exit(0);
}

/// State between steps.
#[derive(Default)]
struct ProcessState {
    informer: Option<Box<dyn Any>>,
    agents: Option<AgentGroup>,
}

fn answer(
    runtime: &Runtime,
    library: InformerLibrary,
    held: &mut ProcessState,
    line: &str,
) -> anyhow::Result<Figures> {
    let step: InformerStep =
        serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))?;
    match (library, step) {
        (InformerLibrary::Ours, InformerStep::Writes { objects, readers, ms, under_way }) => {
            ours::writes(runtime, objects, readers, ms, under_way)
        }
        (InformerLibrary::KubeRuntime, InformerStep::Writes { objects, readers, ms, under_way }) => {
            kube::writes(runtime, objects, readers, ms, under_way)
        }
        (InformerLibrary::Ours, InformerStep::Reads { objects, passes }) => {
            ours::reads(runtime, objects, passes)
        }
        (InformerLibrary::KubeRuntime, InformerStep::Reads { objects, passes }) => {
            kube::reads(runtime, objects, passes)
        }
        (InformerLibrary::Ours, InformerStep::Hop { objects, events }) => ours::hop(runtime, objects, events),
        (InformerLibrary::KubeRuntime, InformerStep::Hop { objects, events }) => {
            kube::hop(runtime, objects, events)
        }
        (InformerLibrary::Ours, InformerStep::Decode { objects, passes }) => ours::decode(objects, passes),
        (InformerLibrary::KubeRuntime, InformerStep::Decode { objects, passes }) => {
            kube::decode(objects, passes)
        }
        (InformerLibrary::Ours, InformerStep::Near { objects }) => runtime.block_on(ours::near(objects)),
        (_, InformerStep::Sync { kubeconfig, of, objects }) => {
            let (figures, informer) = runtime.block_on(async {
                match library {
                    InformerLibrary::Ours => ours::sync(&kubeconfig, of, objects).await,
                    InformerLibrary::KubeRuntime => kube::sync(&kubeconfig, of, objects).await,
                }
            })?;
            held.informer = Some(informer);
            Ok(figures)
        }
        (InformerLibrary::Ours, InformerStep::Agents { agents, each, keys, kubeconfig, per_key }) => {
            let (agents, figures) =
                runtime.block_on(AgentGroup::begin(&kubeconfig, agents, each, keys, per_key))?;
            held.agents = Some(agents);
            Ok(figures)
        }
        (InformerLibrary::Ours, InformerStep::Heard { events }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.wait_for_events(events))
        }
        (InformerLibrary::Ours, InformerStep::Edits { edits }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.edit(edits))
        }
        (InformerLibrary::Ours, InformerStep::Holds { keys }) => {
            runtime.block_on(held.agents.as_mut().context("there are no agents")?.hold(keys))
        }
        (library, step) => bail!("{library:?} has no {step:?}"),
    }
}
