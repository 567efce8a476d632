//! A fabric with its actuator, for tests.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::{ActuatorError, ItemFailure, PortFailure};
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::{Fabric, FabricActuator, FabricError, FabricPort, FabricRepairs, InterfaceError, InterfaceList};
use crate::plan::{Interface, LocalInterface, RemoteInterface};

/// A fabric with a running actuator. Cheap to clone.
#[derive(Clone)]
pub(in crate::drive) struct TestFabric {
    fabric: Arc<dyn Fabric>,
    pub(in crate::drive) actuator: FabricActuator,
}

impl Deref for TestFabric {
    type Target = dyn Fabric;

    fn deref(&self) -> &Self::Target {
        &*self.fabric
    }
}

impl TestFabric {
    /// Starts an actuator whose timer does not elapse within a test.
    pub(in crate::drive) fn start(
        fabric: Arc<dyn Fabric>,
        tasks: &TaskTracker,
        stopping: &CancellationToken,
    ) -> Self {
        let actuator = FabricPort::actuator(fabric.clone(), Duration::from_secs(3600));
        let (runs, stopping) = (actuator.clone(), stopping.clone());
        tasks.spawn(async move { runs.run(stopping).await });
        Self { fabric, actuator }
    }

    pub(in crate::drive) async fn create_local(&self, local: &LocalInterface) -> Result<(), FabricError> {
        self.create(Interface::Local(local.clone())).await
    }

    pub(in crate::drive) async fn create_remote(&self, remote: &RemoteInterface) -> Result<(), FabricError> {
        self.create(Interface::Remote(remote.clone())).await
    }

    pub(in crate::drive) async fn delete_local(&self, local: &LocalInterface) -> Result<(), FabricError> {
        self.delete(&Interface::Local(local.clone())).await
    }

    pub(in crate::drive) async fn delete_remote(&self, remote: &RemoteInterface) -> Result<(), FabricError> {
        self.delete(&Interface::Remote(remote.clone())).await
    }

    /// Lists the interfaces that the fabric has.
    pub(in crate::drive) async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.actuator.loaded().await.map_err(fabric_error)?;
        self.fabric.list().await
    }

    /// Repairs differences.
    pub(in crate::drive) async fn reconcile(&self) -> Result<FabricRepairs, FabricError> {
        let report = self.actuator.repair().await.map_err(fabric_error)?;
        Ok(FabricRepairs::of(|kind| report.changes.get(kind).copied().unwrap_or_default()))
    }

    /// Returns the repairs so far.
    pub(in crate::drive) fn repairs(&self) -> FabricRepairs {
        let repairs = self.actuator.status().repairs;
        FabricRepairs::of(|kind| repairs.get(kind).map_or(0, |number| usize::try_from(*number).unwrap()))
    }

    async fn create(&self, interface: Interface) -> Result<(), FabricError> {
        self.actuator.create(&interface.key(), &interface).await.map(drop).map_err(fabric_error)
    }

    async fn delete(&self, interface: &Interface) -> Result<(), FabricError> {
        self.actuator.remove(&interface.key(), interface).await.map_err(fabric_error)
    }
}

fn fabric_error(error: InterfaceError) -> FabricError {
    match error {
        ActuatorError::Item(ItemFailure::Failed(error)) | ActuatorError::Port(PortFailure::Failed(error)) => {
            error
        }
        ActuatorError::Taken { by } => {
            FabricError::Taken { vni: by.key().vni, address: by.key().address, by: "an interface".into() }
        }
        ActuatorError::Full { limit } => FabricError::Full { limit },
        error => FabricError::Failed { what: "a call of the actuator", reason: error.to_string() },
    }
}
