//! The builder of planes.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
#[cfg(feature = "embedded")]
use std::sync::Arc;
use std::time::Duration;

use kube_core::CustomResourceExt;
#[cfg(feature = "embedded")]
use machinery_apiserver::{Admission, ApiServer, Builder, Identity, KindOf};
#[cfg(feature = "kube")]
use machinery_kube::kube_client::{Client, Config};
#[cfg(feature = "embedded")]
use machinery_store::{Backend, Disk, DiskOptions, Memory, Options};

use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::{Kinds, ObjectType};
use super::shutdown::SHUTDOWN_TIMEOUT;
use super::surroundings::Surroundings;
use super::transport::Transport;

/// Builds a [`Plane`] from its kinds and the location of its objects: an embedded server or a
/// cluster.
#[must_use = "nothing begins before it is started"]
pub struct PlaneBuilder {
    location: ObjectLocation,
    #[cfg(feature = "embedded")]
    pub(super) server_parts: Vec<AddToServer>,
    #[cfg(feature = "embedded")]
    pub(super) identity: Identity,
    #[cfg(feature = "server")]
    pub(super) serving: super::serving::Serving,
    definitions: Vec<EnsureDefinition>,
    updates_definitions: bool,
    timeout: Duration,
    pub(super) surroundings: Surroundings,
}

pub(super) enum ObjectLocation {
    /// The server of another plane.
    Shared(Box<Transport>),
    #[cfg(feature = "embedded")]
    Memory,
    #[cfg(feature = "embedded")]
    Disk(PathBuf),
    #[cfg(feature = "kube")]
    Config(Box<Config>),
    #[cfg(feature = "kube")]
    Kubeconfig(PathBuf),
    #[cfg(feature = "kube")]
    Client(Client),
    /// An argument without its value.
    #[cfg(all(feature = "kube", feature = "embedded"))]
    MissingValue(&'static str, &'static str),
}

/// Adds a kind or an admission plugin to the embedded server.
#[cfg(feature = "embedded")]
pub(super) type AddToServer = Box<dyn FnOnce(Builder) -> Builder + Send>;

/// Creates a missing definition, or compares and updates an older one, and waits until its kind is
/// served.
type EnsureDefinition = Box<
    dyn for<'p> FnOnce(&'p Plane, bool) -> Pin<Box<dyn Future<Output = Result<(), PlaneError>> + Send + 'p>>
        + Send,
>;

/// Returns a builder for a plane with an embedded server, in memory unless
/// [`data`](PlaneBuilder::data) is set.
#[cfg(feature = "embedded")]
pub fn embedded() -> PlaneBuilder {
    PlaneBuilder::at(ObjectLocation::Memory)
}

/// Returns a builder for a plane on a cluster.
#[cfg(feature = "kube")]
pub fn kube_config(config: Config) -> PlaneBuilder {
    PlaneBuilder::at(ObjectLocation::Config(Box::new(config)))
}

/// Returns a builder for a plane on the cluster of a kubeconfig's current context.
#[cfg(feature = "kube")]
pub fn kubeconfig(path: impl Into<PathBuf>) -> PlaneBuilder {
    PlaneBuilder::at(ObjectLocation::Kubeconfig(path.into()))
}

/// Returns a builder for a plane on the cluster of a kube client.
#[cfg(feature = "kube")]
pub fn kube_client(client: Client) -> PlaneBuilder {
    PlaneBuilder::at(ObjectLocation::Client(client))
}

/// Returns a builder for a plane by the program's arguments: `--kubeconfig FILE` for a cluster or a
/// Machinery server, `--data DIR` for an embedded server on disk, otherwise an embedded server in
/// memory. The first of the two counts; other arguments are ignored.
#[cfg(all(feature = "kube", feature = "embedded"))]
pub fn from_args() -> PlaneBuilder {
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        // An option is no value: `--data --kubeconfig` lacks its directory.
        let mut value =
            || value.clone().or_else(|| arguments.next()).filter(|value| !value.starts_with("--"));
        let location = match &*name {
            "--kubeconfig" => value().map_or(ObjectLocation::MissingValue("--kubeconfig", "file"), |path| {
                ObjectLocation::Kubeconfig(path.into())
            }),
            "--data" => value().map_or(ObjectLocation::MissingValue("--data", "directory"), |path| {
                ObjectLocation::Disk(path.into())
            }),
            _ => continue,
        };
        return PlaneBuilder::at(location);
    }
    embedded()
}

