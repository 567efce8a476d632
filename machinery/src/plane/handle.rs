//! The plane handle.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machinery_controllers::{Recorder, Request};
use machinery_informers::{
    self as informers, Informer, InformerId, KeyedBuilder, KeyedInformers, SelectorKey,
};
use machinery_metrics::{Described, Description};
use machinery_objects::{Event, InterestBy, Kind, Object, ObjectKey, ObjectRef, Writer};
use machinery_sync::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::controller::PlaneController;
use super::error::PlaneError;
use super::kinds::{ObjectType, PartialObject};
use super::objects::Objects;
use super::runtime_kind::RuntimeKinds;
use super::shutdown::Handle;
use super::surroundings::Surroundings;
use super::tasks::TaskGroup;
use super::transport::Transport;
use super::written_fields::WrittenFields;
use crate::Error;
use crate::diagnostics::DiagnosticsRegistry;

/// A control plane: objects, one shared informer per type, and controllers. The counterpart of
/// controller-runtime's `Manager`.
///
/// Cheap to clone. All tasks of the plane are cancelled when it is [stopped](Self::stop), or when
/// the last clone is dropped.
#[derive(Clone)]
pub struct Plane(pub(super) Arc<Handle>);

pub(super) struct Inner {
    pub(super) transport: Transport,
    objects: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Stopped before the informers that they read.
    pub(super) controllers: TaskGroup,
    pub(super) informers: TaskGroup,
    /// Timeout of each step of the shutdown.
    pub(super) timeout: Duration,
    /// Error of a spawned task that stopped the plane.
    pub(super) failed: Mutex<Option<Error>>,
    pub(super) surroundings: Surroundings,
    registry: Arc<DiagnosticsRegistry>,
    written_fields: WrittenFields,
    /// References to the objects of the shared informers.
    pub(super) references: Mutex<BTreeMap<InformerId, Arc<ReferenceFn>>>,
    /// Created with the first write fight.
    pub(super) fight_recorder: OnceLock<Recorder>,
    /// Kinds known at run time.
    pub(super) runtime_kinds: RuntimeKinds,
    /// Informer of the definitions of a cluster, for kinds known at run time.
    #[cfg(feature = "kube")]
    pub(super) definitions: Mutex<Option<Informer<super::runtime_kind::DefinitionMark>>>,
    /// Set when the embedded server listens.
    #[cfg(feature = "server")]
    access: std::sync::OnceLock<machinery_apiserver::Access>,
}

/// Returns a reference to a cached object.
type ReferenceFn = dyn Fn(&ObjectKey) -> Option<ObjectRef> + Send + Sync;

impl Inner {
    /// Runs a task until the shutdown, stopped with the informers.
    pub(super) fn run_as<R: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        run: impl FnOnce(CancellationToken) -> R,
    ) {
        self.informers.spawn(name, run(self.informers.stopping().clone()));
    }

    pub(super) fn registry(&self) -> &DiagnosticsRegistry {
        &self.registry
    }
}

impl Plane {
    pub(super) fn new(transport: Transport, timeout: Duration, surroundings: Surroundings) -> Self {
        Self(Arc::new(Handle(Arc::new(Inner {
            transport,
            objects: Mutex::default(),
            controllers: TaskGroup::default(),
            informers: TaskGroup::default(),
            timeout,
            failed: Mutex::default(),
            surroundings,
            registry: Arc::default(),
            written_fields: WrittenFields::default(),
            references: Mutex::default(),
            fight_recorder: OnceLock::new(),
            runtime_kinds: Mutex::default(),
            #[cfg(feature = "kube")]
            definitions: Mutex::default(),
            #[cfg(feature = "server")]
            access: std::sync::OnceLock::new(),
        }))))
    }

    /// Returns the objects of a type: a writer, and the informer that all callers share, which the
    /// first call starts.
    ///
    /// # Errors
    /// The type's kind is invalid or not served, or the plane has stopped.
    pub fn objects<K: ObjectType>(&self) -> Result<Objects<K>, PlaneError> {
        match self.existing() {
            Some(objects) => Ok(objects),
            None => Ok(self.share(self.informer::<K>()?)?.0),
        }
    }

