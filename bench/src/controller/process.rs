//! The process of one shape: `machinery-bench controller-subject`, for internal use.

use super::allocator;
use super::far::RemoteLoop;
use super::near;
use super::step::ControllerStep;
use crate::lines;
use crate::measure::Figures;
use anyhow::Context;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// The library of a control loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ControllerLibrary {
    Ours,
    KubeRuntime,
}

/// Answers requests until the standard input closes.
pub(crate) fn serve(library: ControllerLibrary) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut far = None;
    lines::serve(|line| answer(&runtime, library, &mut far, line))?;
    // Loops end with the process.
    std::process::exit(0);
}

fn answer(
    runtime: &Runtime,
    library: ControllerLibrary,
    far: &mut Option<Arc<RemoteLoop>>,
    line: &str,
) -> anyhow::Result<Figures> {
    let step: ControllerStep =
        serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))?;
    let begun = |far: &Option<Arc<RemoteLoop>>| far.clone().context("no loop was begun");
    match step {
        ControllerStep::Reconciles { objects, ms, under_way, is_limited } => {
            near::reconciles(runtime, library, objects, ms, under_way, is_limited)
        }
        ControllerStep::Hops { objects, events, every_us } => {
            near::hops(runtime, library, objects, events, every_us)
        }
        ControllerStep::Idle { objects, keeps } => near::idle(runtime, library, objects, keeps),
        ControllerStep::Begin { kubeconfig, turn } => {
            *far = Some(runtime.block_on(RemoteLoop::begin(library, &kubeconfig, turn))?);
            Ok(Figures::default())
        }
        ControllerStep::PlainCreates { kubeconfig, creates } => {
            runtime.block_on(allocator::plain_creates(&kubeconfig, creates))
        }
        ControllerStep::Allocate { kubeconfig, owners } => {
            runtime.block_on(allocator::allocate(&kubeconfig, owners))
        }
        ControllerStep::HandOver { kubeconfig, waiting, releases } => {
            runtime.block_on(allocator::hand_over(&kubeconfig, waiting, releases))
        }
        ControllerStep::Write { objects } => runtime.block_on(begun(far)?.write(objects)),
        ControllerStep::Heard { events } => runtime.block_on(begun(far)?.wait_for_reconciles(events)),
    }
}
