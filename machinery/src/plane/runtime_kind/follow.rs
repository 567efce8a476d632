//! Resolves the name of a kind again and again, and publishes the changes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use machinery_objects::{Kind, ListWatch, ResourceVersion, SourceError};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::served::ServedKind;
use super::state::{CurrentKind, KindState};

/// The result of a resolution.
pub(super) enum ResolvedKind {
    Served(Kind),
    Absent { at: Option<ResourceVersion> },
}

/// Resolves the name of a kind at a server.
pub(super) trait KindResolver: Send + Sync + 'static {
    /// Returns the kind of the name.
    fn resolve(&self) -> BoxFuture<'_, Result<ResolvedKind, SourceError>>;

    /// Returns when the result may have changed.
    fn changed(&mut self) -> BoxFuture<'_, ()>;

    /// Returns whether the definition exists, so that an absent kind is about to be served.
    fn is_expected(&self) -> bool {
        false
    }
}

/// Publishes the state of a kind.
pub(super) struct KindFollower<P, R> {
    pub(super) name: String,
    pub(super) resolver: R,
    pub(super) recheck: Arc<Notify>,
    pub(super) states: watch::Sender<KindState<P>>,
    pub(super) served: watch::Sender<ServedKind>,
    pub(super) source_of: SourceOf<P>,
}

type SourceOf<P> = Box<dyn Fn(Kind) -> Arc<dyn ListWatch<Arc<P>>> + Send + Sync>;

/// Delay before another attempt, doubled up to the interval of checks.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Interval of checks for changes that no event announces, such as those of aggregated APIs.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Upper bound of the delay while a definition waits to be served.
const EXPECTED_DELAY: Duration = Duration::from_secs(5);
/// Lower bound of the delay after a failed request: a server that denies a kind may be restarting.
const RECHECK_DELAY: Duration = Duration::from_millis(20);

impl<P: Send + Sync + 'static, R: KindResolver> KindFollower<P, R> {
    /// Runs until the token is cancelled.
    pub(super) async fn run(mut self, stopping: CancellationToken) {
        let _ = stopping.run_until_cancelled(self.follow()).await;
    }

    async fn follow(&mut self) {
        let (mut failures, mut number) = (0_u32, 0);
        loop {
            let resolved = self.resolver.resolve().await;
            let delay = match resolved {
                Ok(resolved) => {
                    let is_absent = matches!(resolved, ResolvedKind::Absent { .. });
                    self.publish(resolved, &mut number);
                    if is_absent && self.resolver.is_expected() {
                        failures += 1;
                        backoff(failures).min(EXPECTED_DELAY)
                    } else {
                        failures = 0;
                        CHECK_INTERVAL
                    }
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(kind = %self.name, %error, "whether the kind is served is not known: it is retried");
                    backoff(failures)
                }
            };
            let recheck = self.recheck.clone();
            let wait = async {
                tokio::select! {
                    biased;
                    () = self.resolver.changed() => {}
                    () = recheck.notified() => sleep(RECHECK_DELAY).await,
                }
            };
            let _ = timeout(delay, wait).await;
        }
    }

    fn publish(&self, resolved: ResolvedKind, number: &mut u64) {
        let kind = match &resolved {
            ResolvedKind::Served(kind) => Some(kind.clone()),
            ResolvedKind::Absent { .. } => None,
        };
        let is_unknown = self.states.borrow().is_unknown();
        if !is_unknown && self.states.borrow().kind() == kind.as_ref() {
            return;
        }
        match &kind {
            Some(kind) => {
                tracing::info!(%kind, version = kind.version(), "a kind is served: its informers start")
            }
            None if is_unknown => {
                tracing::info!(kind = %self.name, "a kind is not served yet: its informers wait")
            }
            None => tracing::info!(kind = %self.name, "a kind is no longer served: its informers stop"),
        }
        *number += 1;
        self.states.send_replace(match resolved {
            ResolvedKind::Absent { at } => KindState::Absent { at },
            ResolvedKind::Served(kind) => {
                let source = (self.source_of)(kind.clone());
                KindState::Served(CurrentKind { kind, source, number: *number })
            }
        });
        // After the source: a reconcile that sees the kind can read its objects.
        self.served.send_if_modified(|served| {
            let is_change = served.changes == 0 || served.kind != kind;
            if is_change {
                (served.changes, served.kind) = (served.changes + 1, kind);
            }
            is_change
        });
    }
}

fn backoff(failures: u32) -> Duration {
    CHECK_INTERVAL.min(RETRY_DELAY * 2_u32.saturating_pow(failures.min(10)))
}
