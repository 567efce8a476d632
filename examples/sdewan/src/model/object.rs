//! Custom resources of all kinds, as one type.

use std::borrow::Cow;

use machinery::kube_core::discovery::ApiResource;
use machinery::kube_core::{DynamicResourceScope, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::names::{ORDER_LABEL, PURPOSE_LABEL};
use super::status::{AppliedTo, SyncStatus};

/// A custom resource of any kind of the [table](super::KINDS).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SdewanObject {
    /// API version and kind.
    #[serde(flatten, default)]
    pub types: Option<TypeMeta>,
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The spec.
    #[serde(default)]
    pub spec: Map<String, Value>,
    /// The status, in the form of the kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub status: Map<String, Value>,
}

/// A CNF: the pods of the Deployment with this purpose in this namespace. The subject of the agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CnfKey {
    /// The namespace.
    pub namespace: String,
    /// The value of the label `sdewanPurpose`.
    pub purpose: String,
}

/// The order of a CR among others without the label `sdewan/order`.
pub const DEFAULT_ORDER: u32 = 1000;
/// The greatest value of that label.
pub const MAX_ORDER: u32 = 999_999;

impl SdewanObject {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Returns a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// Returns the CNF to which the object belongs by its label. Without the label it is one of the
    /// purpose `""`, which no Deployment has.
    #[must_use]
    pub fn cnf(&self) -> CnfKey {
        let purpose = self.label(PURPOSE_LABEL).unwrap_or_default();
        CnfKey { namespace: self.namespace().to_owned(), purpose: purpose.to_owned() }
    }

    /// Returns the CNFs that hold the object or should: that of its label, and the one to which it
    /// was applied.
    #[must_use]
    pub fn cnfs(&self) -> Vec<CnfKey> {
        let applied = self.applied_to();
        let applied =
            applied.map(|to| CnfKey { namespace: self.namespace().to_owned(), purpose: to.purpose });
        let mut all: Vec<_> = [self.cnf()].into_iter().chain(applied).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the CNF to which the object was applied, by its status.
    #[must_use]
    pub fn applied_to(&self) -> Option<AppliedTo> {
        serde_json::from_value(self.status.get("appliedTo")?.clone()).ok()
    }

    /// Returns the status of a rule; the default of a field that is absent or malformed.
    #[must_use]
    pub fn sync_status(&self) -> SyncStatus {
        SyncStatus::read(&self.status)
    }

    /// Returns whether the object is being deleted.
    #[must_use]
    pub const fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Returns whether the object has a finalizer.
    #[must_use]
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.metadata.finalizers.iter().flatten().any(|one| one == finalizer)
    }

    /// Returns the place of the object among those of its collection, by its label.
    ///
    /// # Errors
    /// The label is no integer from 0 to 999999.
    pub fn order(&self) -> Result<u32, String> {
        let Some(text) = self.label(ORDER_LABEL) else { return Ok(DEFAULT_ORDER) };
        let digits = !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.ok_or_else(|| {
            format!("metadata.labels[{ORDER_LABEL}]: {text:?} must be an integer from 0 to {MAX_ORDER}")
        })
    }
}

impl std::fmt::Display for CnfKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.purpose)
    }
}

impl Resource for SdewanObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(types: &ApiResource) -> Cow<'_, str> {
        types.kind.as_str().into()
    }

    fn group(types: &ApiResource) -> Cow<'_, str> {
        types.group.as_str().into()
    }

    fn version(types: &ApiResource) -> Cow<'_, str> {
        types.version.as_str().into()
    }

    fn api_version(types: &ApiResource) -> Cow<'_, str> {
        types.api_version.as_str().into()
    }

    fn plural(types: &ApiResource) -> Cow<'_, str> {
        types.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_is_an_integer_of_at_most_six_digits() {
        let order = |text: &str| {
            let object = json!({"metadata": {"labels": {ORDER_LABEL: text}}, "spec": {}});
            serde_json::from_value::<SdewanObject>(object).unwrap().order()
        };
        assert_eq!(order("0"), Ok(0));
        assert_eq!(order("999999"), Ok(MAX_ORDER));
        for text in ["", "-1", "1000000", "1.5", "x", " 1", "+1"] {
            assert!(order(text).is_err(), "{text}");
        }
        assert_eq!(SdewanObject::default().order(), Ok(DEFAULT_ORDER));
    }
}
