//! A handle: the objects of one kind as one type, for one identity.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "k8s")]
use kube_core::Resource;
#[cfg(feature = "k8s")]
use machinery_objects::KnownScope;
use machinery_objects::{FieldSelector, Kind as ObjectKind, Revision, SourceError, Traceparent};
use machinery_store::Entry;
use serde::de::DeserializeOwned;

use super::decoded::{Decoded, DecodedKey};
use super::errors::{source_error, unreadable};
use super::served::served;
use crate::auth::Identity;
use crate::auth::rbac::{RequestAttributes, ResourceAttributes};
use crate::kind::{Kind, Subresource};
use crate::managed::manager_name;
use crate::refusal::Refusal;
use crate::server::{ApiServer, Shared};
use crate::storage::Stored;
use crate::verbs::ObjectRequest;
use crate::verbs::output::{read, write};

/// In-process access to the objects of one kind as `K`: a
/// [`ListWatch`](machinery_objects::ListWatch) of `Arc<K>` and a
/// [`Writer`](machinery_objects::Writer) of `K`.
///
/// `K` is any type that serde converts to an object of that kind and back, except `apiVersion` and
/// `kind`: a type of kube, your own, or a `serde_json::Value`. For reads alone it may hold part of
/// the object and implement deserialization only.
///
/// - Requests are processed like those on the wire: the same validation, defaults and admission.
///   Unknown fields of `K` are rejected instead of dropped, since no client would see the warning.
/// - A write encodes the object once, to store it. Reads encode nothing. A version of an object is
///   decoded once for all handles of the server with this `K` while it is in use; in addition the
///   last 4096 are cached, up to 16 MiB of their stored size.
/// - RBAC applies to its identity as on the wire. The concurrency limit does not apply: the program
///   limits itself.
/// - The kind may be defined later: until then, all calls return [`SourceError::NotServed`].
///
/// Cheap to clone. After [`ApiServer::stop`] no watch can be started.
pub struct Handle<K> {
    pub(super) shared: Arc<Shared>,
    pub(super) kind: ObjectKind,
    pub(super) identity: Arc<Identity>,
    /// The field manager of its writes.
    pub(super) manager: Arc<str>,
    pub(super) decoded: Arc<Decoded<K>>,
}

impl ApiServer {
    /// Returns a handle for a type of kube.
    ///
    /// # Panics
    /// If the type's group, version, kind or plural are not valid names.
    #[cfg(feature = "k8s")]
    pub fn handle<K>(&self, identity: Identity) -> Handle<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
        K::Scope: KnownScope,
    {
        let kind = ObjectKind::of::<K>().expect("a type of kube says what Kubernetes allows");
        self.handle_of(kind, identity)
    }

    /// Returns a handle for a kind, with any type.
    pub fn handle_of<K>(&self, kind: ObjectKind, identity: Identity) -> Handle<K>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let shared = self.shared().clone();
        let seed = u64::from_le_bytes(shared.environment.bytes());
        let decoded = shared.decoded.of(&kind, seed);
        let manager = manager_name(None, Some(&identity.user), "").unwrap_or_default().into();
        Handle { shared, kind, identity: Arc::new(identity), manager, decoded }
    }
}

impl<K> Handle<K> {
    /// Returns the kind.
    #[must_use]
    pub const fn kind(&self) -> &ObjectKind {
        &self.kind
    }

    /// Returns the kind as currently served, if it supports `verb`.
    pub(super) fn served(&self, verb: &str) -> Result<Arc<Kind>, SourceError> {
        served(&self.shared, &self.kind, verb)
    }

    pub(super) fn object_request<'a>(
        &'a self,
        kind: &'a Arc<Kind>,
        subresource: Subresource,
        namespace: Option<&'a str>,
        name: &'a str,
    ) -> ObjectRequest<'a> {
        let trace = Traceparent::current();
        ObjectRequest {
            shared: &self.shared,
            kind,
            subresource,
            identity: &self.identity,
            fence: None,
            trace,
            notes: None,
            namespace,
            name,
        }
    }

    /// Checks that RBAC allows the request, and reading the object of its fence.
    pub(super) fn allow(
        &self,
        verb: &str,
        object_request: &ObjectRequest<'_>,
        fields: &FieldSelector,
    ) -> Result<(), SourceError> {
        let kind = object_request.kind;
        let itself = (kind.names.plural == "namespaces").then_some(object_request.name());
        let asks = ResourceAttributes {
            group: &kind.group,
            resource: &kind.names.plural,
            subresource: object_request.subresource.name().unwrap_or_default(),
            namespace: object_request.namespace().or(itself).unwrap_or_default(),
            name: object_request.name(),
        };
        let attributes = RequestAttributes::of(verb, asks).selecting(fields);
        let fence = |()| {
            object_request.fence.map_or(Ok(()), |fence| fence.may_be_named(&self.shared, &self.identity))
        };
        self.shared.authorize(&self.identity, &attributes).and_then(fence).map_err(source_error)
    }
}

impl<K: DeserializeOwned> Handle<K> {
    /// Returns the decoded object of an entry, with `shown` as its resourceVersion.
    pub(super) fn object(&self, kind: &Kind, entry: &Entry, shown: Revision) -> Result<Arc<K>, SourceError> {
        let form = form(kind, &entry.key, entry.modified, shown);
        let decode = || decode(kind, entry, shown);
        self.decoded.get(&form, entry.value.len(), decode).map_err(source_error)
    }
}

pub(super) fn form(kind: &Kind, key: &Arc<str>, state: Revision, shown: Revision) -> DecodedKey {
    DecodedKey { key: key.clone(), prints: (kind.print, kind.storage_version().print), state, shown }
}

fn decode<K: DeserializeOwned>(kind: &Kind, entry: &Entry, shown: Revision) -> Result<K, Refusal> {
    let as_is =
        Stored::of(&entry.value).is_ok_and(|stored| stored.print == kind.print && kind.stored.is_none());
    if as_is {
        let mut bytes = Vec::new();
        write(kind, entry, shown, &mut bytes)?;
        return serde_json::from_slice(&bytes)
            .map_err(|error| unreadable::<K>(kind.secret_fields().is_some(), &entry.key, &error));
    }
    let object = read(kind, entry, shown)?;
    K::deserialize(object)
        .map_err(|error| unreadable::<K>(kind.secret_fields().is_some(), &entry.key, &error))
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        let Self { shared, kind, identity, manager, decoded } = self;
        Self {
            shared: shared.clone(),
            kind: kind.clone(),
            identity: identity.clone(),
            manager: manager.clone(),
            decoded: decoded.clone(),
        }
    }
}

impl<K> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({} for {})", self.kind, self.identity.user)
    }
}
