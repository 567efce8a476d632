//! State that all requests share.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use machinery_objects::Revision;
use machinery_sync::Swap;

use crate::admission::AdmissionRegistry;
use crate::audit::Log;
use crate::auth::authenticate::Authenticator;
use crate::auth::rbac::RbacPolicy;
use crate::cache::{self, CacheWatcher, KeyField, ObjectFilter, View, WatchCache};
use crate::controllers::{EndedControllers, KnownDefinitions, LateObjects};
use crate::guard::Checks;
use crate::handle::DecodedCaches;
use crate::interest::Interests;
use crate::kind::{Kind, Registry};
use crate::metrics::Metrics;
use crate::quota::Turns;
use crate::refusal::Refusal;
use crate::server::capacity::Capacity;
use crate::server::limits::Limits;
use crate::storage::Objects;

/// The shared state of a server.
pub(crate) struct Shared {
    pub(crate) objects: Objects,
    pub(crate) caches: cache::WatchCaches,
    pub(crate) registry: Swap<Registry>,
    /// Counts the changes of the registry.
    pub(crate) registry_changes: tokio::sync::watch::Sender<u64>,
    /// Kinds of the program itself, served as long as it runs.
    pub(crate) own: Vec<Arc<Kind>>,
    pub(crate) authenticator: Swap<Authenticator>,
    /// The RBAC policy. `None`: every authenticated user may do everything.
    pub(crate) rules: Option<Swap<RbacPolicy>>,
    /// In-process admission and webhooks.
    pub(crate) admission: AdmissionRegistry,
    pub(crate) limits: Limits,
    pub(crate) environment: Environment,
    pub(crate) metrics: Metrics,
    /// The audit log, if enabled.
    pub(crate) audit: Option<Arc<Log>>,
    /// Kinds by definition. The lock is held while kinds are rebuilt from their definitions.
    pub(crate) definitions: tokio::sync::Mutex<KnownDefinitions>,
    /// Objects of the start that could not be created.
    pub(crate) late: LateObjects,
    /// Decoded objects of in-process handles.
    pub(crate) decoded: DecodedCaches,
    /// Limits on concurrency and buffered bytes.
    pub(crate) capacity: Capacity,
    /// Concurrency limits of guards.
    pub(crate) checks: Checks,
    /// Serializes creations that quotas count, by namespace.
    pub(crate) turns: Turns,
    /// Interests, from their opening to the end of their stream.
    pub(crate) interests: Arc<Interests>,
    /// Controllers that ended, for health checks.
    pub(crate) ended: EndedControllers,
    /// Cancelled on shutdown, which ends all watches.
    pub(crate) stopping: tokio_util::sync::CancellationToken,
}

/// Clock and randomness.
pub(crate) struct Environment {
    pub(crate) clock: Clock,
    /// Fills a buffer with random bytes.
    pub(crate) random: RandomSource,
}

pub(crate) type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;
pub(crate) type RandomSource = Box<dyn Fn(&mut [u8]) + Send + Sync>;

impl Environment {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the time as Kubernetes writes it: RFC 3339 in seconds.
    pub(crate) fn time(&self) -> String {
        crate::meta::time::shown(self.now())
    }

    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.random)(&mut bytes);
        bytes
    }

    /// Returns a random UUID, version 4.
    pub(crate) fn uid(&self) -> String {
        let mut bytes: [u8; 16] = self.bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (at, byte) in bytes.into_iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl Shared {
    /// Returns the watch cache of a kind.
    pub(crate) async fn cache(&self, kind: &Arc<Kind>) -> Result<Arc<WatchCache>, Refusal> {
        self.caches.of(kind, &self.metrics).await
    }

    /// Returns a view of a kind at `least` or later; without `least` a consistent read, which
    /// includes all writes acknowledged before the call.
    pub(crate) async fn view(&self, kind: &Arc<Kind>, least: Option<Revision>) -> Result<View, Refusal> {
        self.caches.view(kind, &self.metrics, least).await
    }

    /// Returns a view and a watcher that continues from exactly its revision.
    pub(crate) async fn view_and_follow(
        &self,
        filter: &ObjectFilter,
        by: Option<&KeyField>,
        least: Option<Revision>,
    ) -> Result<(View, CacheWatcher), Refusal> {
        self.caches.view_and_follow(filter, by, &self.metrics, least).await
    }

    pub(crate) fn kinds(&self) -> Arc<Registry> {
        self.registry.load()
    }
}
