//! One run: observe, plan and apply until nothing is left to do.

use std::collections::BTreeMap;

use machinery::controllers::Progress;

use super::apply::{Applier, Failures};
use super::observer::Observer;
use super::{FabricLimits, SwitchConnections};
use crate::drive::ovs::links::NamespaceName;
use crate::drive::{FabricError, FabricRepairs, InterfaceBook};
use crate::plan::AddressKey;
use crate::plan::ovs::{Attempts, Scope, Stage, SwitchSettings, next_stage};

/// Above the number of stages of any run; each failed interface adds at most one.
const MAX_STAGES: usize = 64;

/// The result of a run.
#[derive(Debug, Default)]
pub(super) struct Convergence {
    /// Repairs by kind.
    pub(super) repairs: FabricRepairs,
    /// Interfaces that are not complete, and the cause.
    pub(super) broken: BTreeMap<AddressKey, FabricError>,
    /// Namespaces that could not be deleted, and the cause.
    pub(super) namespaces: BTreeMap<NamespaceName, FabricError>,
}

/// Converges a scope of the switch to the desired interfaces.
///
/// # Errors
/// The switch as a whole is unusable; parts of the changes may be applied.
pub(super) async fn converge(
    (settings, limits): (&SwitchSettings, &FabricLimits),
    (connections, progress): (&SwitchConnections, &Progress),
    observer: &mut Observer,
    (desired, scope, attempts): (&InterfaceBook, &Scope, Attempts),
) -> Result<Convergence, FabricError> {
    let mut repairs = FabricRepairs::default();
    let mut applier = Applier {
        settings,
        limits,
        connections,
        observer,
        progress,
        attempts,
        failures: Failures::default(),
    };
    let mut are_links_due = true;
    for _ in 0..MAX_STAGES {
        applier.observer.observe(settings, desired, scope, are_links_due).await?;
        let plan = next_stage(settings, desired, &applier.observer.switch, (scope, &applier.attempts));
        if let Some(fault) = plan.fault {
            return Err(fault);
        }
        let Some(stage) = plan.stage else {
            let Failures { interfaces, namespaces } = applier.failures;
            let mut broken = plan.broken;
            broken.extend(interfaces);
            return Ok(Convergence { repairs, broken, namespaces });
        };
        tracing::debug!(node = %settings.node, repairs = ?plan.repairs, "the next stage");
        are_links_due = matches!(stage, Stage::Write(_) | Stage::Links(_));
        applier.apply(stage).await?;
        progress.made();
        repairs = repairs.plus(plan.repairs);
    }
    let reason =
        format!("the switch differs again after {MAX_STAGES} changes: does another program change it?");
    Err(FabricError::Failed { what: "a repair", reason })
}
