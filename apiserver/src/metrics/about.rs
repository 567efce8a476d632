//! Labels of request metrics. Their number is bounded: clients cannot create series.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_sync::Mutex;
use prometheus_client::encoding::EncodeLabelSet;

use crate::kind::{Kind, Registry};
use crate::request::{Resource, Verb};

/// Maximum number of kinds with labels of their own, over the lifetime of the server: definitions
/// are created and deleted, and series stay.
const MOST_KINDS: usize = 1000;

/// The kinds requested until now.
#[derive(Default)]
pub(super) struct KnownKinds(Mutex<BTreeSet<[Arc<str>; 3]>>);

/// The requested kind. Requests for unknown kinds and documents share a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    verb: &'static str,
    group: Arc<str>,
    version: Arc<str>,
    resource: Arc<str>,
    subresource: &'static str,
    /// The scope: one object, a namespace, or the cluster.
    scope: &'static str,
}

/// A kind in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfKind {
    group: Arc<str>,
    version: Arc<str>,
    resource: Arc<str>,
}

impl OfKind {
    /// Kinds over the limit share a label.
    pub(super) fn new(known: &KnownKinds, kind: &Kind) -> Self {
        let names = [kind.group.clone(), kind.version.clone(), kind.names.plural.as_str().into()];
        let names = if known.has_place_for(&names) { names } else { Default::default() };
        let [group, version, resource] = names;
        Self { group, version, resource }
    }
}

impl KnownKinds {
    fn has_place_for(&self, names: &[Arc<str>; 3]) -> bool {
        let mut known = self.0.lock();
        known.contains(names) || known.len() < MOST_KINDS && known.insert(names.clone())
    }
}

impl Default for RequestLabels {
    /// The labels of a request that could not be parsed.
    fn default() -> Self {
        let empty: Arc<str> = "".into();
        Self {
            verb: "OTHER",
            group: empty.clone(),
            version: empty.clone(),
            resource: empty,
            subresource: "",
            scope: "",
        }
    }
}

impl RequestLabels {
    pub(super) fn objects(known: &KnownKinds, registry: &Registry, verb: Verb, resource: &Resource) -> Self {
        let verb = match verb {
            Verb::Get => "GET",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Create | Verb::Interest => "POST",
            Verb::Update => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
            Verb::DeleteCollection => "DELETECOLLECTION",
        };
        let scope = match (&resource.name, &resource.namespace) {
            (Some(_), _) => "resource",
            (None, _) if verb == "POST" => "resource",
            (None, Some(_)) => "namespace",
            (None, None) => "cluster",
        };
        let Some(kind) = registry.find(&resource.group, &resource.version, &resource.plural) else {
            return Self { verb, scope, ..Self::default() };
        };
        let subresource = match resource.subresource.as_deref() {
            None if resource.interest.is_some() => "interests",
            Some("status") => "status",
            Some("finalize") => "finalize",
            Some("approval") => "approval",
            _ => "",
        };
        let names = [kind.group.clone(), kind.version.clone(), kind.names.plural.as_str().into()];
        if !known.has_place_for(&names) {
            return Self { verb, scope, ..Self::default() };
        }
        let [group, version, resource] = names;
        Self { verb, group, version, resource, subresource, scope }
    }

    /// The labels of a non-resource request, by the first segments of its path.
    pub(crate) fn document(parts: &[String]) -> Self {
        const ROOTS: [&str; 8] =
            ["/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz", "/metrics"];
        let first = parts.first().map_or("", String::as_str);
        let root = ROOTS.into_iter().find(|root| &root[1..] == first).unwrap_or("");
        Self { verb: "GET", subresource: root, ..Self::default() }
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.verb == "WATCH"
    }
}
