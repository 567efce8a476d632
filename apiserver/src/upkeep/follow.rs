//! Hearing that something has changed, to look at all of it again.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use machinery_store::{Span, Watch};
use tokio::time::sleep;

use crate::server::Shared;

/// How long to wait after the store could not be read.
const AGAIN: Duration = Duration::from_secs(1);

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
    /// everything may have changed.
    pub(super) async fn next(&mut self) {
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
        let mut seen = watch.next().await;
        while seen.is_ok() {
            match std::pin::pin!(watch.next()).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(next) => seen = next,
                Poll::Pending => return,
            }
        }
        self.watch = None;
    }
}
