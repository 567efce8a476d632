//! The port to the REST API of a CNF: one connection per pod.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::error::CnfError;
use crate::model::{CollectionId, Desired, Observed, RestObject, Service};

/// Connects to pods.
///
/// A connection may be kept as long as its [`PodTarget`] is equal: a restart of the pod, another
/// address and a rotated Secret make another target.
pub trait CnfConnector: Send + Sync + 'static {
    /// Returns the connection to a pod. It sends nothing before the first call.
    ///
    /// # Errors
    /// The target is unusable, such as a certificate authority that is none.
    fn connect(&self, target: &PodTarget) -> Result<Arc<dyn Cnf>, CnfError>;
}

/// The REST API of one pod.
///
/// Calls for one pod come one after the other, those for different pods concurrently. Each call has
/// a time limit of its own, logs in when needed, and once again after a 401 or 403. Futures may be
/// dropped: a write may then have taken place.
#[async_trait]
pub trait Cnf: Send + Sync + 'static {
    /// Returns the best interface of the CNF. Probed at most once per connection.
    async fn interface(&self) -> Result<CnfInterface, CnfError>;

    /// Reads the whole configuration over v2: `None` if it still has the tag `known` (304).
    /// Secrets are [MACs](crate::model::secret_mac) under [`PodTarget::mac_key`].
    async fn read_config(&self, known: Option<&ConfigTag>) -> Result<Option<TaggedConfig>, CnfError>;

    /// Replaces all objects of the owner over v2, if the configuration has the tag.
    async fn write_config(&self, desired: &Desired, if_match: &ConfigTag) -> Result<ConfigWrite, CnfError>;

    /// Lists a collection over v1, in its order.
    async fn list(&self, collection: CollectionId) -> Result<Vec<RestObject>, CnfError>;

    /// Creates an object over v1, at the end of its collection.
    async fn create(&self, object: &RestObject) -> Result<(), CnfError>;

    /// Replaces an object over v1, in its place.
    async fn replace(&self, object: &RestObject) -> Result<(), CnfError>;

    /// Deletes an object over v1. An absent object is an error of class
    /// [`NotFound`](super::CnfErrorClass::NotFound).
    async fn delete(&self, collection: CollectionId, name: &str) -> Result<(), CnfError>;

    /// Restarts a service, after v1 changes.
    async fn restart(&self, service: Service) -> Result<(), CnfError>;
}

/// The interfaces of a CNF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CnfInterface {
    /// The original's: one call per object.
    V1,
    /// The whole configuration in one transaction.
    V2,
}

/// The entity tag of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigTag(pub String);

/// A configuration with its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedConfig {
    /// The tag.
    pub tag: ConfigTag,
    /// The configuration.
    pub config: Observed,
}

/// The result of a v2 write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigWrite {
    /// The configuration is in force.
    Applied {
        /// Its tag.
        tag: ConfigTag,
    },
    /// Nothing was changed: the configuration has another tag (412).
    Stale,
    /// Nothing was changed: these objects are refused.
    Refused {
        /// The objects with the reasons.
        refusals: Vec<Refusal>,
    },
}

/// An object that a CNF refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its collection.
    pub collection: CollectionId,
    /// Its name.
    pub name: String,
    /// The code that v1 would answer: 400, 409, 428.
    pub code: u16,
    /// The reason.
    pub message: String,
    /// Whether its removal is refused, as an object of another owner refers to it.
    pub is_removal: bool,
}

/// A pod to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTarget {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// The sum of its containers' restart counts.
    pub restarts: i64,
    /// The address.
    pub ip: String,
    /// The port: `--cnf-port`, else that of the container port `rest`, else 443.
    pub port: u16,
    /// The credentials.
    pub credentials: CnfCredentials,
    /// The key of the MACs by which secrets are compared.
    pub mac_key: Arc<[u8]>,
}

/// The credentials of a CNF, from the Secrets that the labels of its pods name.
#[derive(Clone, PartialEq, Eq)]
pub struct CnfCredentials {
    /// The user: `root`.
    pub user: String,
    /// The password; empty without a Secret, which the client refuses.
    pub password: Arc<str>,
    /// The certificate authority as PEM; `None` verifies by the system's.
    pub authority: Option<Arc<[u8]>>,
}

impl PodTarget {
    /// Returns the DNS name of the pod, for which its certificate is verified besides its address:
    /// `10-0-0-1.NAMESPACE.pod.cluster.local`.
    #[must_use]
    pub fn dns_name(&self) -> String {
        format!("{}.{}.pod.cluster.local", self.ip.replace(['.', ':'], "-"), self.namespace)
    }
}

impl fmt::Debug for CnfCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CnfCredentials").field("user", &self.user).finish_non_exhaustive()
    }
}
