//! How a plane begins.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use kube_core::CustomResourceExt;
#[cfg(feature = "embedded")]
use machinery_apiserver::{ApiServer, Builder, KindOf};
#[cfg(feature = "kube")]
use machinery_kube::kube_client::{Client, Config};
#[cfg(feature = "embedded")]
use machinery_store::{Backend, Disk, DiskOptions, Memory, Options};

use super::end::PATIENCE;
use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::{Kinds, ObjectType};
use super::road::Road;

/// Says where a plane's objects are, and which kinds it brings.
#[must_use = "nothing begins before it is started"]
pub struct Begin {
    place: Place,
    #[cfg(feature = "embedded")]
    own: Vec<Own>,
    defined: Vec<Define>,
    patience: Duration,
}

enum Place {
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
    /// An argument, and what it wants.
    #[cfg(all(feature = "kube", feature = "embedded"))]
    Wrong(&'static str, &'static str),
}

/// Adds a kind to the server of one's own.
#[cfg(feature = "embedded")]
type Own = Box<dyn FnOnce(Builder) -> Builder + Send>;

/// Writes a definition where it is not, and waits until its kind is served.
type Define = Box<
    dyn for<'p> FnOnce(&'p Plane) -> Pin<Box<dyn Future<Output = Result<(), PlaneError>> + Send + 'p>> + Send,
>;

/// A plane with a server of its own, in this process, whose objects are in memory unless it is told where.
#[cfg(feature = "embedded")]
pub fn embedded() -> Begin {
    Begin::at(Place::Memory)
}

/// A plane on a cluster.
#[cfg(feature = "kube")]
pub fn kube_config(config: Config) -> Begin {
    Begin::at(Place::Config(Box::new(config)))
}

/// A plane on the cluster of a kubeconfig's current context.
#[cfg(feature = "kube")]
pub fn kubeconfig(path: impl Into<PathBuf>) -> Begin {
    Begin::at(Place::Kubeconfig(path.into()))
}

/// A plane on whatever a client of kube reaches.
#[cfg(feature = "kube")]
pub fn kube_client(client: Client) -> Begin {
    Begin::at(Place::Client(client))
}

/// A plane as the program's arguments say: `--kubeconfig FILE` for a cluster, or a server of Machinery; `--data DIR` for a server of its own
/// that keeps its objects there; else one of its own in memory. Other arguments are the program's.
#[cfg(all(feature = "kube", feature = "embedded"))]
pub fn from_args() -> Begin {
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value =
            || value.clone().or_else(|| arguments.next()).filter(|value| !value.starts_with("--"));
        let place = match &*name {
            "--kubeconfig" => {
                value().map_or(Place::Wrong("--kubeconfig", "file"), |path| Place::Kubeconfig(path.into()))
            }
            "--data" => value().map_or(Place::Wrong("--data", "directory"), |path| Place::Disk(path.into())),
            _ => continue,
        };
        return Begin::at(place);
    }
    embedded()
}

impl Begin {
    fn at(place: Place) -> Self {
        Self {
            place,
            #[cfg(feature = "embedded")]
            own: Vec::new(),
            defined: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Keeps the objects in a directory, which is made if it is not there.
    #[cfg(feature = "embedded")]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place = Place::Disk(directory.into());
        self
    }

    /// Brings kinds: `.kinds::<(Host, HostName)>()`. A server of its own has them; on a cluster their definitions are written if they are not
    /// there.
    pub fn kinds<K: Kinds>(self) -> Self {
        K::add(self)
    }

    /// Brings a kind.
    pub fn kind<K: ObjectType + CustomResourceExt>(mut self) -> Self {
        #[cfg(feature = "embedded")]
        self.own.push(Box::new(|builder| builder.kind(KindOf::<K>::new())));
        self.defined.push(Box::new(|plane| Box::pin(plane.road().define::<K>())));
        self
    }

    /// Brings a kind with what it asks of its objects: defaults, validation, guards. Only a server of its own can hold these.
    #[cfg(feature = "embedded")]
    pub fn kind_of<K: ObjectType + CustomResourceExt>(mut self, kind: KindOf<K>) -> Self {
        self.own.push(Box::new(|builder| builder.kind(kind)));
        self.defined.push(Box::new(|plane| Box::pin(plane.road().define::<K>())));
        self
    }

    /// Waits for so long for each step when it is stopped: for controllers, for what they listen to, for the server. Default: a minute. A
    /// controller whose [`Settings::drain`](crate::Settings::drain) is longer needs more.
    pub fn stops_within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Begins. The kinds are served then.
    ///
    /// # Errors
    /// The server does not start, or the cluster cannot be reached or does not take a definition.
    pub async fn start(self) -> Result<Plane, PlaneError> {
        match self.place {
            #[cfg(feature = "embedded")]
            Place::Memory => serve(Memory::new(Options::default()), None, self.own, self.patience).await,
            #[cfg(feature = "embedded")]
            Place::Disk(path) => {
                let opening = tokio::task::spawn_blocking(move || Disk::open(path, DiskOptions::default()));
                let disk = opening.await.map_err(|_| PlaneError::Stopped)??;
                serve(disk.clone(), Some(disk), self.own, self.patience).await
            }
            #[cfg(feature = "kube")]
            Place::Config(config) => reach(connected(*config)?, self.defined, self.patience).await,
            #[cfg(feature = "kube")]
            Place::Kubeconfig(path) => {
                reach(connected(read(&path).await?)?, self.defined, self.patience).await
            }
            #[cfg(feature = "kube")]
            Place::Client(client) => reach(client, self.defined, self.patience).await,
            #[cfg(all(feature = "kube", feature = "embedded"))]
            Place::Wrong(argument, wants) => Err(PlaneError::Arguments { argument, wants }),
        }
    }
}

#[cfg(feature = "embedded")]
async fn serve(
    store: impl Backend,
    disk: Option<Disk>,
    own: Vec<Own>,
    patience: Duration,
) -> Result<Plane, PlaneError> {
    let builder = own.into_iter().fold(ApiServer::builder(store), |builder, add| add(builder));
    Ok(Plane::new(Road::Embedded { server: builder.start().await?, disk }, patience))
}

#[cfg(feature = "kube")]
async fn reach(client: Client, defined: Vec<Define>, patience: Duration) -> Result<Plane, PlaneError> {
    let plane = Plane::new(Road::cluster(client).await?, patience);
    for define in defined {
        define(&plane).await?;
    }
    Ok(plane)
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
