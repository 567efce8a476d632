//! The time for which one leads.

use machinery_objects::{Fence, ObjectKey, Uid};
use tokio_util::sync::CancellationToken;

use super::Lease;

/// The time for which one leads.
#[derive(Clone, Debug)]
pub struct Term {
    fence: Fence,
    epoch: u64,
    token: CancellationToken,
}

impl Term {
    pub(super) fn new(lease: &ObjectKey, uid: Uid, epoch: u64) -> Self {
        let fence = Fence { kind: Lease::kind(), key: lease.clone(), uid, epoch: Some(epoch) };
        Self { fence, epoch, token: CancellationToken::new() }
    }

    /// What writes of this term rest on: a server that holds fences refuses them once somebody else leads, whatever this process
    /// knows of it.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// How often the Lease had changed hands. No two terms of a Lease have the same.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Cancelled when the term is over, or is to end. What is done in it should end then, as nobody leads in this process before it has.
    #[must_use]
    pub const fn token(&self) -> &CancellationToken {
        &self.token
    }
}
