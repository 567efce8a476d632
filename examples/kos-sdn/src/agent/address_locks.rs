//! Mutual exclusion of fabric calls by address.

use machinery::tokio::sync::{Mutex, MutexGuard};

use crate::plan::Interface;

/// Number of stripes: calls for addresses in different stripes run concurrently.
const STRIPES: u32 = 64;

/// Serializes fabric calls per address until their result is recorded, so that no run sees a call
/// without its result.
pub(super) struct AddressLocks(Vec<Mutex<()>>);

impl Default for AddressLocks {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Mutex::default()).collect())
    }
}

impl AddressLocks {
    /// Locks the address of an interface.
    pub(super) async fn of(&self, interface: &Interface) -> MutexGuard<'_, ()> {
        let (vni, address) = match interface {
            Interface::Local(local) => (local.vni, local.address),
            Interface::Remote(remote) => (remote.vni, remote.address),
        };
        let turn = vni.number().wrapping_add(u32::from(address)) % STRIPES;
        self.0[turn as usize].lock().await
    }
}
