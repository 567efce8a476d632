//! Observation of the switch, as far as it may have changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::SwitchConnections;
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
}

impl Observer {
    pub(super) fn new(connections: SwitchConnections) -> Self {
        Self {
            connections,
            switch: ObservedSwitch::default(),
            flow_version: None,
            port_version: None,
            has_links: false,
        }
    }

    /// Forgets flows and ports, after a change with an unknown outcome.
    pub(super) fn forget(&mut self) {
        (self.flow_version, self.port_version) = (None, None);
        self.has_links = false;
    }

    /// Lists all links again before they are compared.
    pub(super) const fn expire_links(&mut self) {
        self.has_links = false;
    }

    /// Reads the ports again: port status messages follow the end of a transaction.
    pub(super) const fn expire_ports(&mut self) {
        self.port_version = None;
    }

    /// Returns whether a namespace was listed.
    pub(super) fn has_namespace(&self, name: &NamespaceName) -> bool {
        self.switch.links.namespace(name).is_some()
    }

    /// Observes what a scope depends on.
    pub(super) async fn observe(
        &mut self,
        settings: &SwitchSettings,
        desired: &InterfaceBook,
        scope: &Scope,
    ) -> Result<(), FabricError> {
        self.rows()?;
        self.flows(scope).await?;
        if self.switch.ports.is_some() {
            match scope {
                Scope::All => self.all_links().await?,
                Scope::Some { .. } => self.some_links(settings, desired, scope).await?,
            }
        }
        Ok(())
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

    async fn flows(&mut self, scope: &Scope) -> Result<(), FabricError> {
        let status = self.connections.flows.status().borrow().clone();
        if !status.is_connected {
            (self.flow_version, self.port_version, self.switch.ports) = (None, None, None);
            return Ok(());
        }
        let port_version = Some((status.epoch, status.port_changes));
        if self.port_version != port_version || self.switch.ports.is_none() {
            let ports = self.connections.flows.ports().await?;
            let by_name = ports.into_iter().map(|port| (port.name, port.number)).collect();
            (self.switch.ports, self.port_version) = (Some(Arc::new(by_name)), port_version);
        }
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
        if self.has_links {
            return Ok(());
        }
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
            has_locals = true;
            if let Ok(LinkPlace::Workload(name)) = place_of(settings, local) {
                namespaces.insert(name);
            }
        }
        if has_locals {
            let place = LinkPlace::Switch;
            let links = self.connections.links.list_place(&place).await?;
            self.switch.links.replace(&place, Some(links));
        }
        for name in namespaces {
            let place = LinkPlace::Workload(name.clone());
            match self.connections.links.list_place(&place).await {
                Ok(links) => self.switch.links.replace(&place, Some(links)),
                // Steps that follow report the cause for this item alone.
                Err(LinkError::NamespaceMissing { .. } | LinkError::NamespaceTaken { .. }) => {
                    self.switch.links.replace(&place, None);
                    self.switch.links.replace_namespace(&name, None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
