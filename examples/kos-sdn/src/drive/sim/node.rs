//! One simulated node: its switch, and the guests at its ports. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::guest::Guest;
use crate::drive::{FabricError, FabricRepairs, FabricStatus, InterfaceBook, InterfaceList, Switch};
use crate::plan::{
    AddressKey, Flow, LocalInterface, Port, RemoteInterface, default_drop_flows, flow_difference,
    local_cookie, local_flows, remote_cookie, remote_flows,
};

/// The tunnel port.
pub(super) const TUNNELS: Port = Port(1);

/// A simulated node.
#[derive(Debug)]
pub(super) struct SimNode {
    pub(super) switch: Switch,
    /// Whether the node is disconnected from the underlay.
    pub(super) is_disconnected: bool,
    book: InterfaceBook,
    ports: BTreeMap<AddressKey, Port>,
    guests: BTreeMap<Port, (AddressKey, Guest)>,
    next: u32,
}

impl SimNode {
    pub(super) fn new(interfaces: usize) -> Self {
        let mut switch = Switch::new(TUNNELS);
        default_drop_flows().into_iter().for_each(|flow| switch.add(flow));
        let next = TUNNELS.0 + 1;
        Self {
            switch,
            is_disconnected: false,
            book: InterfaceBook::new(interfaces),
            ports: BTreeMap::new(),
            guests: BTreeMap::new(),
            next,
        }
    }

    pub(super) fn create_local(&mut self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.book.add_local(interface)?;
        let port = Port(self.next);
        // Port numbers are not reused soon, so that a stale one matches nothing.
        self.next = self.next.checked_add(1).unwrap_or(TUNNELS.0 + 1);
        let key = key_of(interface);
        self.ports.insert(key, port);
        self.guests.insert(port, (key, Guest::of(interface)));
        local_flows(interface, port).into_iter().for_each(|flow| self.switch.add(flow));
        Ok(())
    }

    pub(super) fn delete_local(&mut self, interface: &LocalInterface) {
        if self.book.remove_local(interface) {
            self.switch.remove_all(local_cookie(interface.mac));
            if let Some(port) = self.ports.remove(&key_of(interface)) {
                self.guests.remove(&port);
            }
        }
    }

    pub(super) fn create_remote(&mut self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.book.add_remote(interface)?;
        remote_flows(interface, TUNNELS).into_iter().for_each(|flow| self.switch.add(flow));
        Ok(())
    }

    pub(super) fn delete_remote(&mut self, interface: &RemoteInterface) {
        if self.book.remove_remote(interface) {
            self.switch.remove_all(remote_cookie(interface.mac));
        }
    }

    pub(super) fn listed(&self) -> InterfaceList {
        self.book.listed()
    }

    /// Repairs the flows.
    pub(super) fn repair(&mut self) -> FabricRepairs {
        let difference = flow_difference(&self.desired_flows(), &self.switch.flows());
        let repairs = FabricRepairs {
            missing_flows: difference.missing.len(),
            foreign_flows: difference.foreign.len(),
            ..FabricRepairs::default()
        };
        difference.foreign.iter().for_each(|flow| self.switch.remove(flow));
        difference.missing.into_iter().for_each(|flow| self.switch.add(flow));
        repairs
    }

    pub(super) fn status(&self) -> FabricStatus {
        let (ports, flows) = (self.ports.len(), self.switch.flows().len());
        FabricStatus { is_reachable: true, ports, flows, broken: Vec::new() }
    }

    pub(super) fn port(&self, key: &AddressKey) -> Option<Port> {
        self.ports.get(key).copied()
    }

    pub(super) fn guest(&mut self, port: Port) -> Option<(AddressKey, &mut Guest)> {
        self.guests.get_mut(&port).map(|(key, guest)| (*key, guest))
    }

    pub(super) fn key_at(&self, port: Port) -> Option<AddressKey> {
        self.guests.get(&port).map(|(key, _)| *key)
    }

    /// Returns the desired flows.
    fn desired_flows(&self) -> BTreeSet<Flow> {
        let InterfaceList { locals, remotes, .. } = self.book.listed();
        let here = locals.iter().filter_map(|local| Some(local_flows(local, self.port(&key_of(local))?)));
        let there = remotes.iter().map(|remote| remote_flows(remote, TUNNELS));
        here.chain(there).flatten().chain(default_drop_flows()).collect()
    }
}

const fn key_of(interface: &LocalInterface) -> AddressKey {
    AddressKey { vni: interface.vni, address: interface.address }
}
