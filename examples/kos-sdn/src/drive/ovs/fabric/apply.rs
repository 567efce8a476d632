//! Application of a stage.

use std::collections::BTreeMap;
use std::pin::pin;

use machinery::controllers::Progress;

use super::observer::Observer;
use super::{FabricLimits, SwitchConnections};
use crate::drive::FabricError;
use crate::drive::ovs::links::{
    LinkError, LinkPlace, LinkStep, NamespaceEntry, NamespaceName, NamespaceState,
};
use crate::drive::ovs::openflow::{FlowChange, FoundFlow, OpenFlowError};
use crate::drive::ovs::ovsdb::{TransactError, applied};
use crate::plan::AddressKey;
use crate::plan::ovs::{Attempts, FlowGroup, LinkWork, RowChange, Stage, SwitchSettings, transaction};

/// The failures of one run, by interface and by namespace.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) interfaces: BTreeMap<AddressKey, FabricError>,
    pub(super) namespaces: BTreeMap<NamespaceName, FabricError>,
}

/// Applies the stages of one run. Failures of single items are collected; others are returned.
pub(super) struct Applier<'a> {
    pub(super) settings: &'a SwitchSettings,
    pub(super) limits: &'a FabricLimits,
    pub(super) connections: &'a SwitchConnections,
    pub(super) observer: &'a mut Observer,
    pub(super) progress: &'a Progress,
    pub(super) attempts: Attempts,
    pub(super) failures: Failures,
}

