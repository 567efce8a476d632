//! The port to the system that an actuator keeps as desired.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;

use async_trait::async_trait;
use machinery_workqueue::Key;

use super::batch::{ChangeBatch, Progress};

/// A system with items that an [`Actuator`](super::Actuator) creates, changes and deletes: a
/// switch, a packet filter, a cloud's API, a map of the kernel.
///
/// A simple port implements [`list`](Self::list) and [`apply`](Self::apply); the actuator compares
/// lists with the desired items. A port with state beside its items also implements
/// [`repair`](Self::repair).
///
/// Calls may panic, hang, fail or return nonsense: this costs the items concerned and this port
/// only. Every future may be dropped half-way, at a time limit or at the end of the actuator; the
/// next calls must find out by themselves how far it went. A call that blocks its thread blocks the
/// actuator.
#[async_trait]
pub trait ActuatorPort: Send + Sync + 'static {
    /// Identifies an item.
    type Key: Key + Ord + Sync + fmt::Debug;
    /// An item as it should be. Two items are equal if no change leads from one to the other.
    type Item: Clone + PartialEq + Send + Sync + fmt::Debug + 'static;
    /// An error, of one item or of the whole system.
    type Error: std::error::Error + Clone + PartialEq + Send + Sync + 'static;

    /// Lists the items that exist and are ours: those that this port has applied, in this process
    /// or an earlier one. Changes nothing.
    ///
    /// # Errors
    /// The system cannot be read: the actuator backs off.
    async fn list(&self) -> Result<Vec<FoundItem<Self::Key, Self::Item, Self::Error>>, Self::Error>;

    /// Applies changes, each of another key. Each is idempotent: the system may have any part of it
    /// already. Results of single changes are reported to the batch as early as they are known;
    /// with `Ok`, all others have succeeded.
    ///
    /// Batches with different keys may run concurrently, see
    /// [`ActuatorSettings::lanes`](super::ActuatorSettings::lanes).
    ///
    /// # Errors
    /// The system cannot be changed: the unreported changes have failed, and the actuator backs
    /// off.
    async fn apply(&self, batch: &ChangeBatch<Self::Key, Self::Item, Self::Error>)
    -> Result<(), Self::Error>;

    /// Waits for a change of the system by others, or its restart. Changes between two calls are
    /// remembered. Reports of own changes cost a comparison. Never resolves by default: then only
    /// the timer finds drift.
    async fn disturbed(&self) -> Disturbance {
        pending().await
    }

    /// Compares the whole system with the items applied or listed so far, and repairs it, if the
    /// port does so itself; by default the actuator compares a list.
    ///
    /// # Errors
    /// The system cannot be read or changed: the actuator backs off.
    async fn repair(
        &self,
        request: &RepairRequest<Self::Key, Self::Error>,
    ) -> Result<RepairOutcome<Self::Key, Self::Error>, Self::Error> {
        let _ = request;
        Ok(RepairOutcome::Compare)
    }

    /// Runs the port's own tasks, as connections and watches. Polled as long as the actuator runs,
    /// and dropped with it.
    async fn run(&self) {
        pending().await
    }
}

/// An item that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundItem<K, I, E> {
    /// Its key.
    pub key: K,
    /// The item.
    pub item: I,
    /// The reason why it does not work; applying it again may repair it.
    pub error: Option<E>,
}

/// A change of the system that its actuator did not request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Something changed. Changes that follow soon share one repair.
    Changed,
    /// The system restarted or came back: everything may be gone, so the repair does not wait.
    Restarted,
}

/// A repair of the whole system.
#[derive(Debug)]
pub struct RepairRequest<K, E> {
    /// Items that failed and are retried by batches of their own, each after its back-off: a repair
    /// leaves them alone.
    pub failed: BTreeMap<K, E>,
    /// Restarts the time limit of the repair.
    pub progress: Progress,
}

/// The result of a repair by the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairOutcome<K, E> {
    /// The port does not compare: the actuator lists, and applies the differences.
    Compare,
    /// The port has compared and repaired everything.
    Repaired {
        /// Numbers of changes by kind.
        changes: Vec<(&'static str, usize)>,
        /// Items that do not work after the repair, among those that were not left alone.
        broken: BTreeMap<K, E>,
    },
}

impl<K, I, E> FoundItem<K, I, E> {
    /// Returns an item that works.
    pub const fn whole(key: K, item: I) -> Self {
        Self { key, item, error: None }
    }
}
