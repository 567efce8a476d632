//! Flows, ports and requested faults of a switch in memory.

use std::collections::BTreeMap;

use super::{FlowChange, FoundFlow, OpaqueFlow, OpenFlowError};
use crate::plan::{Flow, Match, Port};

/// Flows and ports, and the faults that a test has requested.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeSwitchState {
    pub(super) flows: BTreeMap<FlowPlace, FoundFlow>,
    pub(super) ports: BTreeMap<Port, String>,
    pub(super) bundles: Vec<Vec<FlowChange>>,
    pub(super) dumps: usize,
    pub(super) refused_bundles: usize,
    pub(super) refused_cookie: Option<u64>,
    pub(super) lost_responses: usize,
    pub(super) lacks_bundles: bool,
    pub(super) is_silent: bool,
    pub(super) sends_nonsense: bool,
}

/// Identity of a flow: a second one in its place replaces it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowPlace {
    Known(u8, u16, Match),
    Opaque(u8, u16, Vec<u8>),
}

impl FakeSwitchState {
    /// Applies a bundle, or refuses it as requested by the test.
    pub(super) fn apply(&mut self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError> {
        if self.lacks_bundles {
            return Err(OpenFlowError::Unsupported {
                feature: "bundles",
                remedy: "OpenFlow 1.5 is needed: Open vSwitch 2.8 or later",
            });
        }
        if self.refused_bundles > 0 {
            self.refused_bundles -= 1;
            return Err(OpenFlowError::Refused { request: "a bundle", reason: "by the test".into() });
        }
        let is_refused = |change: &FlowChange| matches!(change, FlowChange::Add(flow) if Some(flow.cookie) == self.refused_cookie);
        if let Some(change) = changes.iter().find(|change| is_refused(change)) {
            return Err(OpenFlowError::RefusedFlow {
                flow: change.to_string(),
                reason: "by the test".into(),
            });
        }
        changes.iter().for_each(|change| self.change(change));
        self.bundles.push(changes);
        if self.lost_responses > 0 {
            self.lost_responses -= 1;
            return Err(OpenFlowError::UnknownOutcome { reason: "the test lost the response".into() });
        }
        Ok(())
    }

    /// Adds a flow that [`Flow`] cannot express.
    pub(super) fn add_opaque(&mut self, flow: OpaqueFlow) {
        let place = FlowPlace::Opaque(flow.table, flow.priority, flow.oxm.clone());
        self.flows.insert(place, FoundFlow::Opaque(flow));
    }

    /// Applies one change.
    pub(super) fn change(&mut self, change: &FlowChange) {
        match change {
            FlowChange::Add(flow) => {
                self.flows.insert(place_of(flow), FoundFlow::Known(flow.clone()));
            }
            FlowChange::Delete(flow) => {
                self.flows.remove(&place_of(flow));
            }
            FlowChange::DeleteOpaque(OpaqueFlow { table, priority, oxm, .. }) => {
                self.flows.remove(&FlowPlace::Opaque(*table, *priority, oxm.clone()));
            }
            FlowChange::DeleteByCookie { cookie, mask } => {
                self.flows.retain(|_, flow| (flow.cookie() ^ cookie) & mask != 0);
            }
        }
    }
}

fn place_of(flow: &Flow) -> FlowPlace {
    FlowPlace::Known(flow.table, flow.priority, flow.matches.clone())
}
