//! Access to the objects of a plane: an embedded server or a cluster.

use std::fmt;
use std::sync::Arc;

use kube_core::CustomResourceExt;
use machinery_informers::{self as informers, Informer, KeyedBuilder, KeyedInformers};
use machinery_objects::{InterestBy, Kind, ListWatch, Writer};

use super::error::PlaneError;
use super::kinds::{ObjectType, PartialObject};
use super::live_list::{ListPage, list_page};

/// The server that stores the objects.
pub(super) enum Transport {
    #[cfg(feature = "embedded")]
    Embedded {
        server: Arc<machinery_apiserver::ApiServer>,
        disk: Option<machinery_store::Disk>,
        /// The user of the plane's own requests.
        identity: machinery_apiserver::Identity,
        /// Whether another plane started the server, and stops it.
        is_shared: bool,
    },
    #[cfg(feature = "kube")]
    Cluster { client: machinery_kube::kube_client::Client, server: machinery_kube::ServerProfile },
}

impl Transport {
    #[cfg(feature = "kube")]
    pub(super) async fn cluster(client: machinery_kube::kube_client::Client) -> Result<Self, PlaneError> {
        use machinery_kube::ServerProfile;
        // Kubernetes would ignore a fence and write: the profile makes a fence an error there.
        let is_ours = super::define::is_machinery(&client).await?;
        let server = if is_ours { ServerProfile::machinery() } else { ServerProfile::kubernetes() };
        Ok(Self::Cluster { client, server })
    }

    /// Returns the user of the plane's own requests to an embedded server.
    #[cfg(feature = "embedded")]
    pub(super) const fn identity(&self) -> Option<&machinery_apiserver::Identity> {
        match self {
            Self::Embedded { identity, .. } => Some(identity),
            #[cfg(feature = "kube")]
            Self::Cluster { .. } => None,
        }
    }

    /// Returns the transport with another user of the plane's own requests.
    #[cfg(feature = "embedded")]
    pub(super) fn used_by(mut self, user: machinery_apiserver::Identity) -> Self {
        match &mut self {
            Self::Embedded { identity, .. } => *identity = user,
            #[cfg(feature = "kube")]
            Self::Cluster { .. } => {}
        }
        self
    }

