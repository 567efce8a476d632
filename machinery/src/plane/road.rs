//! The plane itself: where its objects are, and what runs on it.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use kube_core::CustomResourceExt;
use machinery_controllers::Request;
use machinery_informers::{self as informers, Informer, KeyedBuilder, KeyedInformers};
use machinery_objects::{Event, InterestBy, Kind, ListWatch, ObjectKey, Writer};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::controller::PlaneController;
use super::error::PlaneError;
use super::kinds::ObjectType;
use super::objects::Objects;
use super::signals::run_until_signal;
use crate::Error;
use crate::diagnostics::Shown;

/// A control plane: its objects, one informer for each type of them that somebody reads, and what runs on top.
///
/// Cheap to clone. What runs on it ends when it is [stopped](Self::stop).
#[derive(Clone)]
pub struct Plane(Arc<Inner>);

struct Inner {
    road: Road,
    objects: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Controllers first, then what they listen to.
    controllers: Running,
    informers: Running,
    /// Why it stopped by itself.
    failed: Mutex<Option<Error>>,
    shown: Arc<Shown>,
}

#[derive(Default)]
struct Running {
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// Who has the objects.
pub(super) enum Road {
    #[cfg(feature = "embedded")]
    Embedded { server: machinery_apiserver::ApiServer, disk: Option<machinery_store::Disk> },
    #[cfg(feature = "kube")]
    Cluster { client: machinery_kube::kube_client::Client, server: machinery_kube::Server },
}

/// How one type's objects are read and written.
pub(super) struct Roads<K> {
    pub(super) kind: Kind,
    pub(super) informer: Informer<K>,
    pub(super) writer: Arc<dyn Writer<K>>,
}

impl Plane {
    pub(super) fn new(road: Road) -> Self {
        Self(Arc::new(Inner {
            road,
            objects: Mutex::default(),
            controllers: Running::default(),
            informers: Running::default(),
            failed: Mutex::default(),
            shown: Arc::default(),
        }))
    }

    /// The objects of a type: an informer of all of them, which all who ask share and which runs from the first time on, and a writer.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn objects<K: ObjectType>(&self) -> Result<Objects<K>, PlaneError> {
        let mut all = self.0.objects.lock();
        let there = all.get(&TypeId::of::<K>()).cloned();
        if let Some(objects) = there.and_then(|objects| objects.downcast::<Objects<K>>().ok()) {
            return Ok((*objects).clone());
        }
        if self.0.informers.stopping.is_cancelled() {
            return Err(PlaneError::Stopped);
        }
        let Roads { kind, informer, writer } = self.0.road.of::<K>()?;
        self.0.informers.tasks.spawn(informer.run(self.0.informers.stopping.clone()));
        self.0.shown.informer(&kind, &informer);
        let objects = Objects::new(kind, informer, writer);
        all.insert(TypeId::of::<K>(), Arc::new(objects.clone()));
        Ok(objects)
    }