    /// Like [`objects`](Self::objects), and configures the shared informer first: indexes, limits,
    /// drift check, filter. It has to be the first use of the type.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::k8s_openapi::api::core::v1::Pod;
    /// # let plane = machinery::embedded().start().await?;
    /// let node = |pod: &Pod| pod.spec.as_ref()?.node_name.clone();
    /// let (pods, by_node) = plane.objects_with::<Pod, _>(|informer| informer.index(node))?;
    /// let on_n1 = pods.read().by(&by_node, &"n1".to_owned()).count();
    /// # assert_eq!(on_n1, 0);
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`objects`](Self::objects), or the informer of the type is running already.
    pub fn objects_with<K: ObjectType, X>(
        &self,
        configure: impl FnOnce(&mut informers::Builder<K>) -> X,
    ) -> Result<(Objects<K>, X), PlaneError> {
        let already_runs = || PlaneError::Runs { kind: K::plural(&()).into_owned() };
        // An index that only some readers know of would be a second informer by another name.
        if self.existing::<K>().is_some() {
            return Err(already_runs());
        }
        let mut informer = self.informer::<K>()?;
        let configured = configure(&mut informer);
        match self.share(informer)? {
            (objects, true) => Ok((objects, configured)),
            (_, false) => Err(already_runs()),
        }
    }

    fn existing<K: ObjectType>(&self) -> Option<Objects<K>> {
        let existing = self.0.objects.lock().get(&TypeId::of::<K>()).cloned()?;
        Some((*existing.downcast::<Objects<K>>().ok()?).clone())
    }

    /// Starts the shared informer of a type, unless it exists; returns whether it was started.
    fn share<K: ObjectType>(
        &self,
        informer: informers::Builder<K>,
    ) -> Result<(Objects<K>, bool), PlaneError> {
        let kind = Kind::of::<K>()?;
        let (informer, writer) = (informer.build(), self.writer::<K>()?);
        let list_page = self.0.transport.list_page::<K>()?;
        let mut all = self.0.objects.lock();
        let existing = all.get(&TypeId::of::<K>()).cloned();
        if let Some(objects) = existing.and_then(|objects| objects.downcast::<Objects<K>>().ok()) {
            return Ok(((*objects).clone(), false));
        }
        // An informer that starts now ends at once, and its readers would never sync.
        if self.0.informers.stopping().is_cancelled() {
            return Err(PlaneError::Stopped);
        }
        self.run_as(&informer_of(&kind.to_string()), |stopping| informer.run(stopping));
        self.0.registry.informer(&kind, &informer);
        let objects = Objects::new(kind, informer, writer, list_page);
        let of = objects.clone();
        let reference = move |key: &ObjectKey| of.get(key).map(|object| of.about(&object));
        self.0.references.lock().insert(objects.informer().id(), Arc::new(reference));
        all.insert(TypeId::of::<K>(), Arc::new(objects.clone()));
        Ok((objects, true))
    }

    /// Returns a writer for the objects of a type, without an informer. A run reports its writes by
    /// [`Run::wrote`](machinery_controllers::Run::wrote); a writer from [`Objects`] does so itself.
    ///
    /// # Errors
    /// The type's kind is invalid.
    pub fn writer<K: ObjectType>(&self) -> Result<Arc<dyn Writer<K>>, PlaneError> {
        let kind = Kind::of::<K>()?;
        Ok(self.0.surroundings.writer(&kind, self.0.transport.writer::<K>(&kind)))
    }

    /// Returns a builder for a separate informer, for instance with a filter or indexes. Run the
    /// informer with [`Plane::run_informer`].
    ///
    /// # Errors
    /// The type's kind is invalid or not served.
    pub fn informer<K: ObjectType>(&self) -> Result<informers::Builder<K>, PlaneError> {
        self.partial_informer::<K, K>()
    }

    /// Returns a builder for keyed informers, which cache only the objects under acquired keys;
    /// `key_of` returns the key of an object, by the same field or label as `by`. A Machinery
    /// server sends the objects in one stream, other servers in one stream per key. Run the
    /// informers with [`Plane::run_keyed`].
    ///
    /// # Errors
    /// The type's kind is invalid or not served, or has no such selectable field.
    pub fn keyed_informers<K: ObjectType, F: SelectorKey>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&K) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, K>, PlaneError> {
        self.keyed_partial_informers::<K, K, F>(by, key_of)
    }

    /// Returns a builder for an informer of partial objects: `P` has some fields of the objects of
    /// type `K`, and only these are decoded and cached.
    ///
    /// # Errors
    /// The type's kind is invalid or not served.
    pub fn partial_informer<K: ObjectType, P: PartialObject>(
        &self,
    ) -> Result<informers::Builder<P>, PlaneError> {
        let kind = Kind::of::<K>()?;
        self.check_served(&kind)?;
        Ok(self.0.transport.informer(kind))
    }

    /// Returns a builder for keyed informers of [partial objects](Self::partial_informer): they
    /// cache some fields of the objects under acquired keys.
    ///
    /// # Errors
    /// The type's kind is invalid or not served, or has no such selectable field.
    pub fn keyed_partial_informers<K: ObjectType, P: PartialObject, F: SelectorKey>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&P) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, P>, PlaneError> {
        let kind = Kind::of::<K>()?;
        self.check_selectable(&kind, &by)?;
        Ok(self.0.transport.keyed_informers(kind, by, key_of))
    }

    /// Runs an informer until the shutdown, and registers it under a name for metrics, diagnostics
    /// and readiness.
    ///
    /// # Errors
    /// Another informer has the name.
    pub fn run_informer<T: Object>(&self, name: &str, informer: &Informer<T>) -> Result<(), PlaneError> {
        self.0.registry.own_informer(name, informer)?;
        self.run_as(&informer_of(name), |stopping| informer.run(stopping));
        Ok(())
    }

    /// Runs keyed informers until the shutdown, and registers them under a name for metrics and
    /// diagnostics. They do not affect readiness, as keys are acquired and released at any time.
    ///
    /// # Errors
    /// Another informer has the name.
    pub fn run_keyed<F: SelectorKey, T: Object>(
        &self,
        name: &str,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), PlaneError> {
        self.0.registry.keyed(name, informers)?;
        self.run_as(&format!("the keyed informers {name}"), |stopping| informers.run(stopping));
        Ok(())
    }

    /// Runs a task until the shutdown. Its token is cancelled with the informers, after the
    /// controllers have stopped.
    #[track_caller]
    pub fn run<R: Future<Output = ()> + Send + 'static>(&self, run: impl FnOnce(CancellationToken) -> R) {
        self.run_as(&format!("the task run at {}", Location::caller()), run);
    }

    pub(super) fn run_as<R: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        run: impl FnOnce(CancellationToken) -> R,
    ) {
        self.0.run_as(name, run);
    }

    /// Returns a builder for a controller of the objects of a type: each object is reconciled
    /// initially and after every change.
    ///
    /// # Errors
    /// The type's kind is invalid, or the plane has stopped.
    pub fn controller<K: ObjectType>(
        &self,
        name: &str,
    ) -> Result<PlaneController<ObjectKey, Arc<K>>, PlaneError> {
        self.controller_filtered(name, |_| true)
    }

    /// Like [`controller`](Self::controller), with a predicate on events of the objects; see
    /// [`changed`](crate::changed). Deletions, deletion timestamps and changes of finalizers always
    /// pass.
    ///
    /// # Errors
    /// As [`controller`](Self::controller).
    pub fn controller_filtered<K: ObjectType>(
        &self,
        name: &str,
        predicate: impl Fn(&Event<Arc<K>>) -> bool + Send + Sync + 'static,
    ) -> Result<PlaneController<ObjectKey, Arc<K>>, PlaneError> {
        PlaneController::of_filtered(self, name, predicate)
    }

    /// Returns a builder for a controller of requests without objects, such as racks or networks
    /// that several objects share. Each key is its own subject; the map functions of the
    /// [sources](PlaneController::watching) return the keys.
    pub fn controller_of_requests<Q: Request>(&self, name: &str) -> PlaneController<Q, Q> {
        PlaneController::of_requests(self, name)
    }

    /// Returns the embedded server, if there is one.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn server(&self) -> Option<&machinery_apiserver::ApiServer> {
        match &self.0.transport {
            Transport::Embedded { server, .. } => Some(&**server),
            #[cfg(feature = "kube")]
            Transport::Cluster { .. } => None,
        }
    }

    /// Returns the endpoint and credentials of the embedded server, if the plane
    /// [serves](super::PlaneBuilder::serve) it.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn access(&self) -> Option<&machinery_apiserver::Access> {
        self.0.access.get()
    }

    #[cfg(feature = "server")]
    pub(super) fn set_access(&self, access: machinery_apiserver::Access) {
        // The builder starts one server only.
        let _ = self.0.access.set(access);
    }

    /// Spawns a task that is stopped together with the controllers: it must end when
    /// [`Plane::stopping`] is cancelled. If it returns an error or panics, the plane stops, and
    /// [`Plane::shutdown_on_signal`] returns the error.
    ///
    /// The task should not hold a clone of the plane, which would keep the plane from ending on
    /// drop.
    #[track_caller]
    pub fn spawn(&self, run: impl Future<Output = Result<(), Error>> + Send + 'static) {
        let name = format!("the task spawned at {}", Location::caller());
        // Not the plane: a clone held by its own task would keep it from ending on drop.
        let (inner, controllers) = (self.0.inner(), &self.0.controllers);
        let running = controllers.spawn(&name, run);
        controllers.spawn(&name, async move {
            let error: Error = match running.await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(panicked) => panicked.into(),
            };
            // The first error is the cause; later ones may follow from the stop.
            inner.failed.lock().get_or_insert(error);
            inner.controllers.stopping().cancel();
        });
    }

    /// Serves diagnostics until the shutdown, and returns the bound address. There is no
    /// authentication.
    ///
    /// - `/metrics`: for Prometheus.
    /// - `/healthz`: fails if all workers of a controller are stuck, or a leader does not renew.
    /// - `/readyz`: fails until the informers are synced and the running controllers reconcile.
    /// - `/debug/dashboard.json`: a Grafana dashboard of all described metrics.
    /// - `/debug/metrics.md`: a table of them.
    /// - `/debug/machinery.json`: the state of all components, read by `machinery explain`.
    ///
    /// Objects that cannot be decoded, and locks without notification of waiters, are listed below
    /// the line `degraded` of `/healthz` and `/readyz`. They fail neither: a restart is no cure.
    ///
    /// # Errors
    /// The address cannot be bound.
    #[cfg(feature = "diagnostics")]
    pub async fn diagnostics(
        &self,
        address: std::net::SocketAddr,
    ) -> Result<std::net::SocketAddr, crate::DiagnosticsError> {
        crate::diagnostics::listen(self.0.registry.clone(), address, &self.0.informers).await
    }

    /// Like [`diagnostics`](Self::diagnostics), on the first free port of [`PORTS`](crate::PORTS)
    /// from that of the address on, so that several candidates of one program share a machine.
    /// `machinery explain` searches these ports from 9464 on.
    ///
    /// # Errors
    /// The address cannot be bound, or none of the ports is free.
    #[cfg(feature = "diagnostics")]
    pub async fn diagnostics_from(
        &self,
        first: std::net::SocketAddr,
    ) -> Result<std::net::SocketAddr, crate::DiagnosticsError> {
        crate::diagnostics::listen_from(self.0.registry.clone(), first, &self.0.informers).await
    }

    /// Adds described metrics, of [`metrics!`](crate::metrics!), to the page `/metrics`, to
    /// the dashboard and to the table of metrics.
    pub fn add_metrics(&self, metrics: &impl Described) {
        self.0.registry.register(|set| set.add(metrics));
    }

    /// Registers metrics without descriptions on the page `/metrics`.
    pub fn register(&self, metrics: impl FnOnce(&mut Registry)) {
        self.0.registry.register(|set| metrics(set.registry_mut()));
    }

    /// Returns the descriptions of all metrics: those that the program added, and those of
    /// Machinery.
    #[must_use]
    pub fn metric_descriptions(&self) -> Vec<Description> {
        self.0.registry.descriptions()
    }

    /// Returns the page `/metrics` in the OpenMetrics format, to serve it elsewhere.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.0.registry.metrics()
    }

    /// Returns the token that is cancelled when the plane stops.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        self.0.controllers.stopping()
    }

    pub(super) fn controllers(&self) -> &TaskGroup {
        &self.0.controllers
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.0.transport
    }

    pub(super) fn written_fields(&self) -> &WrittenFields {
        &self.0.written_fields
    }

    pub(super) fn registry(&self) -> &DiagnosticsRegistry {
        &self.0.registry
    }
}

fn informer_of(name: &str) -> String {
    format!("the informer of {name}")
}

impl fmt::Debug for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plane").field(&self.0.transport).finish()
    }
}
