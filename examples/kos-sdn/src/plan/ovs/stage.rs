//! The next stage of changes.

use std::collections::BTreeMap;

use super::super::{AddressKey, Interface};
use super::flows::{FlowGroup, FlowPorts, plan_flows};
use super::links::{LinkWork, plan_links};
use super::ports::plan_ports;
use super::{Attempts, ObservedSwitch, RowChange, Scope, SwitchSettings};
use crate::drive::ovs::openflow::FoundFlow;
use crate::drive::{FabricError, FabricRepairs, InterfaceBook};

/// Changes that are applied together, before the switch is observed again.
///
/// The order keeps flows from matching the frames of another port, because the switch reuses port
/// numbers: flows are removed before their port and added after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Removes flows, with a barrier after them.
    RemoveFlows(Vec<FoundFlow>),
    /// Changes rows in one transaction.
    Write(Vec<RowChange>),
    /// Adds flows.
    AddFlows(Vec<FlowGroup>),
    /// Changes links and namespaces; each item on its own.
    Links(Vec<LinkWork>),
}

/// The next stage, and the interfaces that no stage completes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchPlan {
    /// The next stage; `None` if nothing is left to do.
    pub stage: Option<Stage>,
    /// The repairs of the stage, by kind.
    pub repairs: FabricRepairs,
    /// Interfaces that cannot be completed, and the cause.
    pub broken: BTreeMap<AddressKey, FabricError>,
    /// The reason why the whole bridge cannot be used; no stage then.
    pub fault: Option<FabricError>,
}

/// Returns the next stage for the desired interfaces of a scope.
#[must_use]
pub fn next_stage(
    settings: &SwitchSettings,
    desired: &InterfaceBook,
    observed: &ObservedSwitch,
    (scope, attempts): (&Scope, &Attempts),
) -> SwitchPlan {
    let mut ports = plan_ports(settings, desired, observed, (scope, attempts));
    if let Some(fault) = ports.fault {
        return SwitchPlan { fault: Some(fault), ..SwitchPlan::default() };
    }
    let links = plan_links(settings, desired, observed, (scope, attempts, &ports));
    for key in &links.lost {
        ports.numbers.remove(key);
        let name = desired.get(key).and_then(|interface| match interface {
            Interface::Local(local) => Some(local.name.clone()),
            Interface::Remote(_) => None,
        });
        let (Some(name), Some((bridge, port))) = (name, ports.rows.get(key).copied()) else { continue };
        if attempts.permits(&name) {
            ports.changes.push(RowChange::DeletePort { bridge, port, name, key: Some(*key) });
        } else {
            let reason = format!("the kernel has no link {name}, although the switch has its port");
            ports.broken.insert(*key, FabricError::Failed { what: "finding a link", reason });
        }
    }
    // A port that is deleted loses its flows first.
    for change in &ports.changes {
        if let RowChange::DeletePort { key: Some(key), .. } = change {
            ports.numbers.remove(key);
        }
    }
    let flow_ports = FlowPorts { numbers: &ports.numbers, tunnel: ports.tunnel, ready: &links.ready };
    let flows = plan_flows(desired, observed, (scope, attempts), &flow_ports);
    let mut broken = ports.broken;
    broken.extend(links.broken);
    let has_bridge = observed.ports.is_some();
    let stage = if !flows.undesired.is_empty() && has_bridge {
        Some(Stage::RemoveFlows(flows.undesired))
    } else if !ports.changes.is_empty() {
        Some(Stage::Write(ports.changes))
    } else if !flows.missing.is_empty() && has_bridge {
        Some(Stage::AddFlows(flows.missing))
    } else if !links.work.is_empty() {
        Some(Stage::Links(links.work))
    } else {
        None
    };
    let repairs = stage.as_ref().map(Stage::repairs).unwrap_or_default();
    SwitchPlan { stage, repairs, broken, fault: None }
}

impl Stage {
    /// Returns the number of changes by kind.
    #[must_use]
    pub fn repairs(&self) -> FabricRepairs {
        let mut repairs = FabricRepairs::default();
        match self {
            Self::RemoveFlows(flows) => repairs.foreign_flows = flows.len(),
            Self::AddFlows(groups) => {
                repairs.missing_flows = groups.iter().map(|group| group.flows.len()).sum();
            }
            Self::Links(work) => repairs.links = work.len(),
            Self::Write(changes) => {
                for change in changes {
                    *match change {
                        RowChange::CreateRoot
                        | RowChange::CreateBridge
                        | RowChange::UpdateBridge(_)
                        | RowChange::CreateLocalPort(_) => &mut repairs.bridges,
                        RowChange::CreateTunnel(_) | RowChange::UpdateTunnel(..) => &mut repairs.tunnels,
                        RowChange::CreatePort(..) | RowChange::UpdatePort(..) => &mut repairs.missing_ports,
                        RowChange::DeletePort { .. } => &mut repairs.foreign_ports,
                    } += 1;
                }
            }
        }
        repairs
    }
}
