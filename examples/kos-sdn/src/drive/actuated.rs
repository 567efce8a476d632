//! A node's fabric under an actuator, which decides when to create, delete, repair and retry.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machinery::controllers::{
    Actuator, ActuatorError, ActuatorPort, ActuatorSettings, ChangeBatch, Disturbance, FoundItem, ItemChange,
    RepairOutcome, RepairRequest,
};

use super::{BrokenInterface, Fabric, FabricError, InterfaceList};
use crate::plan::{AddressKey, Interface};

/// Keeps the interfaces of a node as its agent desires.
pub type FabricActuator = Actuator<FabricPort>;

/// A change of an interface.
pub type InterfaceChange = ItemChange<AddressKey, Interface>;

/// The changes of one call of a fabric.
pub type InterfaceBatch = ChangeBatch<AddressKey, Interface, FabricError>;

/// The reason why an interface was not created or deleted.
pub type InterfaceError = ActuatorError<Interface, FabricError>;

/// A switch that is not reachable yet costs nothing to try.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

/// A fabric as the port of an actuator.
pub struct FabricPort(Arc<dyn Fabric>);

impl FabricPort {
    /// Returns an actuator of a fabric, which compares at an interval.
    #[must_use]
    pub fn actuator(fabric: Arc<dyn Fabric>, interval: Duration) -> FabricActuator {
        let settings = ActuatorSettings { interval, backoff: BACKOFF, ..ActuatorSettings::default() };
        Actuator::new(fabric.name(), Arc::new(Self(fabric)), settings)
    }
}

#[async_trait]
impl ActuatorPort for FabricPort {
    type Key = AddressKey;
    type Item = Interface;
    type Error = FabricError;

    async fn list(&self) -> Result<Vec<FoundItem<AddressKey, Interface, FabricError>>, FabricError> {
        let InterfaceList { locals, remotes, broken } = self.0.list().await?;
        let whole =
            locals.into_iter().map(Interface::Local).chain(remotes.into_iter().map(Interface::Remote));
        let whole = whole.map(|interface| FoundItem::whole(interface.key(), interface));
        let broken = broken.into_iter().map(|BrokenInterface { interface, error }| FoundItem {
            key: interface.key(),
            item: interface,
            error: Some(error),
        });
        Ok(whole.chain(broken).collect())
    }

    async fn apply(&self, batch: &InterfaceBatch) -> Result<(), FabricError> {
        self.0.apply(batch).await
    }

    async fn run(&self) {
        self.0.run().await
    }

    async fn disturbed(&self) -> Disturbance {
        self.0.disturbed().await
    }

    async fn repair(
        &self,
        request: &RepairRequest<AddressKey, FabricError>,
    ) -> Result<RepairOutcome<AddressKey, FabricError>, FabricError> {
        let changes = self.0.repair(&request.progress).await?.by_kind().to_vec();
        let broken = self.0.status().await.broken;
        let broken = broken.into_iter().map(|broken| (broken.interface.key(), broken.error)).collect();
        Ok(RepairOutcome::Repaired { changes, broken })
    }
}
