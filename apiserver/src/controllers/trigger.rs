//! Triggers of the controllers: changes of the store that cause another run.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use machinery_store::{Change, KeySpan, Watch, WatchItem};
use tokio::time::sleep;

use crate::refusal::Refusal;
use crate::server::Shared;

/// The delay after a failed read or write of the store.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Changes of a span of keys. Changes between two calls are merged.
pub(super) struct ChangeTrigger {
    shared: Arc<Shared>,
    span: KeySpan,
    watch: Option<Watch>,
}

impl ChangeTrigger {
    /// Starts with the current revision.
    pub(super) const fn new(shared: Arc<Shared>, span: KeySpan) -> Self {
        Self { shared, span, watch: None }
    }

    /// Waits for the next change. Returns at once on the first call and after a lost watch, since
    /// anything may have changed. Cancel safe.
    pub(super) async fn next(&mut self) {
        self.next_of(|_| true).await;
    }

    /// Waits for a change of a key that `concerns` accepts; it is called for each key.
    pub(super) async fn next_of(&mut self, mut concerns: impl FnMut(&str) -> bool) {
        let Some(watch) = &mut self.watch else {
            loop {
                if let Ok(now) = self.shared.objects.revision().await
                    && let Ok(watch) = self.shared.objects.watch(self.span.clone(), now).await
                {
                    self.watch = Some(watch);
                    return;
                }
                sleep(RETRY_DELAY).await;
            }
        };
        let mut is_one = |seen: &WatchItem| match seen {
            WatchItem::Changes { events, .. } => {
                events.iter().fold(false, |found, event| match &event.change {
                    Change::Put(entry) => concerns(&entry.key) | found,
                    Change::Deleted(key) => concerns(key) | found,
                })
            }
            WatchItem::Progress(_) => false,
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

/// Triggers another run on changes of the controller's objects and, while some objects wait for
/// others to be deleted, on changes of those.
pub(super) struct RescanTrigger {
    shared: Arc<Shared>,
    own: ChangeTrigger,
    /// Only while something waits.
    others: Option<ChangeTrigger>,
}

impl RescanTrigger {
    /// Watches the keys of the controller's objects.
    pub(super) async fn new(shared: &Arc<Shared>, span: KeySpan) -> Self {
        let mut own = ChangeTrigger::new(shared.clone(), span);
        own.next().await;
        Self { shared: shared.clone(), own, others: None }
    }

    /// Waits for the next run. `waiting` is the result of the last run, and `concerns` returns
    /// whether one of its items waits for a key.
    pub(super) async fn next<W>(
        &mut self,
        waiting: Result<Vec<W>, Refusal>,
        concerns: impl Fn(&W, &str) -> bool,
    ) {
        let waiting = match waiting {
            Err(_) => return sleep(RETRY_DELAY).await,
            Ok(waiting) if waiting.is_empty() => {
                self.others = None;
                return self.own.next().await;
            }
            Ok(waiting) => waiting,
        };
        let others =
            self.others.get_or_insert_with(|| ChangeTrigger::new(self.shared.clone(), KeySpan::all()));
        tokio::select! {
            biased;
            () = self.own.next() => {}
            () = others.next_of(|key| waiting.iter().any(|one| concerns(one, key))) => {}
        }
    }
}
