//! The connections of a fabric behind a crash gate, for tests: each transaction, each bundle and each
//! change of a link is an effect.

use std::sync::Arc;

use async_trait::async_trait;
use machinery::testing::CrashGate;
use machinery::tokio::sync::watch;

use super::SwitchConnections;
use crate::drive::ovs::links::{
    EchoRequest, Link, LinkError, LinkEvents, LinkList, LinkPlace, LinkStep, LinkStepError, Links,
};
use crate::drive::ovs::openflow::{
    FlowChange, FlowSwitch, FoundFlow, OpenFlowError, SwitchPort, SwitchStatus,
};
use crate::drive::ovs::ovsdb::{Committed, Database, DatabaseSnapshot, TransactError, Transaction};

/// Puts the connections to a switch behind a gate.
#[must_use]
pub fn gated(connections: SwitchConnections, gate: &Arc<CrashGate>) -> SwitchConnections {
    let SwitchConnections { database, flows, links, .. } = connections.clone();
    SwitchConnections {
        database: Arc::new(GatedDatabase(database, gate.clone())),
        flows: Arc::new(GatedFlows(flows, gate.clone())),
        links: Arc::new(GatedLinks(links, gate.clone())),
        ..connections
    }
}

struct GatedDatabase(Arc<dyn Database>, Arc<CrashGate>);

#[async_trait]
impl Database for GatedDatabase {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.0.snapshot()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        self.0.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        self.1.pass("transaction", self.0.transact(transaction)).await
    }
}

struct GatedFlows(Arc<dyn FlowSwitch>, Arc<CrashGate>);

#[async_trait]
impl FlowSwitch for GatedFlows {
    async fn apply(&self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError> {
        self.1.pass("bundle of flows", self.0.apply(changes)).await
    }

    async fn dump(&self) -> Result<Vec<FoundFlow>, OpenFlowError> {
        self.0.dump().await
    }

    async fn ports(&self) -> Result<Vec<SwitchPort>, OpenFlowError> {
        self.0.ports().await
    }

    fn status(&self) -> watch::Receiver<SwitchStatus> {
        self.0.status()
    }
}

struct GatedLinks(Arc<dyn Links>, Arc<CrashGate>);

#[async_trait]
impl Links for GatedLinks {
    async fn list(&self) -> Result<LinkList, LinkError> {
        self.0.list().await
    }

    async fn list_place(&self, place: &LinkPlace) -> Result<Vec<Link>, LinkError> {
        self.0.list_place(place).await
    }

    async fn apply(&self, steps: &[LinkStep]) -> Result<(), LinkStepError> {
        for (done, step) in steps.iter().enumerate() {
            let applied = self.1.pass(format!("{step:?}"), self.0.apply(std::slice::from_ref(step))).await;
            applied.map_err(|failed| LinkStepError { done, error: failed.error })?;
        }
        Ok(())
    }

    async fn watch(&self) -> Result<LinkEvents, LinkError> {
        self.0.watch().await
    }

    async fn ping(&self, request: &EchoRequest) -> Result<(), LinkError> {
        self.0.ping(request).await
    }
}
