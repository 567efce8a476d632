//! Terms of leadership.

use std::future::Future;
use std::sync::Arc;

use machinery_objects::{Fence, ObjectKey, Uid};
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Lease;

/// A term: the time that one candidate leads.
#[derive(Clone, Debug)]
pub struct Term {
    fence: Fence,
    epoch: u64,
    token: CancellationToken,
    has_fences: bool,
    /// Earliest start of another term, once this one is lost.
    over: Arc<SetOnce<Instant>>,
}

impl Term {
    pub(super) fn new(lease: &ObjectKey, uid: Uid, epoch: u64, has_fences: bool) -> Self {
        let fence = Fence { kind: Lease::kind(), key: lease.clone(), uid, epoch: Some(epoch), besides: None };
        Self { fence, epoch, token: CancellationToken::new(), has_fences, over: Arc::default() }
    }

    /// Ends the term; another candidate may lead from this time on.
    pub(super) fn lose(&self, from: Instant) {
        let _ = self.over.set(from);
        self.token.cancel();
    }

    /// Returns the fence for writes of this term: a server with fences rejects them as soon as
    /// another candidate leads.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Returns the epoch: the number of transitions, unique to each term of a Lease.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the token that is cancelled at the end of the term. Work should end with it: no
    /// other term starts in this process before.
    #[must_use]
    pub const fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Runs work within this term. On a server without fences, it is dropped when the lost term
    /// permits another leader, and the result is `None`. On a server with fences the work may end
    /// in its own time, as its fenced writes are rejected; so it may after a requested stop, as the
    /// Lease is still renewed.
    ///
    /// `term.within(controller.run(reconcile, term.token().clone()))` bounds the drain, even if
    /// [`Settings::drain`](crate::Settings::drain) is longer.
    pub async fn within<F: Future>(&self, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.another_may_lead() => {
                let lease = &self.fence.key;
                tracing::warn!(%lease, epoch = self.epoch, "another candidate may lead now, and no fence rejects the writes of this term: its work is dropped");
                None
            }
        }
    }

    async fn another_may_lead(&self) {
        if self.has_fences {
            return std::future::pending().await;
        }
        sleep_until(*self.over.wait().await).await;
    }
}