impl Applier<'_> {
    pub(super) async fn apply(&mut self, stage: Stage) -> Result<(), FabricError> {
        match stage {
            Stage::RemoveFlows(flows) => self.remove_flows(flows).await,
            Stage::Write(changes) => self.write(changes).await,
            Stage::AddFlows(groups) => self.add_flows(groups).await,
            Stage::Links(work) => self.change_links(work).await,
        }
    }

    async fn remove_flows(&mut self, flows: Vec<FoundFlow>) -> Result<(), FabricError> {
        for chunk in flows.chunks(self.limits.bundle.max(1)) {
            let changes = chunk.iter().map(FoundFlow::deletion).collect();
            if self.bundle(changes).await? {
                chunk.iter().for_each(|flow| self.observer.switch.flows.remove(flow));
            }
        }
        Ok(())
    }

    async fn add_flows(&mut self, groups: Vec<FlowGroup>) -> Result<(), FabricError> {
        let mut pending = Vec::new();
        let mut size = 0;
        for group in groups {
            size += group.flows.len();
            pending.push(group);
            if size >= self.limits.bundle {
                size = 0;
                self.add_bundle(std::mem::take(&mut pending)).await?;
            }
        }
        self.add_bundle(pending).await
    }

    /// Adds groups together. If the switch refuses them, each is tried alone, so that one refused
    /// flow affects its interface only.
    async fn add_bundle(&mut self, groups: Vec<FlowGroup>) -> Result<(), FabricError> {
        let changes = |groups: &[FlowGroup]| {
            groups.iter().flat_map(|group| &group.flows).cloned().map(FlowChange::Add).collect::<Vec<_>>()
        };
        if groups.is_empty() {
            return Ok(());
        }
        match self.bundle(changes(&groups)).await {
            Ok(is_applied) => {
                if is_applied {
                    self.record_added(groups);
                }
                return Ok(());
            }
            Err(FabricError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
        for group in groups {
            match self.bundle(changes(std::slice::from_ref(&group))).await {
                Ok(true) => self.record_added(vec![group]),
                Ok(false) => {}
                Err(error @ FabricError::Refused { .. }) => {
                    let Some(key) = group.key else { return Err(error) };
                    self.fail(key, error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn record_added(&mut self, groups: Vec<FlowGroup>) {
        let flows = groups.into_iter().flat_map(|group| group.flows);
        flows.for_each(|flow| self.observer.switch.flows.insert(flow));
    }

    /// Applies a bundle. Returns false if its outcome is unknown, so that flows are dumped again.
    async fn bundle(&mut self, changes: Vec<FlowChange>) -> Result<bool, FabricError> {
        match self.connections.flows.apply(changes).await {
            Ok(()) => Ok(true),
            Err(OpenFlowError::UnknownOutcome { reason }) => {
                tracing::warn!(
                    reason,
                    "the outcome of a change of flows is unknown; they are compared again"
                );
                self.observer.forget();
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&mut self, changes: Vec<RowChange>) -> Result<(), FabricError> {
        let names = changes.iter().filter_map(|change| match change {
            RowChange::CreatePort(_, local) => Some(local.name.clone()),
            RowChange::CreateTunnel(_) | RowChange::CreateBridge => Some(self.settings.tunnel_port()),
            _ => None,
        });
        self.attempts.names.extend(names);
        let port_changes = self.connections.flows.status().borrow().port_changes;
        let mut next_cfg = None;
        for chunk in changes.chunks(self.limits.transaction.max(1)) {
            next_cfg = self.write_chunk(chunk).await?.or(next_cfg);
        }
        self.observer.expire();
        if let Some(next_cfg) = next_cfg {
            self.confirm(&changes, port_changes, next_cfg).await?;
        }
        if changes.iter().any(|change| matches!(change, RowChange::CreateBridge | RowChange::UpdateBridge(_)))
        {
            self.connected().await?;
        }
        Ok(())
    }

    /// Waits until ovs-vswitchd has applied a configuration, or announces all of its new ports,
    /// which is earlier.
    async fn confirm(
        &mut self,
        changes: &[RowChange],
        port_changes: u64,
        next_cfg: i64,
    ) -> Result<(), FabricError> {
        let database = self.connections.database.clone();
        let mut applying = pin!(applied(&*database, next_cfg, self.limits.apply));
        let created = changes.iter().map(|change| match change {
            RowChange::CreatePort(_, local) => Some(local.name.as_str()),
            _ => None,
        });
        if let Some(names) = created.collect::<Option<Vec<_>>>() {
            let expected = port_changes.saturating_add(names.len() as u64);
            let mut status = self.connections.flows.status();
            let announced = status.wait_for(|status| status.port_changes >= expected);
            let is_announced = machinery::tokio::select! {
                biased;
                done = &mut applying => return Ok(done.map(drop)?),
                announced = announced => announced.is_ok(),
            };
            if is_announced {
                self.observer.observe_ports().await?;
                let ports = self.observer.switch.ports.as_ref();
                // The announced ports may be others.
                if ports.is_some_and(|ports| names.iter().all(|name| ports.contains_key(*name))) {
                    return Ok(());
                }
            }
        }
        Ok(applying.await.map(drop)?)
    }

    /// Writes changes together. If the database refuses them, each is tried alone.
    async fn write_chunk(&mut self, changes: &[RowChange]) -> Result<Option<i64>, FabricError> {
        let mut next_cfg = None;
        match self.transact(changes).await {
            Ok(applied) => return Ok(applied),
            Err(FabricError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
        for change in changes {
            match self.transact(std::slice::from_ref(change)).await {
                Ok(applied) => next_cfg = applied.or(next_cfg),
                Err(error @ FabricError::Refused { .. }) => {
                    let Some(key) = change.key() else { return Err(error) };
                    self.fail(key, error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(next_cfg)
    }

    async fn transact(&mut self, changes: &[RowChange]) -> Result<Option<i64>, FabricError> {
        match self.connections.database.transact(transaction(self.settings, changes)).await {
            Ok(committed) => Ok(committed.next_cfg),
            // The rows are compared again.
            Err(TransactError::RowsChanged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until a new bridge accepts connections.
    async fn connected(&self) -> Result<(), FabricError> {
        let mut status = self.connections.flows.status();
        let connected = status.wait_for(|status| status.is_connected);
        match machinery::tokio::time::timeout(self.limits.connect, connected).await {
            Ok(Ok(_)) => Ok(()),
            _ => {
                let bridge = &self.settings.bridge;
                let reason = format!("the bridge {bridge} accepts no OpenFlow connection");
                Err(FabricError::Unavailable { reason })
            }
        }
    }

    async fn change_links(&mut self, work: Vec<LinkWork>) -> Result<(), FabricError> {
        for LinkWork { key, place, steps } in work {
            self.progress.made();
            let Err(error) = self.connections.links.apply(&steps).await else {
                self.record_namespace(&place, &steps);
                self.observer.expire_place(place);
                continue;
            };
            match (error.error, key, &place) {
                (error @ (LinkError::SwitchUnknown { .. } | LinkError::Closed), ..) => {
                    return Err(error.into());
                }
                (error, Some(key), _) => self.fail(key, error.into()),
                (error, None, LinkPlace::Workload(name)) => {
                    self.attempts.failed_places.insert(name.clone());
                    self.failures.namespaces.insert(name.clone(), error.into());
                }
                (error, None, LinkPlace::Switch) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn record_namespace(&mut self, place: &LinkPlace, steps: &[LinkStep]) {
        let LinkPlace::Workload(name) = place else { return };
        let links = &mut self.observer.switch.links;
        for step in steps {
            match step {
                LinkStep::DeleteNamespace(_) => links.replace_namespace(name, None),
                LinkStep::CreateNamespace(_) => {
                    let entry = NamespaceEntry {
                        name: name.clone(),
                        state: NamespaceState::Live,
                        loopback_up: false,
                    };
                    links.replace_namespace(name, Some(entry));
                }
                LinkStep::Set { name: link, .. } if link == "lo" => {
                    if let Some(entry) = links.namespace(name).cloned() {
                        links.replace_namespace(name, Some(NamespaceEntry { loopback_up: true, ..entry }));
                    }
                }
                _ => {}
            }
        }
    }

    fn fail(&mut self, key: AddressKey, error: FabricError) {
        self.attempts.failed.insert(key);
        self.failures.interfaces.insert(key, error);
    }
}
