//! What all requests share.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use machinery_objects::Revision;
use machinery_sync::Swap;

use crate::admission::Desk;
use crate::audit::Log;
use crate::auth::authenticate::Authenticator;
use crate::auth::rbac::RbacPolicy;
use crate::cache::{self, By, Cache, Follow, View, Wanted};
use crate::guard::Checks;
use crate::handle::DecodedCaches;
use crate::interest::Interests;
use crate::kind::{Kind, Registry};
use crate::metrics::Metrics;
use crate::quota::Turns;
use crate::refusal::Refusal;
use crate::server::limits::Limits;
use crate::server::places::Places;
use crate::storage::Objects;
use crate::upkeep::Known;

/// What one server is.
pub(crate) struct Shared {
    pub(crate) objects: Objects,
    pub(crate) caches: cache::Caches,
    pub(crate) registry: Swap<Registry>,
    /// Kinds that the program brings: they are served as long as it runs.
    pub(crate) own: Vec<Arc<Kind>>,
    pub(crate) authenticator: Swap<Authenticator>,
    /// Who may do what. `None`: everybody who is known may do everything.
    pub(crate) rules: Option<Swap<RbacPolicy>>,
    /// Who is asked before something is written.
    pub(crate) admission: Desk,
    pub(crate) limits: Limits,
    pub(crate) world: World,
    pub(crate) metrics: Metrics,
    /// What was asked, and by whom, where that is logged.
    pub(crate) audit: Option<Arc<Log>>,
    /// What was made of which definition. Held while kinds are made those of their definitions.
    pub(crate) defining: tokio::sync::Mutex<Known>,
    /// What handles have decoded.
    pub(crate) decoded: DecodedCaches,
    /// What there is to give to requests.
    pub(crate) places: Places,
    /// Where guards are asked.
    pub(crate) checks: Checks,
    /// Whose turn it is among those who create what is counted.
    pub(crate) turns: Turns,
    /// Interests, from their opening to the end of their stream.
    pub(crate) interests: Arc<Interests>,
    /// Watches end when it is cancelled.
    pub(crate) stopping: tokio_util::sync::CancellationToken,
}

/// What comes from outside of any request.
pub(crate) struct World {
    pub(crate) clock: Clock,
    /// Fills with what nobody can guess.
    pub(crate) random: Chance,
}

pub(crate) type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;
pub(crate) type Chance = Box<dyn Fn(&mut [u8]) + Send + Sync>;

impl World {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// As Kubernetes writes times: RFC 3339, in seconds.
    pub(crate) fn time(&self) -> String {
        crate::meta::time::shown(self.now())
    }

    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.random)(&mut bytes);
        bytes
    }

    /// A random UUID, version 4.
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
    /// The objects of a kind, and the watches of them.
    pub(crate) async fn cache(&self, kind: &Arc<Kind>) -> Result<Arc<Cache>, Refusal> {
        self.caches.of(kind, &self.metrics).await
    }

    /// The objects of a kind, as of a revision or later; by default as of every write that was acknowledged before this call.
    pub(crate) async fn view(&self, kind: &Arc<Kind>, least: Option<Revision>) -> Result<View, Refusal> {
        self.caches.view(kind, &self.metrics, least).await
    }

    /// What is wanted and there as of then, and a watch of what comes after.
    pub(crate) async fn view_and_follow(
        &self,
        wanted: &Wanted,
        by: Option<&By>,
        least: Option<Revision>,
    ) -> Result<(View, Follow), Refusal> {
        self.caches.view_and_follow(wanted, by, &self.metrics, least).await
    }

    pub(crate) fn kinds(&self) -> Arc<Registry> {
        self.registry.load()
    }
}
