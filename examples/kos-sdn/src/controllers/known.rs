//! What the controller of addresses remembers: hints, and who waits. All of it is in the caches, and made anew from them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use machinery::objects::ObjectKey;

use crate::model::Vni;
use crate::plan::{AddressKey, Addresses, WaitLists};

/// Which addresses are taken, as far as one knows, and who waits for one.
pub(super) struct Known {
    taken: BTreeMap<Vni, Addresses>,
    waits: WaitLists<ObjectKey, ObjectKey>,
    chance: u64,
}

/// What there is for who wants an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This, likely.
    Free(AddressKey),
    /// Nothing: it waits.
    Full,
    /// Nothing, and too many wait.
    TooMany,
}

impl Known {
    pub(super) fn new(waiters: usize, seed: u64) -> Self {
        Self { taken: BTreeMap::new(), waits: WaitLists::new(waiters), chance: seed }
    }

    /// An address for who wants one of a subnet, or a place in the line: that of who waits since then.
    pub(super) fn find(
        &mut self,
        subnet: &ObjectKey,
        who: &ObjectKey,
        since: Option<Timestamp>,
        vni: Vni,
        range: &RangeInclusive<u32>,
    ) -> Found {
        self.chance = mixed(self.chance);
        let (taken, owed) = (self.taken.entry(vni).or_default(), self.waits.owed(subnet, who));
        let picked = match owed > 0 && !taken.has_free(range, owed) {
            true => None,
            false => taken.pick(range, self.chance),
        };
        match picked {
            Some(address) => Found::Free(AddressKey { vni, address: Ipv4Addr::from(address) }),
            None if self.waits.wait(subnet, who, since) => Found::Full,
            None => Found::TooMany,
        }
    }

    /// There is a lock on it.
    pub(super) fn taken(&mut self, key: AddressKey) {
        self.taken.entry(key.vni).or_default().take(key.address.into());
    }

    /// There is none. Who is to be woken, if it was one of a subnet for which somebody waits.
    pub(super) fn freed(&mut self, key: AddressKey, subnet: &ObjectKey) -> Option<ObjectKey> {
        self.let_go(key);
        self.waits.freed(subnet)
    }

    /// There may be none after all.
    pub(super) fn let_go(&mut self, key: AddressKey) {
        let Some(taken) = self.taken.get_mut(&key.vni) else { return };
        taken.release(key.address.into());
        if taken.is_empty() {
            self.taken.remove(&key.vni);
        }
    }

    /// It has an address.
    pub(super) fn served(&mut self, who: &ObjectKey) {
        self.waits.served(who);
    }

    /// It wants none. Who is to be woken instead.
    pub(super) fn leaves(&mut self, who: &ObjectKey) -> Option<ObjectKey> {
        self.waits.leave(who)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waits.len()
    }
}

/// The next of a row of numbers in which nobody sees a rule.
const fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}
