//! Mutual exclusion of fabric calls by address.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::sync::Mutex;
use machinery::tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::plan::{AddressKey, Interface};

/// Serializes fabric calls per address until their result is recorded, so that no run sees a call
/// without its result. Calls for different addresses run concurrently.
#[derive(Default)]
pub(super) struct AddressLocks(Mutex<BTreeMap<AddressKey, Arc<AsyncMutex<()>>>>);

/// The lock of an address, until it is dropped.
pub(super) struct AddressGuard<'a> {
    locks: &'a AddressLocks,
    key: AddressKey,
    held: Option<OwnedMutexGuard<()>>,
}

impl AddressLocks {
    /// Locks the address of an interface.
    pub(super) async fn of(&self, interface: &Interface) -> AddressGuard<'_> {
        let key = interface.key();
        // Before the wait, so that a dropped future leaves no entry.
        let mut guard = AddressGuard { locks: self, key, held: None };
        let lock = self.0.lock().entry(key).or_default().clone();
        guard.held = Some(lock.lock_owned().await);
        guard
    }
}

impl Drop for AddressGuard<'_> {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut locks = self.locks.0.lock();
        // Clones are made under this mutex: without one, nobody waits.
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Vni;
    use crate::plan::LocalInterface;
    use futures::FutureExt as _;

    #[machinery::tokio::test(crate = "machinery::tokio")]
    async fn calls_of_one_address_exclude_each_other() {
        let locks = AddressLocks::default();
        let of = |low| Interface::Local(LocalInterface::new(Vni::new(1).unwrap(), [10, 0, 0, low].into()));
        let (one, other) = (of(2), of(3));
        let held = locks.of(&one).await;
        assert!(locks.of(&other).now_or_never().is_some());
        assert!(locks.of(&one).now_or_never().is_none());
        drop(held);
        assert!(locks.of(&one).now_or_never().is_some());
        assert!(locks.0.lock().is_empty(), "unused locks are dropped");
    }
}