    /// An informer of one's own, with a filter or indexes. Who makes it runs it: [`Plane::run`] does.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn informer<K: ObjectType>(&self) -> Result<informers::Builder<K>, PlaneError> {
        self.0.road.informer::<K>()
    }

    /// Keyed informers: of the objects that are under a key in which somebody has an interest. By one stream from a server of Machinery, and
    /// by one for each key from any other. Who makes them runs them.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow.
    pub fn keyed_informers<K: ObjectType, F: informers::Text>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&K) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, K>, PlaneError> {
        self.0.road.keyed_informers(by, key_of)
    }

    /// Runs something for as long as the plane does: an informer, keyed ones. It ends after the controllers.
    pub fn run<R: Future<Output = ()> + Send + 'static>(&self, run: impl FnOnce(CancellationToken) -> R) {
        let Running { tasks, stopping } = &self.0.informers;
        tasks.spawn(run(stopping.clone()));
    }

    /// A controller of the objects of a type, under this name.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn controller<K: ObjectType>(
        &self,
        name: &str,
    ) -> Result<PlaneController<ObjectKey, Arc<K>>, PlaneError> {
        self.controller_of_some(name, |_| true)
    }

    /// The same, but events of these objects for which the function says no make no run: [`changed`](crate::changed) makes such functions.
    /// That one goes, is to go, or has other finalizers always makes one.
    ///
    /// # Errors
    /// As [`controller`](Self::controller).
    pub fn controller_of_some<K: ObjectType>(
        &self,
        name: &str,
        is_news: impl Fn(&Event<Arc<K>>) -> bool + Send + Sync + 'static,
    ) -> Result<PlaneController<ObjectKey, Arc<K>>, PlaneError> {
        PlaneController::of_some(self, name, is_news)
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
        match &self.0.road {
            Road::Embedded { server, .. } => Some(server),
            #[cfg(feature = "kube")]
            Road::Cluster { .. } => None,
        }
    }

    /// Runs something beside the rest, as a controller: it must end when [`Plane::stopping`] is cancelled. If it ends with an error, or panics, the plane stops, and whoever waits in
    /// [`Plane::until_signal`] has that error.
    pub fn spawn(&self, run: impl Future<Output = Result<(), Error>> + Send + 'static) {
        let inner = self.0.clone();
        let running = self.0.controllers.tasks.spawn(run);
        self.0.controllers.tasks.spawn(async move {
            let error: Error = match running.await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(panicked) => panicked.into(),
            };
            inner.failed.lock().get_or_insert(error);
            inner.controllers.stopping.cancel();
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
        let Running { tasks, stopping } = &self.0.informers;
        crate::diagnostics::listen(self.0.shown.clone(), address, tasks, stopping.clone()).await
    }

    pub(super) fn road(&self) -> &Road {
        &self.0.road
    }

    pub(super) fn shown(&self) -> &Shown {
        &self.0.shown
    }

    /// Waits for SIGTERM, an interrupt, or the end of the plane, and stops it. A second signal ends the program at once.
    ///
    /// # Errors
    /// What was [spawned](Self::spawn) ended with this.
    pub async fn until_signal(&self) -> Result<(), Error> {
        run_until_signal(self).await?;
        self.0.failed.lock().take().map_or(Ok(()), Err)
    }

    /// Cancelled when the plane stops.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.controllers.stopping
    }

    /// Ends controllers, then what they listen to, then the server of one's own and its store, and waits for each.
    pub async fn stop(&self) {
        for Running { tasks, stopping } in [&self.0.controllers, &self.0.informers] {
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        }
        match &self.0.road {
            #[cfg(feature = "embedded")]
            Road::Embedded { server, disk } => {
                server.stop().await;
                if let Some(disk) = disk {
                    // An error is that the end of the log is not marked, and nothing is lost by that.
                    let _ = disk.close().await;
                }
            }
            #[cfg(feature = "kube")]
            Road::Cluster { .. } => {}
        }
    }

    pub(super) fn controllers(&self) -> (&TaskTracker, &CancellationToken) {
        (&self.0.controllers.tasks, &self.0.controllers.stopping)
    }

    /// Writes the definition of a kind where it is not, and waits until it is served.
    pub(super) async fn define<K: ObjectType + CustomResourceExt>(&self) -> Result<(), PlaneError> {
        match &self.0.road {
            #[cfg(feature = "embedded")]
            Road::Embedded { .. } => Ok(()),
            #[cfg(feature = "kube")]
            Road::Cluster { client, server } => super::define::define::<K>(client, server).await,
        }
    }
}

impl Road {
    #[cfg(feature = "kube")]
    pub(super) async fn cluster(client: machinery_kube::kube_client::Client) -> Result<Self, PlaneError> {
        use machinery_kube::Server;
        let is_ours = super::define::is_machinery(&client).await?;
        let server = if is_ours { Server::machinery() } else { Server::kubernetes() };
        Ok(Self::Cluster { client, server })
    }

    fn of<K: ObjectType>(&self) -> Result<Roads<K>, PlaneError> {
        let kind = Kind::of::<K>()?;
        let writer: Arc<dyn Writer<K>> = match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, .. } => Arc::new(server.handle::<K>(identity())),
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => {
                Arc::new(machinery_kube::Remote::<K>::new(client.clone(), kind.clone(), server.clone()))
            }
        };
        Ok(Roads { kind, informer: self.informer::<K>()?.build(), writer })
    }

    fn informer<K: ObjectType>(&self) -> Result<informers::Builder<K>, PlaneError> {
        Ok(match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, .. } => {
                let source: Arc<dyn ListWatch<Arc<K>>> = Arc::new(server.handle::<K>(identity()));
                Informer::builder(source)
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => Informer::builder(remote::<K>(client, server)?),
        })
    }

    fn keyed_informers<K: ObjectType, F: informers::Text>(
        &self,
        by: InterestBy,
        key_of: impl Fn(&K) -> Option<F> + Send + Sync + 'static,
    ) -> Result<KeyedBuilder<F, K>, PlaneError> {
        Ok(match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, .. } => {
                let source: Arc<dyn ListWatch<Arc<K>>> = Arc::new(server.handle::<K>(identity()));
                KeyedInformers::builder(source, by, key_of)
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => {
                KeyedInformers::builder(remote::<K>(client, server)?, by, key_of)
            }
        })
    }
}

#[cfg(feature = "kube")]
pub(super) fn remote<K: ObjectType>(
    client: &machinery_kube::kube_client::Client,
    server: &machinery_kube::Server,
) -> Result<Arc<dyn ListWatch<K>>, PlaneError> {
    Ok(Arc::new(machinery_kube::Remote::<K>::new(client.clone(), Kind::of::<K>()?, server.clone())))
}

#[cfg(feature = "embedded")]
pub(super) fn identity() -> machinery_apiserver::Identity {
    machinery_apiserver::Identity::admin()
}

impl fmt::Debug for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let road = match &self.0.road {
            #[cfg(feature = "embedded")]
            Road::Embedded { .. } => "embedded",
            #[cfg(feature = "kube")]
            Road::Cluster { .. } => "cluster",
        };
        f.debug_tuple("Plane").field(&road).finish()
    }
}
