//! Hearing that something has changed, to look at all of it again.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use machinery_store::{Change, Seen, Span, Watch};
use tokio::time::sleep;

use crate::refusal::Refusal;
use crate::server::Shared;

/// How long to wait after the store could not be read or written.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// Changes to some keys. What came while nobody waited is one change.
pub(super) struct Changes {
    shared: Arc<Shared>,
    span: Span,
    watch: Option<Watch>,
}

impl Changes {
    /// From now on.
    pub(super) const fn new(shared: Arc<Shared>, span: Span) -> Self {
        Self { shared, span, watch: None }
    }

    /// Waits for the next change. The first call returns at once, and so does one after the watch was lost: then
    /// everything may have changed. Dropping this future loses nothing.
    pub(super) async fn next(&mut self) {
        self.next_of(|_| true).await;
    }

    /// Waits for the next change of a key that somebody waits for. Is asked about each key.
    pub(super) async fn next_of(&mut self, mut concerns: impl FnMut(&str) -> bool) {
        let Some(watch) = &mut self.watch else {
            loop {
                if let Ok(now) = self.shared.objects.revision().await
                    && let Ok(watch) = self.shared.objects.watch(self.span.clone(), now).await
                {
                    self.watch = Some(watch);
                    return;
                }
                sleep(AGAIN).await;
            }
        };
        let mut is_one = |seen: &Seen| match seen {
            Seen::Changes { events, .. } => events.iter().fold(false, |found, event| match &event.change {
                Change::Put(entry) => concerns(&entry.key) | found,
                Change::Deleted(key) => concerns(key) | found,
            }),
            Seen::Progress(_) => false,
        };
        let mut found = false;
        loop {
            let seen = match found {
                false => watch.next().await,
                true => match std::pin::pin!(watch.next()).poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(seen) => seen,
                    Poll::Pending => return,
                },
            };
            match seen {
                Ok(seen) => found |= is_one(&seen),
                Err(_) => break,
            }
        }
        self.watch = None;
    }
}

/// When to look again at things of which each may wait for others to go.
pub(super) struct Follow {
    shared: Arc<Shared>,
    own: Changes,
    /// While something is waited for.
    others: Option<Changes>,
}

impl Follow {
    /// Follows the keys of the things themselves.
    pub(super) async fn new(shared: &Arc<Shared>, span: Span) -> Self {
        let mut own = Changes::new(shared.clone(), span);
        own.next().await;
        Self { shared: shared.clone(), own, others: None }
    }

    /// Waits until there is something to look at again. `waiting` is what the last look found to be waiting, and
    /// `concerns` says which keys each of these waits for.
    pub(super) async fn next<W>(
        &mut self,
        waiting: Result<Vec<W>, Refusal>,
        concerns: impl Fn(&W, &str) -> bool,
    ) {
        let waiting = match waiting {
            Err(_) => return sleep(AGAIN).await,
            Ok(waiting) if waiting.is_empty() => {
                self.others = None;
                return self.own.next().await;
            }
            Ok(waiting) => waiting,
        };
        let others = self.others.get_or_insert_with(|| Changes::new(self.shared.clone(), Span::all()));
        tokio::select! {
            biased;
            () = self.own.next() => {}
            () = others.next_of(|key| waiting.iter().any(|one| concerns(one, key))) => {}
        }
    }
}
