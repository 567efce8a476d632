//! Services of a request for in-process admission: warnings, audit annotations, and consistent
//! reads.

use std::collections::BTreeMap;
use std::fmt;

use machinery_objects::Kind as ObjectKind;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reads::{AdmissionReadError, AdmissionReader, ConsistentReads};
use super::{AdmissionNotes, Attributes};

/// The services of one call of a plugin.
#[derive(Clone, Copy, Default)]
pub(crate) struct AdmissionServices<'a> {
    /// The name of the plugin.
    pub(crate) plugin: &'a str,
    /// None: the client receives no warnings, and nothing is audited.
    pub(crate) remarks: Option<&'a dyn Remarks>,
    /// None: there is nothing to read, as in a webhook server without a reader.
    pub(crate) reads: Option<AdmissionReads<'a>>,
}

/// The source of a plugin's reads.
#[derive(Clone, Copy)]
pub(crate) enum AdmissionReads<'a> {
    /// The store of this server, at one revision.
    Store(&'a ConsistentReads<'a>),
    /// Whatever a webhook server was given.
    #[cfg_attr(not(feature = "webhook"), allow(dead_code, reason = "only a webhook server has readers"))]
    Reader(&'a dyn AdmissionReader),
}

/// Receives warnings for the client and annotations for the audit log.
pub(crate) trait Remarks: Sync {
    /// Adds a warning.
    fn warn(&self, plugin: &str, warning: String);

    /// Adds an audit annotation of a plugin.
    fn annotate(&self, plugin: &str, key: &str, value: String);
}

impl Attributes<'_> {
    /// Warns the client of the request, whether it is allowed or denied: kubectl prints the text.
    ///
    /// Repetitions are sent once. If all warnings of a response have more than 4096 characters,
    /// each is cut to 256. For a write through a handle the warning is logged.
    pub fn warn(&self, warning: impl Into<String>) {
        match self.services.remarks {
            Some(remarks) => remarks.warn(self.services.plugin, warning.into()),
            None => {
                let (warning, resource, name) = (warning.into(), self.resource, self.name);
                tracing::warn!(plugin = self.services.plugin, resource, name, "{warning}");
            }
        }
    }

    /// Annotates the audit event of the request as `PLUGIN/KEY`, with the plugin's
    /// [`name`](super::Admission::name).
    ///
    /// The first value of a key counts, also if admission is repeated after a conflict. Annotations
    /// with an invalid key, and those beyond 64 KiB per request, are left out; the event names
    /// their plugin. For kinds with secrets only keys are logged. A write through a handle has no
    /// audit event.
    pub fn annotate(&self, key: &str, value: impl Into<String>) {
        if let Some(remarks) = self.services.remarks {
            remarks.annotate(self.services.plugin, key, value.into());
        }
    }

    /// Returns another object at the revision of all reads of this request: see
    /// [`list_of`](Self::list_of).
    ///
    /// # Errors
    /// The kind is not served, the store cannot be read, or the object is no `K`.
    pub async fn get_of<K: DeserializeOwned>(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<K>, AdmissionReadError> {
        match self.reads()? {
            AdmissionReads::Store(reads) => reads.get(kind, namespace, name).await,
            AdmissionReads::Reader(reader) => {
                let object = reader.get(kind, namespace, name).await?;
                object.map(|object| decode(kind, object)).transpose()
            }
        }
    }

    /// Returns the objects of a kind, or those in one namespace, in the order of their names.
    ///
    /// The first read of a request fixes a revision, which includes the stored object under
    /// admission, and every read of the request shows the state of the store at it: by all plugins,
    /// in [`mutate`](super::Admission::mutate) and [`validate`](super::Admission::validate). If a
    /// conflict repeats admission, a newer revision is fixed. The server reads, with its own
    /// rights.
    ///
    /// The state may change before the write is committed. For a condition of the commit use a
    /// guard: [`CrossKindGuard`](crate::CrossKindGuard). In a webhook server its
    /// [`AdmissionReader`] decides how old the objects are.
    ///
    /// # Errors
    /// As [`get_of`](Self::get_of); or there are more than
    /// [`Limits::admission_objects`](crate::Limits::admission_objects).
    pub async fn list_of<K: DeserializeOwned>(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
    ) -> Result<Vec<K>, AdmissionReadError> {
        match self.reads()? {
            AdmissionReads::Store(reads) => reads.list(kind, namespace).await,
            AdmissionReads::Reader(reader) => {
                let objects = reader.list(kind, namespace).await?;
                objects.into_iter().map(|object| decode(kind, object)).collect()
            }
        }
    }

    /// Returns an object of a type of kube: see [`get_of`](Self::get_of).
    ///
    /// # Errors
    /// As [`get_of`](Self::get_of).
    #[cfg(feature = "k8s")]
    pub async fn get<K>(&self, namespace: Option<&str>, name: &str) -> Result<Option<K>, AdmissionReadError>
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
        K::Scope: machinery_objects::KnownScope,
    {
        self.get_of(&kind_of::<K>()?, namespace, name).await
    }

    /// Returns the objects of a type of kube: see [`list_of`](Self::list_of).
    ///
    /// # Errors
    /// As [`list_of`](Self::list_of).
    #[cfg(feature = "k8s")]
    pub async fn list<K>(&self, namespace: Option<&str>) -> Result<Vec<K>, AdmissionReadError>
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
        K::Scope: machinery_objects::KnownScope,
    {
        self.list_of(&kind_of::<K>()?, namespace).await
    }

    fn reads(&self) -> Result<AdmissionReads<'_>, AdmissionReadError> {
        self.services.reads.ok_or(AdmissionReadError::NoStore)
    }
}

fn decode<K: DeserializeOwned>(kind: &ObjectKind, object: Value) -> Result<K, AdmissionReadError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let failed = |error: serde_json::Error| AdmissionReadError::Undecodable {
        object: format!("{} {name:?}", kind.plural()),
        reason: error.to_string(),
    };
    K::deserialize(object).map_err(failed)
}

#[cfg(feature = "k8s")]
fn kind_of<K>() -> Result<ObjectKind, AdmissionReadError>
where
    K: kube_core::Resource<DynamicType = ()>,
    K::Scope: machinery_objects::KnownScope,
{
    ObjectKind::of::<K>().map_err(|error| AdmissionReadError::NotServed { reason: error.to_string() })
}

impl Remarks for AdmissionNotes<'_> {
    fn warn(&self, plugin: &str, warning: String) {
        self.add(plugin, vec![warning], BTreeMap::new());
    }

    fn annotate(&self, plugin: &str, key: &str, value: String) {
        self.add(plugin, Vec::new(), BTreeMap::from([(key.to_owned(), value)]));
    }
}

impl fmt::Debug for AdmissionServices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdmissionServices({})", self.plugin)
    }
}
