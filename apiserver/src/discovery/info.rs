//! The discovery data of a kind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The verbs of custom resources, in the order of discovery.
pub(crate) const CUSTOM_VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// The verbs of built-in kinds.
pub(crate) const BUILT_IN_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The verbs of custom resources during the deletion of their definition.
pub(crate) const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
/// The verbs of `finalize`.
const FINALIZE_VERBS: &[&str] = &["update"];
/// The verbs of `status` and `scale`.
pub(crate) const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

/// The discovery entry of one version of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KindInfo {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Whether the kind is built in.
    pub(crate) built_in: bool,
    pub(crate) verbs: &'static [&'static str],
    /// Hash of the storage version; empty for kinds that are not stored.
    pub(crate) storage_version_hash: String,
    pub(crate) subresources: Vec<SubresourceInfo>,
}

/// A subresource; its body may be of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubresourceInfo {
    /// `status`, `approval` or `scale`.
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: &'static [&'static str],
}

impl KindInfo {
    /// The subresource `status` of the kind.
    pub(crate) fn status(&self) -> SubresourceInfo {
        let (group, version, kind) = (self.group.clone(), self.version.clone(), self.kind.clone());
        SubresourceInfo { name: "status".into(), group, version, kind, verbs: STATUS_VERBS }
    }

    /// The subresource `approval` of the kind.
    pub(crate) fn approval(&self) -> SubresourceInfo {
        SubresourceInfo { name: "approval".into(), ..self.status() }
    }
}

impl KindInfo {
    /// The subresource `finalize` of Namespaces.
    pub(crate) fn finalize(&self) -> SubresourceInfo {
        SubresourceInfo { name: "finalize".into(), verbs: FINALIZE_VERBS, ..self.status() }
    }
}

impl SubresourceInfo {
    /// The subresource `scale`.
    pub(crate) fn scale() -> Self {
        let (group, version, kind) = ("autoscaling".into(), "v1".into(), "Scale".into());
        Self { name: "scale".into(), group, version, kind, verbs: STATUS_VERBS }
    }
}

/// A hash that changes with the storage version of a kind.
pub(crate) fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&digest[..8])
}
