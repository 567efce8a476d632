//! Reads of other objects during admission, at one revision.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{Kind as ObjectKind, Revision};
use machinery_store::{Entry, Range};
use machinery_sync::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::Denied;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::verbs::output::read;

/// Objects that are decoded before other tasks of the runtime get a turn.
const TURN: usize = 128;

/// Reads at one revision, which the first read fixes.
pub(crate) struct ConsistentReads<'a> {
    shared: &'a Arc<Shared>,
    at: Mutex<Option<Revision>>,
}

/// Reads other objects for plugins in a webhook server, which has no store: from informers, or from
/// a client of the cluster.
#[async_trait]
pub trait AdmissionReader: Send + Sync + 'static {
    /// Returns an object, if it exists.
    ///
    /// # Errors
    /// The kind is not served, or the source is unavailable.
    async fn get(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, AdmissionReadError>;

    /// Returns the objects of a kind, or those in one namespace.
    ///
    /// # Errors
    /// As [`get`](Self::get); or there are too many objects.
    async fn list(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, AdmissionReadError>;
}

/// The reason that admission could not read another object. Converts to a [`Denied`], which refuses
/// the request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdmissionReadError {
    /// The server does not serve the kind, perhaps not yet.
    #[error("admission cannot read objects of a kind that is not served: {reason}")]
    NotServed {
        /// The kind.
        reason: String,
    },
    /// There are more objects than admission may read.
    #[error(
        "admission may read {limit} objects at a time, and there are more {resource}: name a namespace, or \
         raise Limits::admission_objects"
    )]
    TooMany {
        /// The kind.
        resource: String,
        /// The limit.
        limit: usize,
    },
    /// The store cannot be read.
    #[error("admission cannot read the store: {reason}")]
    Unavailable {
        /// The error of the store.
        reason: String,
    },
    /// A stored object is not of the requested type.
    #[error("{object} is not of the type that admission reads: {reason}")]
    Undecodable {
        /// The store key of the object.
        object: String,
        /// The error.
        reason: String,
    },
    /// The plugin runs in a webhook server, which has no store.
    #[error("a webhook server has no objects to read: give it a reader by AdmissionHooks::reader")]
    NoStore,
}

impl<'a> ConsistentReads<'a> {
    pub(super) const fn new(shared: &'a Arc<Shared>) -> Self {
        Self { shared, at: Mutex::new(None) }
    }

    /// Forgets the revision: admission begins again, on a newer state.
    pub(super) fn restart(&self) {
        *self.at.lock() = None;
    }

    pub(super) async fn get<K: DeserializeOwned>(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<K>, AdmissionReadError> {
        let kind = self.served(kind)?;
        let at = self.revision().await?;
        let key = kind.place.key(namespace.filter(|_| kind.namespaced), name);
        let entry = self.shared.objects.get(&key, Moment::Exactly(at)).await.map_err(unavailable)?;
        entry.map(|entry| decode(&kind, &entry)).transpose()
    }

    pub(super) async fn list<K: DeserializeOwned>(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
    ) -> Result<Vec<K>, AdmissionReadError> {
        let kind = self.served(kind)?;
        let (at, limit) = (self.revision().await?, self.shared.limits.admission_objects);
        let mut range = Range::of(kind.place.span(namespace.filter(|_| kind.namespaced)));
        range.limit = NonZeroUsize::new(limit.saturating_add(1));
        let listed = self.shared.objects.list(range, Moment::Exactly(at)).await.map_err(unavailable)?;
        if listed.entries.len() > limit {
            return Err(AdmissionReadError::TooMany { resource: kind.resource(), limit });
        }
        let mut objects = Vec::with_capacity(listed.entries.len());
        for (number, entry) in listed.entries.iter().enumerate() {
            if number % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            objects.push(decode(&kind, entry)?);
        }
        Ok(objects)
    }

    async fn revision(&self) -> Result<Revision, AdmissionReadError> {
        let fixed = *self.at.lock();
        match fixed {
            Some(at) => Ok(at),
            None => {
                let newest = self.shared.objects.revision().await.map_err(unavailable)?;
                Ok(*self.at.lock().get_or_insert(newest))
            }
        }
    }

    fn served(&self, kind: &ObjectKind) -> Result<Arc<Kind>, AdmissionReadError> {
        let registry = self.shared.kinds();
        let found = registry.find(kind.group(), kind.version(), kind.plural());
        let found = found.filter(|kind| kind.review.is_none()).cloned();
        let reason = || format!("{kind} of {}", kind.api_version());
        found.ok_or_else(|| AdmissionReadError::NotServed { reason: reason() })
    }
}

fn decode<K: DeserializeOwned>(kind: &Kind, entry: &Entry) -> Result<K, AdmissionReadError> {
    let failed = |reason: String| AdmissionReadError::Undecodable { object: entry.key.to_string(), reason };
    let object = read(kind, entry, entry.modified).map_err(|refusal| failed(refusal.message))?;
    K::deserialize(object).map_err(|error| failed(error.to_string()))
}

fn unavailable(refusal: Refusal) -> AdmissionReadError {
    AdmissionReadError::Unavailable { reason: refusal.message }
}

/// 503 if a retry may help, else 500.
impl From<AdmissionReadError> for Denied {
    fn from(error: AdmissionReadError) -> Self {
        let code = match error {
            AdmissionReadError::NotServed { .. } | AdmissionReadError::Unavailable { .. } => 503,
            _ => 500,
        };
        Self::new(error.to_string()).code(code)
    }
}
