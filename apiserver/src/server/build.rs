//! Builds, starts and stops a server.

#[cfg(feature = "server")]
use std::future::Future;
#[cfg(feature = "server")]
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use machinery_store::Backend;
use machinery_store::sealed::{Resealed, UnsealError};
use machinery_sync::Swap;
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::capacity::Capacity;
use super::limits::Limits;
use super::shared::{Environment, Shared};
use crate::admission::{Admission, AdmissionRegistry, WebhookTransport};
use crate::audit::{Audit, Log};
use crate::auth::Identity;
use crate::auth::authenticate::Authenticator;
use crate::auth::rbac::RbacPolicy;
use crate::cache;
use crate::encryption::{self, Encryption};
use crate::guard::{Checks, CrossGuards, CrossKindGuard};
use crate::handle::DecodedCaches;
use crate::http::Service;
use crate::interest::Interests;
use crate::kind::Registry;
use crate::metrics::Metrics;
use crate::own::{Own, made};
use crate::quota::Turns;
use crate::storage::Objects;
use crate::{controllers, native};

/// A running API server. Dropping it stops its server-side controllers; [`ApiServer::stop`] also
/// waits for them.
pub struct ApiServer {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    resealed: Resealed,
}

/// Configures and starts an [`ApiServer`].
#[must_use = "a builder is nothing until it starts"]
pub struct Builder {
    backend: Arc<dyn Backend>,
    encryption: Option<Encryption>,
    crds: Vec<Value>,
    own: Vec<Own>,
    guards: Vec<CrossKindGuard>,
    authenticator: Authenticator,
    rbac: bool,
    garbage_collection: bool,
    admission: Vec<Arc<dyn Admission>>,
    transport: WebhookTransport,
    limits: Limits,
    environment: Environment,
    audit: Option<Audit>,
}

/// The reason that a server did not start.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store is unavailable.
    #[error("the store cannot be used: {0}")]
    Store(String),
    /// The store has an encrypted object that cannot be decrypted, or a plain object of an
    /// encrypted resource. Nothing was changed.
    #[error("what is stored cannot all be read: {0}")]
    Sealed(UnsealError),
    /// A CustomResourceDefinition was refused.
    #[error("the CustomResourceDefinition {name:?} was refused: {why}")]
    Definition {
        /// Its name.
        name: String,
        /// The error.
        why: String,
    },
    /// A guard over several kinds was refused.
    #[error("the guard {name:?} was refused: {why}")]
    Guard {
        /// Its name.
        name: String,
        /// The error.
        why: String,
    },
}

impl ApiServer {
    /// Returns a builder of a server on a store.
    pub fn builder(backend: impl Backend) -> Builder {
        Builder::new(Arc::new(backend))
    }

    /// Returns a service for one authenticated client, for `kube::Client::new`.
    pub fn service(&self, identity: Identity) -> Service {
        Service::new(self.shared.clone(), Some(Arc::new(identity)))
    }

    /// Returns a service that authenticates each request by its bearer token.
    pub fn open_service(&self) -> Service {
        Service::new(self.shared.clone(), None)
    }

