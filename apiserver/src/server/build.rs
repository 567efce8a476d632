//! Making a server, and ending it.

#[cfg(feature = "server")]
use std::future::Future;
#[cfg(feature = "server")]
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use machinery_store::Backend;
use machinery_store::sealed::{Resealed, Unopened};
use machinery_sync::Swap;
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::limits::Limits;
use super::places::Places;
use super::shared::{Shared, World};
use crate::admission::{Admission, Desk, Roads};
use crate::audit::{Audit, Log};
use crate::auth::Identity;
use crate::auth::authenticate::Authenticator;
use crate::auth::rbac::RbacPolicy;
use crate::cache;
use crate::encryption::{self, Encryption};
use crate::guard::Checks;
use crate::handle::DecodedCaches;
use crate::http::Service;
use crate::interest::Interests;
use crate::kind::Registry;
use crate::metrics::Metrics;
use crate::own::{Own, made};
use crate::quota::Turns;
use crate::storage::Objects;
use crate::{native, upkeep};

/// A running API server. Dropping it stops its upkeep; [`ApiServer::stop`] also waits for it.
pub struct ApiServer {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    resealed: Resealed,
}

/// Makes an [`ApiServer`].
#[must_use = "a builder is nothing until it starts"]
pub struct Builder {
    backend: Arc<dyn Backend>,
    encryption: Option<Encryption>,
    crds: Vec<Value>,
    own: Vec<Own>,
    authenticator: Authenticator,
    rbac: bool,
    collects: bool,
    admission: Vec<Arc<dyn Admission>>,
    roads: Roads,
    limits: Limits,
    world: World,
    audit: Option<Audit>,
}

