//! A gate below the fabric: it counts the effects on a switch, and blocks all from a crash on.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use machinery::tokio::sync::{SetOnce, watch};

use crate::drive::ovs::fabric::SwitchConnections;
use crate::drive::ovs::links::{
    EchoRequest, Link, LinkError, LinkEvents, LinkList, LinkPlace, LinkStep, LinkStepError, Links,
};
use crate::drive::ovs::openflow::{
    FlowChange, FlowSwitch, FoundFlow, OpenFlowError, SwitchPort, SwitchStatus,
};
use crate::drive::ovs::ovsdb::{Committed, Database, DatabaseSnapshot, TransactError, Transaction};

/// The side of an effect on which the crash happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EffectSide {
    Before,
    After,
}

/// Counts effects: transactions, bundles and single link steps.
#[derive(Default)]
pub(super) struct EffectGate {
    effects: AtomicUsize,
    crash_at: Option<(usize, EffectSide)>,
    crashed: SetOnce<()>,
}

impl EffectGate {
    pub(super) fn crashing(crash_at: Option<(usize, EffectSide)>) -> Arc<Self> {
        Arc::new(Self { crash_at, ..Self::default() })
    }

    pub(super) fn effects(&self) -> usize {
        self.effects.load(SeqCst)
    }

    /// Waits for the crash.
    pub(super) async fn crashed(&self) {
        self.crashed.wait().await;
    }

    /// Puts the gate in front of connections.
    pub(super) fn before(self: &Arc<Self>, connections: SwitchConnections) -> SwitchConnections {
        let SwitchConnections { database, flows, links, control, lock } = connections;
        SwitchConnections {
            database: Arc::new(GatedEffects(database, self.clone())),
            flows: Arc::new(GatedEffects(flows, self.clone())),
            links: Arc::new(GatedEffects(links, self.clone())),
            control,
            lock,
        }
    }

    async fn pass<T>(&self, effect: impl Future<Output = T> + Send) -> T {
        if self.crashed.initialized() {
            return pending().await;
        }
        let number = self.effects.fetch_add(1, SeqCst) + 1;
        if self.crash_at == Some((number, EffectSide::Before)) {
            return self.crash().await;
        }
        let result = effect.await;
        if self.crash_at == Some((number, EffectSide::After)) {
            return self.crash().await;
        }
        result
    }

    async fn crash<T>(&self) -> T {
        let _ = self.crashed.set(());
        pending().await
    }
}

struct GatedEffects<T: ?Sized>(Arc<T>, Arc<EffectGate>);

#[async_trait]
impl Database for GatedEffects<dyn Database> {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.0.snapshot()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        self.0.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        self.1.pass(self.0.transact(transaction)).await
    }
}

#[async_trait]
impl FlowSwitch for GatedEffects<dyn FlowSwitch> {
    async fn apply(&self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError> {
        self.1.pass(self.0.apply(changes)).await
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

#[async_trait]
impl Links for GatedEffects<dyn Links> {
    async fn list(&self) -> Result<LinkList, LinkError> {
        self.0.list().await
    }

    async fn list_place(&self, place: &LinkPlace) -> Result<Vec<Link>, LinkError> {
        self.0.list_place(place).await
    }

    async fn apply(&self, steps: &[LinkStep]) -> Result<(), LinkStepError> {
        for (done, step) in steps.iter().enumerate() {
            let applied = self.1.pass(self.0.apply(std::slice::from_ref(step))).await;
            applied.map_err(|error| LinkStepError { done, ..error })?;
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
