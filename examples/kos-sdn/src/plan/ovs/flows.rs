//! The differences of flows.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    AddressKey, Flow, Interface, Port, default_drop_flows, local_cookie, local_flows, remote_cookie,
    remote_flows,
};
use super::ports::covered;
use super::{Attempts, ObservedSwitch, Scope};
use crate::drive::InterfaceBook;
use crate::drive::ovs::openflow::FoundFlow;
use crate::plan::Mac;

/// The flows of one interface to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowGroup {
    /// Address of the interface; `None` for flows of every switch.
    pub key: Option<AddressKey>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// The differences of flows.
#[derive(Debug, Default)]
pub(super) struct FlowPlan {
    pub(super) undesired: Vec<FoundFlow>,
    pub(super) missing: Vec<FlowGroup>,
}

/// The ports that flows use.
pub(super) struct FlowPorts<'a> {
    /// Ports of local interfaces that stay.
    pub(super) numbers: &'a BTreeMap<AddressKey, Port>,
    pub(super) tunnel: Option<Port>,
    /// Local interfaces with a link as desired: others get no new flows yet.
    pub(super) ready: &'a BTreeSet<AddressKey>,
}

/// Compares the flows with the desired interfaces.
pub(super) fn plan_flows(
    desired: &InterfaceBook,
    observed: &ObservedSwitch,
    (scope, attempts): (&Scope, &Attempts),
    ports: &FlowPorts<'_>,
) -> FlowPlan {
    let mut plan = FlowPlan::default();
    let mut handled = BTreeSet::new();
    for key in &attempts.failed {
        let mac = Mac::of(key.vni, key.address);
        handled.extend([local_cookie(mac), remote_cookie(mac)]);
    }
    for (key, interface) in covered(desired, scope, attempts) {
        let (cookie, wanted, is_ready) = match interface {
            Interface::Local(local) => {
                let number = ports.numbers.get(key);
                let flows = number.map(|number| local_flows(local, *number));
                (local_cookie(local.mac), flows.unwrap_or_default(), ports.ready.contains(key))
            }
            Interface::Remote(remote) => {
                let flows = ports.tunnel.map(|tunnel| remote_flows(remote, tunnel));
                (remote_cookie(remote.mac), flows.unwrap_or_default(), true)
            }
        };
        handled.insert(cookie);
        plan.compare(observed, cookie, (is_ready.then_some(*key), wanted));
    }
    let drops = default_drop_flows();
    let drop_cookies: BTreeSet<u64> = drops.iter().map(|flow| flow.cookie).collect();
    for cookie in drop_cookies {
        handled.insert(cookie);
        let wanted: Vec<_> = drops.iter().filter(|flow| flow.cookie == cookie).cloned().collect();
        if scope.is_all() {
            let undesired = observed.flows.of(cookie).filter(|flow| !wanted.contains(flow));
            plan.undesired.extend(undesired.cloned().map(FoundFlow::Known));
        }
        let missing: Vec<_> = wanted.into_iter().filter(|flow| !has(observed, flow)).collect();
        if !missing.is_empty() {
            plan.missing.insert(0, FlowGroup { key: None, flows: missing });
        }
    }
    match scope {
        Scope::All => {
            let others = observed.flows.iter().filter(|(cookie, _)| !handled.contains(cookie));
            plan.undesired.extend(others.flat_map(|(_, flows)| flows).cloned().map(FoundFlow::Known));
            plan.undesired.extend(observed.flows.opaque().cloned().map(FoundFlow::Opaque));
        }
        Scope::Some { keys, .. } => {
            for mac in keys.iter().map(|key| Mac::of(key.vni, key.address)) {
                for cookie in [local_cookie(mac), remote_cookie(mac)] {
                    if !handled.contains(&cookie) {
                        let flows = observed.flows.of(cookie);
                        plan.undesired.extend(flows.cloned().map(FoundFlow::Known));
                    }
                }
            }
        }
    }
    plan
}

impl FlowPlan {
    /// Compares the flows of one cookie. Without a key, flows are only removed.
    fn compare(
        &mut self,
        observed: &ObservedSwitch,
        cookie: u64,
        (key, wanted): (Option<AddressKey>, Vec<Flow>),
    ) {
        let undesired = observed.flows.of(cookie).filter(|flow| !wanted.contains(flow));
        self.undesired.extend(undesired.cloned().map(FoundFlow::Known));
        let Some(key) = key else { return };
        let missing: Vec<_> = wanted.into_iter().filter(|flow| !has(observed, flow)).collect();
        if !missing.is_empty() {
            self.missing.push(FlowGroup { key: Some(key), flows: missing });
        }
    }
}

fn has(observed: &ObservedSwitch, flow: &Flow) -> bool {
    observed.flows.of(flow.cookie).any(|found| found == flow)
}