/// Why a server did not start.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store cannot be used.
    #[error("the store cannot be used: {0}")]
    Store(String),
    /// Something in the store is encrypted, and cannot be read; or is not, and must be. Nothing was changed.
    #[error("what is stored cannot all be read: {0}")]
    Sealed(Unopened),
    /// A definition was refused.
    #[error("the CustomResourceDefinition {name:?} was refused: {why}")]
    Definition {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

impl ApiServer {
    /// Begins a server on a store.
    pub fn builder(backend: impl Backend) -> Builder {
        Builder::new(Arc::new(backend))
    }

    /// The server for a client that is known: what `kube::Client::new` takes.
    pub fn service(&self, identity: Identity) -> Service {
        Service::new(self.shared.clone(), Some(Arc::new(identity)))
    }

    /// The server for whoever shows by a token that they may.
    pub fn open_service(&self) -> Service {
        Service::new(self.shared.clone(), None)
    }

    /// How many kinds it serves. One in several versions is one.
    #[must_use]
    pub fn kinds(&self) -> usize {
        let kinds = self.shared.kinds();
        let names = kinds.kinds().map(|kind| (&*kind.group, &*kind.names.plural));
        names.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// How many objects are encrypted, and how many of them were written anew at the start: with the first key, or with none.
    #[must_use]
    pub const fn resealed(&self) -> Resealed {
        self.resealed
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a task that ends by itself when the server is stopped.
    #[cfg(feature = "server")]
    pub(crate) fn go_on(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Ends all watches and the upkeep, and waits until nothing runs any more; for a guard no longer than it may take.
    pub async fn stop(&self) {
        self.shared.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.shared.checks.end(&self.shared.limits).await;
        if let Some(log) = &self.shared.audit {
            log.end().await;
        }
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
    }
}

impl Builder {
    fn new(backend: Arc<dyn Backend>) -> Self {
        let world = World { clock: Box::new(Timestamp::now), random: Box::new(crate::server::chance::fill) };
        Self {
            backend,
            encryption: None,
            crds: Vec::new(),
            own: Vec::new(),
            authenticator: Authenticator::default(),
            rbac: false,
            collects: true,
            admission: Vec::new(),
            roads: Roads::default(),
            limits: Limits::default(),
            world,
            audit: None,
        }
    }

    /// Encrypts objects in the store.
    ///
    /// At the start all that is there is decrypted once; what is not encrypted by the first key of its providers is written anew, and the history
    /// before that is compacted. Without it a store that has encrypted objects is refused.
    pub fn encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = Some(encryption);
        self
    }

    /// Definitions that are there when it has started.
    pub fn crds(mut self, crds: impl IntoIterator<Item = Value>) -> Self {
        self.crds.extend(crds);
        self
    }

    pub(crate) fn own(mut self, own: Own) -> Self {
        self.own.push(own);
        self
    }

    /// Asks roles and bindings who may do what. Without it whoever is known may do everything.
    pub fn rbac(mut self) -> Self {
        self.rbac = true;
        self
    }

    /// Leaves garbage collection to somebody else: what is owned stays, and so does who waits for it.
    pub fn without_garbage_collection(mut self) -> Self {
        self.collects = false;
        self
    }

    /// Asks the program itself before objects are written, of whichever kind and by whom; after those that were given before.
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.admission.push(Arc::new(admission));
        self
    }

    /// Where the services are that webhooks are at: by their namespace, name and port. They show certificates for `NAME.NAMESPACE.svc`.
    /// Without it such webhooks cannot be asked, and their `failurePolicy` says what becomes of requests.
    #[cfg(feature = "server")]
    pub fn webhook_services(
        mut self,
        services: impl Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync + 'static,
    ) -> Self {
        self.roads.services = Some(Arc::new(services));
        self
    }

    /// By which authorities, in PEM, webhooks are known that bring no `caBundle`. Without it they are not asked: those of the machine count
    /// for nothing.
    #[cfg(feature = "server")]
    pub fn webhook_roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roads.roots = pem.into();
        self
    }

    /// How much is too much.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Logs who asks for what. Without it nothing is logged, and no request has an id.
    ///
    /// All that comes through a [`Service`] is logged, with or without a socket. What the program does through a
    /// [`Handle`](crate::Handle) is no request, and is not.
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Another clock than the machine's.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.world.clock = Box::new(clock);
        self
    }

    /// Starts it: namespaces, roles and definitions that it must have are there then.
    ///
    /// # Errors
    /// The store cannot be used or decrypted, or a definition was refused.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let (store, resealed) = encryption::begin(self.backend, self.encryption).await?;
        let (objects, tasks, stopping) = (Objects::new(store), TaskTracker::new(), CancellationToken::new());
        let seed = u64::from_le_bytes(self.world.bytes());
        let own = self.own.into_iter().map(|own| made(own, &self.world)).collect::<Result<Vec<_>, _>>()?;
        let checks = Checks::new(&own, &self.limits);
        let metrics = Metrics::new(&self.limits);
        let roads = Roads { tasks: tasks.clone(), stopping: stopping.clone(), ..self.roads };
        let interests = Interests::new(&self.limits, metrics.interested.there.clone());
        let shared = Arc::new(Shared {
            caches: cache::Caches::new(objects.clone(), &self.limits, tasks.clone(), stopping.clone(), seed),
            objects,
            registry: Swap::new(Arc::new(Registry::new(native::kinds(), [], None))),
            own,
            checks,
            turns: Turns::new(),
            authenticator: Swap::new(Arc::new(self.authenticator)),
            rules: self.rbac.then(|| Swap::new(Arc::new(RbacPolicy::default()))),
            admission: Desk::new(self.admission, roads),
            limits: self.limits,
            world: self.world,
            audit: self.audit.map(|audit| Arc::new(Log::begin(audit, &self.limits, metrics.audited.clone()))),
            metrics,
            defining: tokio::sync::Mutex::default(),
            decoded: DecodedCaches::default(),
            places: Places::new(&self.limits),
            interests: interests.into(),
            stopping,
        });
        let server = ApiServer { shared, tasks, resealed };
        upkeep::begin(&server.shared, &server.tasks, self.crds, self.collects).await?;
        Ok(server)
    }
}
