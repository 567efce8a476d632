//! One node: its switch, and who is at its ports. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::guest::Guest;
use crate::drive::{Audit, Book, FabricError, Listed, Switch};
use crate::plan::{
    AddressKey, Flow, Local, Port, Remote, difference, fixed, local_cookie, local_flows, remote_cookie,
    remote_flows,
};

/// The port of the tunnels.
pub(super) const TUNNELS: Port = Port(1);

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) switch: Switch,
    /// Whether its wire is cut.
    pub(super) is_cut: bool,
    book: Book,
    ports: BTreeMap<AddressKey, Port>,
    guests: BTreeMap<Port, (AddressKey, Guest)>,
    next: u32,
}

impl Node {
    pub(super) fn new(interfaces: usize) -> Self {
        let mut switch = Switch::new(TUNNELS);
        fixed().into_iter().for_each(|flow| switch.add(flow));
        let next = TUNNELS.0 + 1;
        Self {
            switch,
            is_cut: false,
            book: Book::new(interfaces),
            ports: BTreeMap::new(),
            guests: BTreeMap::new(),
            next,
        }
    }

    pub(super) fn create_local(&mut self, interface: &Local) -> Result<(), FabricError> {
        self.book.add_local(interface)?;
        let port = Port(self.next);
        // Numbers are not used again soon: whoever has an old one in hand means nobody.
        self.next = self.next.checked_add(1).unwrap_or(TUNNELS.0 + 1);
        let key = key_of(interface);
        self.ports.insert(key, port);
        self.guests.insert(port, (key, Guest::of(interface)));
        local_flows(interface, port).into_iter().for_each(|flow| self.switch.add(flow));
        Ok(())
    }

    pub(super) fn delete_local(&mut self, interface: &Local) {
        if self.book.remove_local(interface) {
            self.switch.remove_all(local_cookie(interface.mac));
            if let Some(port) = self.ports.remove(&key_of(interface)) {
                self.guests.remove(&port);
            }
        }
    }

    pub(super) fn create_remote(&mut self, interface: &Remote) -> Result<(), FabricError> {
        self.book.add_remote(interface)?;
        remote_flows(interface, TUNNELS).into_iter().for_each(|flow| self.switch.add(flow));
        Ok(())
    }

    pub(super) fn delete_remote(&mut self, interface: &Remote) {
        if self.book.remove_remote(interface) {
            self.switch.remove_all(remote_cookie(interface.mac));
        }
    }

    pub(super) fn listed(&self) -> Listed {
        self.book.listed()
    }

    /// Puts the flows right.
    pub(super) fn audit(&mut self) -> Audit {
        let difference = difference(&self.wanted(), &self.switch.flows());
        let audit = Audit { missing: difference.missing.len(), foreign: difference.foreign.len() };
        difference.foreign.iter().for_each(|flow| self.switch.remove(flow));
        difference.missing.into_iter().for_each(|flow| self.switch.add(flow));
        audit
    }

    pub(super) fn port(&self, who: &AddressKey) -> Option<Port> {
        self.ports.get(who).copied()
    }

    pub(super) fn guest(&mut self, port: Port) -> Option<(AddressKey, &mut Guest)> {
        self.guests.get_mut(&port).map(|(key, guest)| (*key, guest))
    }

    pub(super) fn who(&self, port: Port) -> Option<AddressKey> {
        self.guests.get(&port).map(|(key, _)| *key)
    }

    /// The flows that should be there.
    fn wanted(&self) -> BTreeSet<Flow> {
        let Listed { locals, remotes } = self.book.listed();
        let here = locals.iter().filter_map(|local| Some(local_flows(local, self.port(&key_of(local))?)));
        let there = remotes.iter().map(|remote| remote_flows(remote, TUNNELS));
        here.chain(there).flatten().chain(fixed()).collect()
    }
}

const fn key_of(interface: &Local) -> AddressKey {
    AddressKey { vni: interface.vni, address: interface.address }
}
