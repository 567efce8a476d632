//! Observation of the switch, as far as it may have changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::SwitchConnections;
use super::suspicion::{Suspicion, Suspicions};
use crate::drive::ovs::links::{LinkError, LinkPlace, NamespaceName};
use crate::drive::ovs::ovsdb::{ConnectionState, LockState};
use crate::drive::{FabricError, InterfaceBook};
use crate::plan::Interface;
use crate::plan::ovs::{FlowIndex, LinkIndex, ObservedSwitch, Scope, SwitchSettings, place_of};

/// The last observation, and the versions of its parts.
#[derive(Debug)]
pub(super) struct Observer {
    connections: SwitchConnections,
    pub(super) switch: ObservedSwitch,
    /// Version of the flows in `switch`; `None` if they have to be dumped.
    flow_version: Option<(u64, u64)>,
    /// Connection and number of port changes of the ports in `switch`.
    port_version: Option<(u64, u64)>,
    /// Whether links were listed completely.
    has_links: bool,
    suspicions: Suspicions,
    /// Places that this fabric has changed since they were listed.
    expired: BTreeSet<LinkPlace>,
}

impl Observer {
    pub(super) fn new(connections: SwitchConnections, suspicions: Suspicions) -> Self {
        Self {
            connections,
            switch: ObservedSwitch::default(),
            flow_version: None,
            port_version: None,
            has_links: false,
            suspicions,
            expired: BTreeSet::new(),
        }
    }

    /// Forgets flows and ports, after a change with an unknown outcome.
    pub(super) fn forget(&mut self) {
        (self.flow_version, self.port_version) = (None, None);
        self.has_links = false;
    }

    /// Reads ports and links again: their events follow the end of a transaction.
    pub(super) const fn expire(&mut self) {
        self.port_version = None;
        self.has_links = false;
    }

    /// Observes the state that a scope depends on; links only if they are due.
    pub(super) async fn observe(
        &mut self,
        settings: &SwitchSettings,
        desired: &InterfaceBook,
        scope: &Scope,
        are_links_due: bool,
    ) -> Result<(), FabricError> {
        self.rows()?;
        self.flows(scope).await?;
        if self.switch.ports.is_some() && are_links_due {
            match scope {
                Scope::All => self.all_links().await?,
                Scope::Some { .. } => self.some_links(settings, desired, scope).await?,
            }
        }
        Ok(())
    }

    /// Lists a place again before its links are compared.
    pub(super) fn expire_place(&mut self, place: LinkPlace) {
        self.expired.extend([place, LinkPlace::Switch]);
    }

    /// Observes the switch, and the links that may have changed since they were listed.
    pub(super) async fn observe_suspected(
        &mut self,
        settings: &SwitchSettings,
        desired: &InterfaceBook,
        suspicion: &Suspicion,
    ) -> Result<(), FabricError> {
        let scope = if suspicion.are_links || !self.has_links {
            self.has_links = false;
            Scope::All
        } else {
            self.suspected(settings, desired, suspicion)
        };
        self.observe(settings, desired, &scope, true).await
    }

    /// Returns the interfaces whose links may have changed.
    fn suspected(&self, settings: &SwitchSettings, desired: &InterfaceBook, suspicion: &Suspicion) -> Scope {
        let (mut keys, mut places) = (BTreeSet::new(), BTreeSet::new());
        if suspicion.links.is_empty() && suspicion.namespaces.is_empty() {
            return Scope::Some { keys, places };
        }
        for local in desired.local_interfaces() {
            let is_suspected = suspicion.links.contains(&local.name)
                || matches!(place_of(settings, local), Ok(LinkPlace::Workload(name)) if suspicion.namespaces.contains(&name));
            if is_suspected {
                keys.insert(Interface::Local(local.clone()).key());
            }
        }
        let is_known = |name: &&NamespaceName| self.switch.links.namespace(name).is_some();
        places.extend(suspicion.namespaces.iter().filter(is_known).cloned());
        Scope::Some { keys, places }
    }