    /// Returns the transport of another plane on the same server.
    pub(super) fn share(&self) -> Self {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                let (server, identity) = (server.clone(), identity.clone());
                Self::Embedded { server, disk: None, identity, is_shared: true }
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => {
                Self::Cluster { client: client.clone(), server: server.clone() }
            }
        }
    }

    pub(super) fn writer<K: ObjectType>(&self, kind: &Kind) -> Arc<dyn Writer<K>> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                let _ = kind;
                Arc::new(server.handle::<K>(identity.clone()))
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => Arc::new(written_by_program(
                machinery_kube::Remote::<K>::new(client.clone(), kind.clone(), server.clone()),
            )),
        }
    }

    /// Returns a writer of a kind, for any type that objects are encoded from and decoded into.
    pub(super) fn object_writer<P>(&self, kind: &Kind) -> Arc<dyn Writer<P>>
    where
        P: PartialObject + serde::Serialize + Clone,
    {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                Arc::new(server.handle_of::<P>(kind.clone(), identity.clone()))
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => Arc::new(written_by_program(
                machinery_kube::Remote::<P>::new(client.clone(), kind.clone(), server.clone()),
            )),
        }
    }

    /// Returns the optional features of writers.
    pub(super) fn writer_capabilities(&self) -> machinery_objects::WriterCapabilities {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { .. } => machinery_objects::WriterCapabilities::ALL,
            #[cfg(feature = "kube")]
            Self::Cluster { server, .. } => {
                let mut capabilities = machinery_objects::WriterCapabilities::ALL;
                capabilities.fences = server.machinery;
                capabilities
            }
        }
    }

    /// Returns a source of a kind with shared objects, decoded as `P`.
    pub(super) fn shared_source<P: PartialObject>(&self, kind: Kind) -> Arc<dyn ListWatch<Arc<P>>> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                Arc::new(server.handle_of::<P>(kind, identity.clone()))
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => {
                Arc::new(super::runtime_kind::SharedObjects(remote::<P>(client, server, kind)))
            }
        }
    }

    /// Returns a builder for an informer of a kind, decoded as `P`.
    pub(super) fn informer<P: PartialObject>(&self, kind: Kind) -> informers::Builder<P> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                let source: Arc<dyn ListWatch<Arc<P>>> =
                    Arc::new(server.handle_of::<P>(kind, identity.clone()));
                Informer::builder(source)
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => Informer::builder(remote::<P>(client, server, kind)),
        }
    }

    pub(super) fn list_page<K: ObjectType>(&self) -> Result<Arc<ListPage<K>>, PlaneError> {
        Ok(match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                let source: Arc<dyn ListWatch<Arc<K>>> = Arc::new(server.handle::<K>(identity.clone()));
                list_page(source)
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => list_page(remote::<K>(client, server, Kind::of::<K>()?)),
        })
    }

    /// Returns a builder for keyed informers of a kind, decoded as `P`.
    pub(super) fn keyed_informers<P: PartialObject, F: informers::SelectorKey>(
        &self,
        kind: Kind,
        by: InterestBy,
        key_of: impl Fn(&P) -> Option<F> + Send + Sync + 'static,
    ) -> KeyedBuilder<F, P> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { server, identity, .. } => {
                let source: Arc<dyn ListWatch<Arc<P>>> =
                    Arc::new(server.handle_of::<P>(kind, identity.clone()));
                KeyedInformers::builder(source, by, key_of)
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => {
                KeyedInformers::builder(remote::<P>(client, server, kind), by, key_of)
            }
        }
    }

    /// Creates a missing definition, or compares an existing one, and waits until its kind is
    /// served.
    #[cfg_attr(
        not(feature = "kube"),
        allow(clippy::extra_unused_type_parameters, reason = "one of our own has it")
    )]
    pub(super) async fn define<K: ObjectType + CustomResourceExt>(
        &self,
        updates: bool,
    ) -> Result<(), PlaneError> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { .. } => {
                let _ = updates;
                Ok(())
            }
            #[cfg(feature = "kube")]
            Self::Cluster { client, server } => super::define::define::<K>(client, server, updates).await,
        }
    }

    /// Stops the embedded server and closes its store.
    pub(super) async fn shutdown(&self) {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { is_shared: true, .. } => {}
            #[cfg(feature = "embedded")]
            Self::Embedded { server, disk, .. } => {
                server.stop().await;
                if let Some(disk) = disk {
                    // A failed close only leaves the log without an end mark; no data is lost.
                    let _ = disk.close().await;
                }
            }
            #[cfg(feature = "kube")]
            Self::Cluster { .. } => {}
        }
    }
}

#[cfg(feature = "kube")]
fn remote<P: PartialObject>(
    client: &machinery_kube::kube_client::Client,
    server: &machinery_kube::ServerProfile,
    kind: Kind,
) -> Arc<dyn ListWatch<P>> {
    Arc::new(machinery_kube::Remote::<P>::new(client.clone(), kind, server.clone()))
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { .. } => "embedded",
            #[cfg(feature = "kube")]
            Self::Cluster { .. } => "cluster",
        })
    }
}

/// Returns the port with the name of the program as its field manager, as client-go derives it;
/// kube's client sends no `User-Agent` header that a server could derive it from.
#[cfg(feature = "kube")]
fn written_by_program<O>(remote: machinery_kube::Remote<O>) -> machinery_kube::Remote<O> {
    let is_manager = |name: &&str| !name.is_empty() && name.len() <= 128 && !name.contains(char::is_control);
    let program = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = program.as_deref().and_then(std::path::Path::file_name).and_then(std::ffi::OsStr::to_str);
    name.filter(is_manager).map_or_else(|| remote.clone(), |name| remote.managed_by(name))
}
