//! The plane itself: what reads its objects, and what runs on it.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use machinery_controllers::Request;
use machinery_informers::{self as informers, Informer, KeyedBuilder, KeyedInformers, Text};
use machinery_objects::{Event, InterestBy, Kind, Object, ObjectKey, Writer};
use machinery_sync::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::controller::PlaneController;
use super::error::PlaneError;
use super::kinds::{ObjectType, PartialObject};
use super::objects::Objects;
use super::shutdown::Handle;
use super::tasks::TaskGroup;
use super::transport::Transport;
use crate::Error;
use crate::diagnostics::DiagnosticsRegistry;

/// A control plane: its objects, one informer for each type of them that somebody reads, and what runs on top.
///
/// Cheap to clone. What runs on it ends when it is [stopped](Self::stop), or when its last clone is dropped.
#[derive(Clone)]
pub struct Plane(pub(super) Arc<Handle>);

pub(super) struct Inner {
    pub(super) transport: Transport,
    objects: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Controllers first, then what they listen to.
    pub(super) controllers: TaskGroup,
    pub(super) informers: TaskGroup,
    /// How long each step of its end may take.
    pub(super) timeout: Duration,
    /// Why it stopped by itself.
    pub(super) failed: Mutex<Option<Error>>,
    registry: Arc<DiagnosticsRegistry>,
}

impl Plane {
    pub(super) fn new(transport: Transport, timeout: Duration) -> Self {
        Self(Arc::new(Handle(Arc::new(Inner {
            transport,
            objects: Mutex::default(),
            controllers: TaskGroup::default(),
            informers: TaskGroup::default(),
            timeout,
            failed: Mutex::default(),
            registry: Arc::default(),
        }))))
    }