    fn rows(&mut self) -> Result<(), FabricError> {
        let snapshot = self.connections.database.snapshot();
        if let ConnectionState::Disconnected { reason } = &snapshot.connection {
            return Err(FabricError::Unavailable { reason: reason.clone() });
        }
        match snapshot.lock {
            LockState::Owned => self.switch.rows = snapshot.rows.clone(),
            LockState::Waiting => {
                return Err(FabricError::LockLost { lock: self.connections.lock.clone() });
            }
            LockState::Unknown => {
                let reason = "the lock of the OVS database was requested and is not granted yet".into();
                return Err(FabricError::Unavailable { reason });
            }
        }
        Ok(())
    }

    /// Observes the ports of the bridge, if there is a connection.
    pub(super) async fn observe_ports(&mut self) -> Result<(), FabricError> {
        let port_version = {
            let status = self.connections.flows.status();
            let status = status.borrow();
            if !status.is_connected {
                return Ok(());
            }
            Some((status.epoch, status.port_changes))
        };
        if self.port_version != port_version || self.switch.ports.is_none() {
            let ports = self.connections.flows.ports().await?;
            let by_name = ports.into_iter().map(|port| (port.name, port.number)).collect();
            (self.switch.ports, self.port_version) = (Some(Arc::new(by_name)), port_version);
        }
        Ok(())
    }

    async fn flows(&mut self, scope: &Scope) -> Result<(), FabricError> {
        let status = self.connections.flows.status().borrow().clone();
        if !status.is_connected {
            (self.flow_version, self.port_version, self.switch.ports) = (None, None, None);
            // A restarted switch makes new devices.
            self.has_links = false;
            return Ok(());
        }
        self.observe_ports().await?;
        let is_current = match (status.flow_version(), self.flow_version) {
            (Some(now), Some(seen)) => now == seen,
            // Without a monitor, a check of everything dumps; other changes trust the last dump.
            (None, Some(seen)) => seen.0 == status.epoch && !scope.is_all(),
            (_, None) => false,
        };
        if !is_current {
            self.flow_version = None;
            let flows = self.connections.flows.dump().await?;
            self.switch.flows = FlowIndex::from_iter(flows);
            self.flow_version = Some((status.epoch, status.foreign_changes));
        }
        Ok(())
    }

    async fn all_links(&mut self) -> Result<(), FabricError> {
        if self.has_links && self.suspicions.are_links_watched() {
            return self.expired_places().await;
        }
        self.expired.clear();
        self.switch.links = LinkIndex::new(self.connections.links.list().await?);
        self.has_links = true;
        Ok(())
    }

    /// Observes the places of interfaces with a port, and of deleted interfaces.
    async fn some_links(
        &mut self,
        settings: &SwitchSettings,
        desired: &InterfaceBook,
        scope: &Scope,
    ) -> Result<(), FabricError> {
        let Scope::Some { keys, places } = scope else { return Ok(()) };
        let mut namespaces: BTreeSet<NamespaceName> = places.clone();
        let mut has_locals = false;
        for interface in keys.iter().filter_map(|key| desired.get(key)) {
            let Interface::Local(local) = interface else { continue };
            // Without a port, there is no link to compare.
            if !self.switch.ports.as_ref().is_some_and(|ports| ports.contains_key(&local.name)) {
                continue;
            }
            has_locals = true;
            if let Ok(LinkPlace::Workload(name)) = place_of(settings, local) {
                namespaces.insert(name);
            }
        }
        let places = namespaces.into_iter().map(LinkPlace::Workload);
        for place in places.chain(has_locals.then_some(LinkPlace::Switch)) {
            self.place(&place).await?;
            self.expired.remove(&place);
        }
        Ok(())
    }

    /// Lists the places that this fabric has changed.
    async fn expired_places(&mut self) -> Result<(), FabricError> {
        while let Some(place) = self.expired.pop_first() {
            self.place(&place).await?;
        }
        Ok(())
    }

    async fn place(&mut self, place: &LinkPlace) -> Result<(), FabricError> {
        match (self.connections.links.list_place(place).await, place) {
            (Ok(links), _) => self.switch.links.replace(place, Some(links)),
            // Steps that follow report the cause for this item alone.
            (
                Err(LinkError::NamespaceMissing { .. } | LinkError::NamespaceTaken { .. }),
                LinkPlace::Workload(name),
            ) => {
                self.switch.links.replace(place, None);
                self.switch.links.replace_namespace(name, None);
            }
            (Err(error), _) => return Err(error.into()),
        }
        Ok(())
    }
}