    /// Returns the number of served kinds, each counted once for all of its versions.
    #[must_use]
    pub fn kinds(&self) -> usize {
        let kinds = self.shared.kinds();
        let names = kinds.kinds().map(|kind| (&*kind.group, &*kind.names.plural));
        names.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Returns the number of encrypted objects and of objects that were re-encrypted at the start.
    #[must_use]
    pub const fn resealed(&self) -> Resealed {
        self.resealed
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Runs a task that stops by itself when the server is stopped.
    #[cfg(feature = "server")]
    pub(crate) fn spawn_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Stops all watches and the server-side controllers and waits for them; for guards at most
    /// `guard_time`.
    pub async fn stop(&self) {
        self.shared.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.shared.checks.end(&self.shared.limits).await;
        if let Some(log) = &self.shared.audit {
            // After the tasks: streams that they end queue their last events.
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
        let environment =
            Environment { clock: Box::new(Timestamp::now), random: Box::new(crate::server::random::fill) };
        Self {
            backend,
            encryption: None,
            crds: Vec::new(),
            own: Vec::new(),
            guards: Vec::new(),
            authenticator: Authenticator::default(),
            rbac: false,
            garbage_collection: true,
            admission: Vec::new(),
            transport: WebhookTransport::default(),
            limits: Limits::default(),
            environment,
            audit: None,
        }
    }

    /// Encrypts objects at rest.
    ///
    /// The start decrypts every object once, rewrites objects that are not encrypted with the first
    /// key of their providers and compacts the history before that. Without this setting, a store
    /// with encrypted objects is an error.
    pub fn encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = Some(encryption);
        self
    }

    /// Adds CustomResourceDefinitions that are created before the server has started.
    pub fn crds(mut self, crds: impl IntoIterator<Item = Value>) -> Self {
        self.crds.extend(crds);
        self
    }

    pub(crate) fn own(mut self, own: Own) -> Self {
        self.own.push(own);
        self
    }

    /// Adds a guard over objects of several kinds, built-in ones included.
    pub fn guard(mut self, guard: CrossKindGuard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Authorizes requests by RBAC. Without it every authenticated user may do everything.
    pub fn rbac(mut self) -> Self {
        self.rbac = true;
        self
    }

    /// Disables the garbage collector: dependents are kept, and so are owners in foreground or
    /// orphan deletion.
    pub fn without_garbage_collection(mut self) -> Self {
        self.garbage_collection = false;
        self
    }

    /// Adds an in-process admission plugin for writes of all kinds, called after those added
    /// before.
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.admission.push(Arc::new(admission));
        self
    }

    /// Resolves webhook services by namespace, name and port. Their certificates are for
    /// `NAME.NAMESPACE.svc`. Without a resolver, calls to such webhooks fail and `failurePolicy`
    /// applies.
    #[cfg(feature = "server")]
    pub fn webhook_services(
        mut self,
        services: impl Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync + 'static,
    ) -> Self {
        self.transport.services = Some(Arc::new(services));
        self
    }

    /// Sets the certificate authorities, in PEM, for webhooks without a `caBundle`. Without them
    /// calls to such webhooks fail: the authorities of the machine are not used.
    #[cfg(feature = "server")]
    pub fn webhook_roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.transport.roots = pem.into();
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Enables the audit log. Without it nothing is logged; responses have an audit ID nonetheless.
    ///
    /// Every request through a [`Service`] is logged, with or without a socket. Operations through
    /// a [`Handle`](crate::Handle) are not.
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Replaces the system clock.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.environment.clock = Box::new(clock);
        self
    }

    /// Starts the server. When it returns, the default namespaces, roles and definitions exist.
    ///
    /// # Errors
    /// The store cannot be used or decrypted, or a definition was refused.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let (store, resealed) = encryption::begin(self.backend, self.encryption).await?;
        let (objects, tasks, stopping) = (Objects::new(store), TaskTracker::new(), CancellationToken::new());
        let seed = u64::from_le_bytes(self.environment.bytes());
        let own =
            self.own.into_iter().map(|own| made(own, &self.environment)).collect::<Result<Vec<_>, _>>()?;
        let own = own.concat();
        let guards = CrossGuards::build(self.guards)?;
        let checks = Checks::new(&own, &guards, &self.limits);
        let metrics = Metrics::new(&self.limits);
        let flows = metrics.flows.clone();
        let transport =
            WebhookTransport { tasks: tasks.clone(), stopping: stopping.clone(), ..self.transport };
        let interests = Interests::new(&self.limits, metrics.interested.there.clone());
        let shared = Arc::new(Shared {
            caches: cache::WatchCaches::new(
                (objects.clone(), guards),
                &self.limits,
                tasks.clone(),
                stopping.clone(),
                seed,
            ),
            objects,
            registry: Swap::new(Arc::new(Registry::new(native::kinds(), [], None))),
            registry_changes: tokio::sync::watch::Sender::new(0),
            own,
            checks,
            turns: Turns::new(),
            authenticator: Swap::new(Arc::new(self.authenticator)),
            rules: self.rbac.then(|| Swap::new(Arc::new(RbacPolicy::default()))),
            admission: AdmissionRegistry::new(self.admission, transport),
            limits: self.limits,
            environment: self.environment,
            audit: self.audit.map(|audit| Arc::new(Log::begin(audit, &self.limits, metrics.audited.clone()))),
            metrics,
            definitions: tokio::sync::Mutex::default(),
            late: controllers::LateObjects::new(),
            decoded: DecodedCaches::default(),
            capacity: Capacity::new(&self.limits, flows, seed),
            interests: interests.into(),
            ended: controllers::EndedControllers::new(),
            stopping,
        });
        let server = ApiServer { shared, tasks, resealed };
        controllers::start(&server.shared, &server.tasks, self.crds, self.garbage_collection).await?;
        Ok(server)
    }
}
