//! One at a time for an address.

use machinery::tokio::sync::{Mutex, MutexGuard};

use crate::plan::Interface;

/// So many addresses may have their turn at once, if they are of different remainders.
const TURNS: u32 = 64;

/// Whoever calls the fabric for an address has its turn until what came of it is noted: nobody sees the one without the other.
pub(super) struct Turns(Vec<Mutex<()>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..TURNS).map(|_| Mutex::default()).collect())
    }
}

impl Turns {
    /// Waits for the turn of its address.
    pub(super) async fn of(&self, interface: &Interface) -> MutexGuard<'_, ()> {
        let (vni, address) = match interface {
            Interface::Local(local) => (local.vni, local.address),
            Interface::Remote(remote) => (remote.vni, remote.address),
        };
        let turn = vni.number().wrapping_add(u32::from(address)) % TURNS;
        self.0[turn as usize].lock().await
    }
}
