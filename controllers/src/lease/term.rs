//! The time for which one leads.

use std::future::Future;
use std::sync::Arc;

use machinery_objects::{Fence, ObjectKey, Uid};
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Lease;

/// The time for which one leads.
#[derive(Clone, Debug)]
pub struct Term {
    fence: Fence,
    epoch: u64,
    token: CancellationToken,
    has_fences: bool,
    /// When somebody else may lead, once it was lost.
    over: Arc<SetOnce<Instant>>,
}

impl Term {
    pub(super) fn new(lease: &ObjectKey, uid: Uid, epoch: u64, has_fences: bool) -> Self {
        let fence = Fence { kind: Lease::kind(), key: lease.clone(), uid, epoch: Some(epoch), besides: None };
        Self { fence, epoch, token: CancellationToken::new(), has_fences, over: Arc::default() }
    }

    /// It was lost: from then on somebody else may lead.
    pub(super) fn lose(&self, from: Instant) {
        let _ = self.over.set(from);
        self.token.cancel();
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

    /// Does something in this term. Where the server holds no fences, and the term is lost, it is dropped when somebody else may lead:
    /// that is `None`. Where it holds them it may end as it likes, as what it writes under the fence is refused; and so it may where it
    /// was told to stop, as the Lease is renewed meanwhile.
    ///
    /// `term.within(controller.run(reconcile, term.token().clone()))` drains no longer than that, whatever
    /// [`Settings::drain`](crate::Settings::drain) says.
    pub async fn within<F: Future>(&self, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.another_may_lead() => {
                let lease = &self.fence.key;
                tracing::warn!(%lease, epoch = self.epoch, "another may lead by now, and no fence keeps what is under way from writing: it is dropped");
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
