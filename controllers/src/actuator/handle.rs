//! The actuator as its callers see it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::ledger::Claim;
use super::shared::{CallError, ErrorOf, ItemOf, KeyOf, Shared, Waiter};
use super::turns::KeyTurn;
use super::{
    ActuatorError, ActuatorPort, ActuatorSettings, ActuatorStatus, ItemState, PortFailure, RepairReport,
};

/// Keeps the items of a port as desired. Cheap to clone.
///
/// Callers [`ensure`](Self::ensure) and [`remove`](Self::remove) items; [`run`](Self::run) does the
/// work. Changes that are due share batches. An item that fails is retried after a back-off of its
/// own, a failing port after one of its own.
///
/// Items that exist at start stay as they are until they are claimed by `ensure`, or disowned by
/// [`delete_orphans`](Self::delete_orphans).
pub struct Actuator<P: ActuatorPort + ?Sized>(pub(super) Arc<Shared<P>>);

/// The result of [`Actuator::ensure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensured {
    /// The item existed, from this process or an earlier one.
    Existed,
    /// The item was created.
    Created,
}

impl<P: ActuatorPort + ?Sized> Clone for Actuator<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: ActuatorPort + ?Sized> fmt::Debug for Actuator<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actuator").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl<P: ActuatorPort + ?Sized> Actuator<P> {
    /// Creates an actuator. Its name is for logs.
    #[must_use]
    pub fn new(name: &str, port: Arc<P>, settings: ActuatorSettings) -> Self {
        Self(Arc::new(Shared::new(name, port, settings)))
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> &Arc<P> {
        &self.0.port
    }

    /// Creates or claims an item, and waits for the first attempt. Existing items of the list at
    /// start need no change.
    ///
    /// If the attempt fails, the item is removed again; [`set`](Self::set) keeps it. Dropping the
    /// future keeps it, too.
    ///
    /// # Errors
    /// The key has another item, the limit is reached, the change failed, the port is degraded or
    /// has not been listed so far, or the actuator has stopped.
    pub async fn ensure(&self, key: &KeyOf<P>, item: &ItemOf<P>) -> Result<Ensured, CallError<P>> {
        self.request(key, item, false).await
    }

    /// Creates or claims an item as [`ensure`](Self::ensure) does, for a single caller: a key whose
    /// item is desired already is taken, even by an equal item.
    ///
    /// # Errors
    /// As for `ensure`.
    pub async fn create(&self, key: &KeyOf<P>, item: &ItemOf<P>) -> Result<Ensured, CallError<P>> {
        self.request(key, item, true).await
    }

    async fn request(
        &self,
        key: &KeyOf<P>,
        item: &ItemOf<P>,
        is_exclusive: bool,
    ) -> Result<Ensured, CallError<P>> {
        self.loaded().await?;
        let (sender, receiver) = oneshot::channel();
        let (claim, was_desired) = self.claim((key, item), Some(sender), is_exclusive)?;
        if claim == Claim::Existing {
            return Ok(Ensured::Existed);
        }
        match receiver.await.unwrap_or_else(|_| Err(self.0.stopped())) {
            Ok(()) if claim == Claim::Create => Ok(Ensured::Created),
            Ok(()) => Ok(Ensured::Existed),
            Err(error) => {
                if !was_desired {
                    // Removes the remains. A failure of that is the item's, and is retried.
                    let _ = self.remove(key, item).await;
                }
                Err(error)
            }
        }
    }

    /// Creates or claims an item without waiting: failures are in the [status](Self::status), and
    /// are retried until the item exists or is [removed](Self::remove).
    ///
    /// # Errors
    /// The key has another item, the limit is reached, the port has not been listed so far and is
    /// degraded, or the actuator has stopped.
    pub async fn set(&self, key: &KeyOf<P>, item: &ItemOf<P>) -> Result<(), CallError<P>> {
        self.loaded().await?;
        self.claim((key, item), None, false).map(drop)
    }

    /// Deletes an item, and waits for the first attempt. A missing item, or another one of the key,
    /// is a success.
    ///
    /// # Errors
    /// The change failed or the port is degraded: the actuator retries by itself. Or the actuator
    /// has stopped.
    pub async fn remove(&self, key: &KeyOf<P>, item: &ItemOf<P>) -> Result<(), CallError<P>> {
        self.loaded().await?;
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.0.state.lock();
            if !state.ledger.release(key, item) {
                return Ok(());
            }
            state.enqueue(key, Duration::ZERO);
            state.gate.check(Instant::now()).map_err(ActuatorError::Port)?;
            state.waiting.entry(key.clone()).or_default().push(sender);
        }
        receiver.await.unwrap_or_else(|_| Err(self.0.stopped()))
    }

    /// Waits for the turn of a key: so a caller may act and record the result, unobserved by other
    /// callers of the key. Other methods wait for no turn.
    pub async fn turn(&self, key: &KeyOf<P>) -> KeyTurn<'_, KeyOf<P>> {
        self.0.turns.of(key).await
    }

    /// Compares the port with the desired items, and begins to repair the differences. Returns
    /// them.
    ///
    /// # Errors
    /// The port failed, or the actuator has stopped.
    pub async fn repair(&self) -> Result<RepairReport, CallError<P>> {
        self.loaded().await?;
        let (sender, receiver) = oneshot::channel();
        self.0.state.lock().repair_waiters.push(sender);
        self.0.repair_due.notify_all();
        receiver.await.unwrap_or_else(|_| Err(self.0.stopped()))
    }

    /// Waits until the existing items are listed.
    ///
    /// # Errors
    /// The list failed; the actuator retries by itself. Or the actuator has stopped.
    pub async fn loaded(&self) -> Result<(), CallError<P>> {
        let mut versions = self.0.version.subscribe();
        loop {
            {
                let state = self.0.state.lock();
                if state.has_stopped {
                    return Err(self.0.stopped());
                }
                if state.is_loaded {
                    return Ok(());
                }
                if let Some(failure) = state.gate.failure() {
                    return Err(ActuatorError::Port(failure.clone()));
                }
            }
            let _ = versions.changed().await;
        }
    }

    /// Returns the state of an item.
    #[must_use]
    pub fn state(&self, key: &KeyOf<P>) -> Option<ItemState<ItemOf<P>, ErrorOf<P>>> {
        self.0.state.lock().ledger.state(key)
    }

    /// Returns the state of the actuator and its broken items.
    #[must_use]
    pub fn status(&self) -> ActuatorStatus<KeyOf<P>, ItemOf<P>, ErrorOf<P>> {
        let state = self.0.state.lock();
        let (items, orphans) = state.ledger.counts();
        ActuatorStatus {
            is_loaded: state.is_loaded,
            failure: state.gate.failure().cloned(),
            items,
            unclaimed: state.ledger.unclaimed_count(),
            orphans,
            broken: state.ledger.broken(),
            repairs: state.repairs.clone(),
        }
    }

    /// Returns the failure of the port; `None` while it works.
    #[must_use]
    pub fn failure(&self) -> Option<PortFailure<ErrorOf<P>>> {
        self.0.state.lock().gate.failure().cloned()
    }

    /// Returns a receiver that changes with the [status](Self::status): when the port fails or
    /// works again, an item breaks or is repaired, and after each repair.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.version.subscribe()
    }

    /// Claims a key, and queues the change if one is due. Returns also whether the item was desired
    /// before.
    fn claim(
        &self,
        (key, item): (&KeyOf<P>, &ItemOf<P>),
        waiter: Option<Waiter<P>>,
        is_exclusive: bool,
    ) -> Result<(Claim<ItemOf<P>>, bool), CallError<P>> {
        let mut state = self.0.state.lock();
        let ((was_desired, exists), before) =
            (state.ledger.lookup(key, item), state.ledger.unclaimed_count());
        if is_exclusive && was_desired {
            return Err(ActuatorError::Taken { by: item.clone() });
        }
        if waiter.is_some() && !exists {
            state.gate.check(Instant::now()).map_err(ActuatorError::Port)?;
        }
        let claim = state.ledger.claim(key, item);
        match &claim {
            Claim::Taken(by) => return Err(ActuatorError::Taken { by: by.clone() }),
            Claim::Full => return Err(ActuatorError::Full { limit: self.0.settings.items }),
            Claim::Existing => {}
            Claim::Repair | Claim::Create => {
                state.waiting.entry(key.clone()).or_default().extend(waiter);
                state.enqueue(key, Duration::ZERO);
            }
        }
        if before > 0 && state.ledger.unclaimed_count() == 0 {
            self.0.all_claimed.notify_all();
        }
        Ok((claim, was_desired))
    }
}
