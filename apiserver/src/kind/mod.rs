//! Kinds as data: names, schema, columns and hooks. [`Subresource`] lists the subresources of a
//! kind.

mod hooks;
mod merge_metadata;
mod registry;
mod scale;
mod shape;
mod status;

pub(crate) use hooks::{DefaultHooks, KindHooks, Subresource};
pub(crate) use registry::Registry;
pub(crate) use scale::Scale;
pub(crate) use shape::Checked;

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::{NameRule, Revision};
use serde_json::Value;
use tokio::sync::SetOnce;

use crate::builtin::Type;
use crate::discovery::TERMINATING_VERBS;
use crate::schema::Schema;
use crate::storage::Place;
use crate::table::Columns;

/// One version of a kind.
pub(crate) struct Kind {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    /// The `apiVersion`: `v1` or `example.com/v1`.
    pub(crate) api_version: String,
    pub(crate) names: KindNames,
    pub(crate) namespaced: bool,
    /// Whether the kind is built in; its objects may omit `apiVersion` and `kind`.
    pub(crate) built_in: bool,
    pub(crate) shape: KindSchema,
    /// Whether it has a `status` subresource.
    pub(crate) has_status: bool,
    /// The `scale` subresource, if it has one.
    pub(crate) scale: Option<Scale>,
    /// Whether `metadata.generation` counts changes of the spec.
    pub(crate) has_generation: bool,
    /// Whether an update without a resourceVersion is allowed and replaces any state.
    pub(crate) allows_unconditional_update: bool,
    pub(crate) name_rule: NameRule,
    pub(crate) columns: Columns,
    /// Selectable fields besides name and namespace.
    pub(crate) selectable: Vec<Selectable>,
    pub(crate) verbs: &'static [&'static str],
    /// Fingerprint of the schema, by which stored objects are known to match it.
    pub(crate) print: u64,
    pub(crate) replaced: Replaced,
    /// The storage version of the kind, where that is another one.
    pub(crate) stored: Option<Arc<Kind>>,
    /// The schemas of all versions, for field ownership. Objects cannot have been written in any
    /// other version.
    pub(crate) forms: Arc<KindVersions>,
    /// The deprecation warning.
    pub(crate) deprecation: Option<String>,
    /// The store key of its CustomResourceDefinition; `None` for a built-in kind.
    pub(crate) definition: Option<Arc<str>>,
    /// Whether its definition is being deleted: creation is refused.
    pub(crate) is_terminating: bool,
    /// The review that a create request performs; nothing is stored.
    pub(crate) review: Option<Review>,
    /// Whether its objects define kinds.
    pub(crate) defines_kinds: bool,
    /// Whether a deletion returns the object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    pub(crate) place: Place,
    pub(crate) hooks: Arc<dyn KindHooks>,
}

/// Set when a kind is removed or replaced, to its last revision. Its watchers must relist.
pub(crate) type Replaced = Arc<SetOnce<Revision>>;

/// The names of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindNames {
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// A review of the authentication or authorization API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// SelfSubjectReview.
    Oneself,
    /// SelfSubjectRulesReview.
    OwnRules,
    /// SelfSubjectAccessReview.
    OwnAccess,
    /// SubjectAccessReview and LocalSubjectAccessReview.
    Access,
    /// TokenReview.
    Token,
}

/// The versions of a kind, by `apiVersion`.
pub(crate) type KindVersions = BTreeMap<String, KindVersion>;

/// The parts of a version that field ownership needs.
pub(crate) struct KindVersion {
    /// The path of the desired replicas, if the version has the subresource `scale`.
    pub(crate) replicas: Option<String>,
    pub(crate) shape: KindSchema,
    pub(crate) hooks: Arc<dyn KindHooks>,
}

/// The fields of a kind.
#[derive(Clone)]
pub(crate) enum KindSchema {
    /// Defined by the schema of its CustomResourceDefinition.
    Custom(Arc<Schema>),
    /// Defined by the type table of Kubernetes.
    Typed(&'static Type),
}

/// A selectable field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selectable {
    /// The name in field selectors: `spec.color`.
    pub(crate) field: String,
    pub(crate) path: Vec<String>,
}

impl Kind {
    /// The qualified resource name in messages: `widgets.example.com`.
    pub(crate) fn resource(&self) -> String {
        match &*self.group {
            "" => self.names.plural.clone(),
            group => format!("{}.{group}", self.names.plural),
        }
    }

    /// Returns the value of a selectable field; an absent one is empty.
    pub(crate) fn field(&self, object: &Value, field: &str) -> Option<String> {
        let selectable = self.selectable.iter().find(|selectable| selectable.field == field)?;
        let value = selectable.path.iter().try_fold(object, |value, name| value.get(name));
        Some(match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        })
    }

    /// Returns whether it has the subresource `finalize`, as Namespaces.
    pub(crate) fn has_finalize(&self) -> bool {
        self.built_in && self.group.is_empty() && self.names.plural == "namespaces"
    }

    /// The storage version.
    pub(crate) fn storage_version(&self) -> &Self {
        self.stored.as_deref().unwrap_or(self)
    }

    /// The currently available verbs, for discovery.
    pub(crate) fn available_verbs(&self) -> &'static [&'static str] {
        if self.is_terminating { TERMINATING_VERBS } else { self.verbs }
    }

    /// Returns whether its objects have a protobuf encoding.
    pub(crate) const fn has_messages(&self) -> bool {
        matches!(self.shape, KindSchema::Typed(_)) || self.defines_kinds
    }

    /// Returns the path of the desired replicas in a version of the kind. Outer none: there is no
    /// such version.
    pub(crate) fn replicas_in(&self, api_version: &str) -> Option<Option<&str>> {
        if api_version == self.api_version {
            return Some(self.scale.as_ref().map(|scale| scale.desired.as_str()));
        }
        self.forms.get(api_version).map(|form| form.replicas.as_deref())
    }

    /// Returns whether it has the subresource `approval`.
    pub(crate) fn has_approval(&self) -> bool {
        &*self.group == "certificates.k8s.io" && self.names.plural == "certificatesigningrequests"
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
}