impl PlaneBuilder {
    pub(super) fn at(location: ObjectLocation) -> Self {
        Self {
            location,
            #[cfg(feature = "embedded")]
            server_parts: Vec::new(),
            // In one process with the store, a lesser identity protects nothing by itself.
            #[cfg(feature = "embedded")]
            identity: Identity::admin(),
            #[cfg(feature = "server")]
            serving: super::serving::Serving::default(),
            definitions: Vec::new(),
            updates_definitions: false,
            timeout: SHUTDOWN_TIMEOUT,
            surroundings: Surroundings::default(),
        }
    }

    /// Keeps the objects of the embedded server in a directory, which is created if missing.
    #[cfg(feature = "embedded")]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.location = ObjectLocation::Disk(directory.into());
        self
    }

    /// Adds kinds: `.kinds::<(Host, HostName)>()`. An embedded server serves them; on a cluster
    /// missing definitions are created.
    pub fn kinds<K: Kinds>(self) -> Self {
        K::add(self)
    }

    /// Adds a kind. An embedded server serves it; on a cluster a missing definition is created.
    pub fn kind<K: ObjectType + CustomResourceExt>(mut self) -> Self {
        // Both, as the location is only known at run time.
        #[cfg(feature = "embedded")]
        self.server_parts.push(Box::new(|builder| builder.kind(KindOf::<K>::new())));
        self.definitions.push(Box::new(|plane, updates| Box::pin(plane.transport().define::<K>(updates))));
        self
    }

    /// Adds a kind with defaults, validation and guards, which only an embedded server enforces.
    #[cfg(feature = "embedded")]
    pub fn kind_of<K: ObjectType + CustomResourceExt>(mut self, kind: KindOf<K>) -> Self {
        self.server_parts.push(Box::new(|builder| builder.kind(kind)));
        self.definitions.push(Box::new(|plane, updates| Box::pin(plane.transport().define::<K>(updates))));
        self
    }

    /// Updates a cluster's definition of a kind that differs from that of this program, if every
    /// stored object and client stays valid. By default differences are logged as warnings.
    pub const fn update_definitions(mut self) -> Self {
        self.updates_definitions = true;
        self
    }

    /// Adds an in-process admission plugin to the embedded server, called after those added before.
    /// A cluster has its own admission: there it is ignored.
    #[cfg(feature = "embedded")]
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.server_parts.push(Box::new(|builder| builder.admission(admission)));
        self
    }

    /// Configures the embedded server: RBAC, audit log, encryption at rest, limits, definitions.
    /// The functions are called in order, at the start. A cluster has its own configuration: it
    /// ignores them.
    ///
    /// ```
    /// # async fn example() -> machinery::Result {
    /// use machinery::apiserver::{Identity, Limits};
    ///
    /// let controllers = Identity::new("controllers").in_group("system:masters");
    /// let plane = machinery::embedded()
    ///     .server(|server| server.rbac().limits(Limits::default()))
    ///     .identity(controllers)
    ///     .start()
    ///     .await?;
    /// # plane.stop().await;
    /// # Ok(()) }
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    #[cfg(feature = "embedded")]
    pub fn server(mut self, configure: impl FnOnce(Builder) -> Builder + Send + 'static) -> Self {
        self.server_parts.push(Box::new(configure));
        self
    }

    /// Sets the user of the plane's own requests to the embedded server: RBAC, quotas and field
    /// managers apply to it. Default: an administrator. On a cluster the kubeconfig has the user.
    #[cfg(feature = "embedded")]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Sets the timeout of each step of the shutdown: controllers, informers, server. Default: one
    /// minute. It should exceed the [`Settings::drain`](crate::Settings::drain) of every
    /// controller.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Starts the plane; returns when all of its kinds are served.
    ///
    /// # Errors
    /// The server does not start, the cluster cannot be reached, a definition is rejected, or it
    /// cannot be updated as requested.
    #[cfg(feature = "server")]
    pub async fn start(mut self) -> Result<Plane, PlaneError> {
        let serving = self.take_serving()?;
        let plane = Box::pin(self.start_plane()).await?;
        let Some(serving) = serving else { return Ok(plane) };
        match Box::pin(serving.start(&plane)).await {
            Ok(()) => Ok(plane),
            Err(error) => {
                plane.stop().await;
                Err(error)
            }
        }
    }

    /// Starts the plane; returns when all of its kinds are served.
    ///
    /// # Errors
    /// The server does not start, the cluster cannot be reached, a definition is rejected, or it
    /// cannot be updated as requested.
    #[cfg(not(feature = "server"))]
    pub async fn start(self) -> Result<Plane, PlaneError> {
        Box::pin(self.start_plane()).await
    }

    async fn start_plane(self) -> Result<Plane, PlaneError> {
        let Self { location, timeout, surroundings, .. } = self;
        let transport = match location {
            #[cfg(feature = "embedded")]
            ObjectLocation::Shared(transport) => transport.used_by(self.identity),
            #[cfg(not(feature = "embedded"))]
            ObjectLocation::Shared(transport) => *transport,
            #[cfg(feature = "embedded")]
            ObjectLocation::Memory => {
                let parts = (self.server_parts, self.identity);
                serve(Memory::new(Options::default()), None, parts, &surroundings).await?
            }
            #[cfg(feature = "embedded")]
            ObjectLocation::Disk(path) => {
                // Opening reads the log with blocking I/O.
                let opening = tokio::task::spawn_blocking(move || Disk::open(path, DiskOptions::default()));
                let disk = opening.await.map_err(|_| PlaneError::Stopped)??;
                let parts = (self.server_parts, self.identity);
                serve(disk.clone(), Some(disk), parts, &surroundings).await?
            }
            #[cfg(feature = "kube")]
            ObjectLocation::Config(config) => Transport::cluster(connected(*config)?).await?,
            #[cfg(feature = "kube")]
            ObjectLocation::Kubeconfig(path) => Transport::cluster(connected(read(&path).await?)?).await?,
            #[cfg(feature = "kube")]
            ObjectLocation::Client(client) => Transport::cluster(client).await?,
            #[cfg(all(feature = "kube", feature = "embedded"))]
            ObjectLocation::MissingValue(argument, wants) => {
                return Err(PlaneError::Arguments { argument, wants });
            }
        };
        let plane = Plane::new(transport, timeout, surroundings);
        for define in self.definitions {
            define(&plane, self.updates_definitions).await?;
        }
        Ok(plane)
    }
}

#[cfg(feature = "embedded")]
async fn serve(
    store: impl Backend,
    disk: Option<Disk>,
    (server_parts, identity): (Vec<AddToServer>, Identity),
    surroundings: &Surroundings,
) -> Result<Transport, PlaneError> {
    let builder = ApiServer::builder(store).clock(surroundings.clock());
    let builder = server_parts.into_iter().fold(builder, |builder, add| add(builder));
    let server = Arc::new(builder.start().await?);
    Ok(Transport::Embedded { server, disk, identity, is_shared: false })
}

#[cfg(feature = "kube")]
fn connected(config: Config) -> Result<Client, PlaneError> {
    Ok(machinery_kube::client(config, machinery_kube::Connections::default())?)
}

#[cfg(feature = "kube")]
async fn read(path: &std::path::Path) -> Result<Config, PlaneError> {
    use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
    let why = |error: machinery_kube::kube_client::config::KubeconfigError| PlaneError::Kubeconfig {
        reason: format!("{}: {error}", path.display()),
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(why)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(why)
}