    /// The objects of a type: an informer of all of them, which all who ask share and which runs from the first time on, and a writer.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn objects<K: ObjectType>(&self) -> Result<Objects<K>, PlaneError> {
        match self.existing() {
            Some(objects) => Ok(objects),
            None => Ok(self.share(self.informer::<K>()?)?.0),
        }
    }

    /// The same, and says before that what their informer has: indexes, limits, an audit, a filter. It has them for all who read the type, so this is
    /// done before anybody does.
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
    /// # machinery::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`objects`](Self::objects), or somebody reads the type already.
    pub fn objects_with<K: ObjectType, X>(
        &self,
        configure: impl FnOnce(&mut informers::Builder<K>) -> X,
    ) -> Result<(Objects<K>, X), PlaneError> {
        let already_runs = || PlaneError::Runs { kind: K::plural(&()).into_owned() };
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

    /// Runs an informer as the one of its type, unless there is one by now; and whether it does.
    fn share<K: ObjectType>(
        &self,
        informer: informers::Builder<K>,
    ) -> Result<(Objects<K>, bool), PlaneError> {
        let kind = Kind::of::<K>()?;
        let (informer, writer) = (informer.build(), self.0.transport.writer::<K>(&kind));
        let list_page = self.0.transport.list_page::<K>()?;
        let mut all = self.0.objects.lock();
        let existing = all.get(&TypeId::of::<K>()).cloned();
        if let Some(objects) = existing.and_then(|objects| objects.downcast::<Objects<K>>().ok()) {
            return Ok(((*objects).clone(), false));
        }
        if self.0.informers.stopping().is_cancelled() {
            return Err(PlaneError::Stopped);
        }
        self.run_as(&informer_of(&kind.to_string()), |stopping| informer.run(stopping));
        self.0.registry.informer(&kind, &informer);
        let objects = Objects::new(kind, informer, writer, list_page);
        all.insert(TypeId::of::<K>(), Arc::new(objects.clone()));
        Ok((objects, true))
    }

    /// Where the objects of a type are written, for whoever reads only some of them, or none: nothing is listened to for it.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn writer<K: ObjectType>(&self) -> Result<Arc<dyn Writer<K>>, PlaneError> {
        Ok(self.0.transport.writer::<K>(&Kind::of::<K>()?))
    }

    /// An informer of one's own, with a filter or indexes. Who makes it runs it: [`Plane::run_informer`] does.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn informer<K: ObjectType>(&self) -> Result<informers::Builder<K>, PlaneError> {
        self.partial_informer::<K, K>()
    }

    /// Keyed informers: of the objects that are under a key in which somebody has an interest. By one stream from a server of Machinery, and
    /// by one for each key from any other. Who makes them runs them: [`Plane::run_keyed`] does.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn keyed_informers<K: ObjectType, F: Text>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&K) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, K>, PlaneError> {
        self.keyed_partial_informers::<K, K, F>(by, key_of)
    }

    /// An informer of a part of each object: a type that has some of the fields, and is all that is kept.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn partial_informer<K: ObjectType, P: PartialObject>(
        &self,
    ) -> Result<informers::Builder<P>, PlaneError> {
        Ok(self.0.transport.informer(Kind::of::<K>()?))
    }

    /// Keyed informers of a part of each object.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn keyed_partial_informers<K: ObjectType, P: PartialObject, F: Text>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&P) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, P>, PlaneError> {
        Ok(self.0.transport.keyed_informers(Kind::of::<K>()?, by, key_of))
    }

    /// Runs an informer for as long as the plane runs, and shows it under a name: in metrics, on pages, and in whether the plane is ready.
    ///
    /// # Errors
    /// Another one has the name.
    pub fn run_informer<T: Object>(&self, name: &str, informer: &Informer<T>) -> Result<(), PlaneError> {
        self.0.registry.own_informer(name, informer)?;
        self.run_as(&informer_of(name), |stopping| informer.run(stopping));
        Ok(())
    }

    /// Runs keyed informers for as long as the plane runs, and shows them under a name, in metrics and on pages. Whether the plane is ready they do
    /// not say, as keys come and go.
    ///
    /// # Errors
    /// Another one has the name.
    pub fn run_keyed<F: Text, T: Object>(
        &self,
        name: &str,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), PlaneError> {
        self.0.registry.keyed(name, informers)?;
        self.run_as(&format!("the keyed informers {name}"), |stopping| informers.run(stopping));
        Ok(())
    }

    /// Runs something for as long as the plane does. It ends after the controllers.
    #[track_caller]
    pub fn run<R: Future<Output = ()> + Send + 'static>(&self, run: impl FnOnce(CancellationToken) -> R) {
        self.run_as(&format!("what runs at {}", Location::caller()), run);
    }

    pub(super) fn run_as<R: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        run: impl FnOnce(CancellationToken) -> R,
    ) {
        let informers = &self.0.informers;
        informers.spawn(name, run(informers.stopping().clone()));
    }

    /// A controller of the objects of a type, under this name.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn controller<K: ObjectType>(
        &self,
        name: &str,
    ) -> Result<PlaneController<ObjectKey, Arc<K>>, PlaneError> {
        self.controller_filtered(name, |_| true)
    }

    /// The same, but events of these objects for which the function says no make no run: [`changed`](crate::changed) makes such functions.
    /// That one goes, is to go, or has other finalizers always makes one.
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

    /// A controller of requests that are no objects: of racks, of networks, of whatever several objects have in common. Each key is a subject
    /// itself, and what it [watches](PlaneController::watching) says which are to run.
    pub fn controller_of_requests<Q: Request>(&self, name: &str) -> PlaneController<Q, Q> {
        PlaneController::of_requests(self, name)
    }

    /// The server in this process, if that is where the objects are.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn server(&self) -> Option<&machinery_apiserver::ApiServer> {
        match &self.0.transport {
            Transport::Embedded { server, .. } => Some(server),
            #[cfg(feature = "kube")]
            Transport::Cluster { .. } => None,
        }
    }

    /// Runs something beside the rest, as a controller: it must end when [`Plane::stopping`] is cancelled. If it ends with an error, or panics,
    /// the plane stops, and whoever waits in [`Plane::shutdown_on_signal`] has that error.
    ///
    /// It should hold no clone of the plane: with one the plane does not end by being dropped.
    #[track_caller]
    pub fn spawn(&self, run: impl Future<Output = Result<(), Error>> + Send + 'static) {
        let name = format!("what was spawned at {}", Location::caller());
        let (inner, controllers) = (self.0.inner(), &self.0.controllers);
        let running = controllers.spawn(&name, run);
        controllers.spawn(&name, async move {
            let error: Error = match running.await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(panicked) => panicked.into(),
            };
            inner.failed.lock().get_or_insert(error);
            inner.controllers.stopping().cancel();
        });
    }

    /// Shows pages on a socket until the plane stops, and says where: `/metrics` for Prometheus, `/healthz` (a run is stuck) and `/readyz` (not
    /// all is synced and works), and `/debug/machinery.json`, which `machinery explain` reads. Whoever reaches the address may read them.
    ///
    /// # Errors
    /// There is nowhere to listen.
    #[cfg(feature = "diagnostics")]
    pub async fn diagnostics(
        &self,
        address: std::net::SocketAddr,
    ) -> Result<std::net::SocketAddr, crate::DiagnosticsError> {
        crate::diagnostics::listen(self.0.registry.clone(), address, &self.0.informers).await
    }

    /// Adds numbers of one's own to the page `/metrics`.
    pub fn register(&self, metrics: impl FnOnce(&mut Registry)) {
        self.0.registry.register(metrics);
    }

    /// The page `/metrics`, for whoever shows it on a socket of one's own: all there is to count, as OpenMetrics has it.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.0.registry.metrics()
    }

    /// Cancelled when the plane stops.
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
