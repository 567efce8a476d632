//! A fabric behind a crash gate: each of its changes is an effect.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use kos::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList};
use kos::plan::{AddressKey, LocalInterface, RemoteInterface};
use machinery::testing::CrashGate;

/// A fabric behind a gate.
pub(crate) struct Gated<F>(pub(crate) F, pub(crate) Arc<CrashGate>);

#[async_trait]
impl<F: Fabric> Fabric for Gated<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.1.pass(format!("create local {interface:?}"), self.0.create_local(interface)).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.1.pass(format!("delete local {interface:?}"), self.0.delete_local(interface)).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.1.pass(format!("create remote {interface:?}"), self.0.create_remote(interface)).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.1.pass(format!("delete remote {interface:?}"), self.0.delete_remote(interface)).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.0.list().await
    }

    async fn reconcile(&self) -> Result<FabricRepairs, FabricError> {
        self.0.reconcile().await
    }

    async fn disturbed(&self) {
        self.0.disturbed().await
    }

    async fn status(&self) -> FabricStatus {
        self.0.status().await
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        self.0.ping(from, to, sequence).await
    }
}
