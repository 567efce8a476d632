//! Kind-specific hooks.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::auth::Identity;
use crate::bounded::BoundedTexts;
use crate::guard::Guard;
use crate::invalid::FieldError;
use crate::refusal::Refusal;

/// Kind-specific behaviour. Hooks are pure functions, and may be called several times for one
/// change.
pub(crate) trait KindHooks: Send + Sync + 'static {
    /// Converts an object from another version of the kind, except its `apiVersion`.
    fn convert(&self, _object: &mut Value) {}

    /// Returns the paths of unknown fields that the schema does not detect.
    fn unknown(&self, _object: &Value) -> BoundedTexts {
        BoundedTexts::default()
    }

    /// Returns the first type error that the schema does not detect.
    fn unfit(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Sets the fields of a new object that name its creator.
    fn author(&self, _new: &mut Value, _identity: &Identity) {}

    /// Sets default values.
    fn default(&self, _object: &mut Value) {}

    /// Sets server-managed fields of a new object.
    fn creating(&self, _new: &mut Value) {}

    /// Sets server-managed fields of an updated object. Fields outside of `subresource` have been
    /// reset.
    fn updating(&self, _new: &mut Value, _old: &Value, _subresource: Subresource) {}

    /// Records the write in an object that is otherwise final.
    fn stamp(&self, _new: &mut Value, _old: Option<&Value>, _now: Timestamp) {}

    /// Validates an object, as a new one or as an update of `old`.
    fn validate(&self, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// Validates an otherwise valid object; its fields have the expected types.
    fn check(&self, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// Prepares a deletion that is not immediate: the object is marked, changed here, and stays
    /// until its finalizers are removed. `true` leaves its generation unchanged.
    fn deleting(&self, _object: &mut Value, _now: &str) -> Result<bool, Refusal> {
        Ok(false)
    }

    /// Returns whether a kind-specific condition delays the deletion of a marked object.
    fn holds(&self, _object: &Value) -> bool {
        false
    }

    /// The guards of the kind.
    fn guards(&self) -> &[Arc<dyn Guard>] {
        &[]
    }
}

/// The subresource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource {
    /// The object itself; without its status, where that is a subresource.
    Main,
    Status,
    /// The number of replicas.
    Scale,
    /// The finalizers in a namespace's spec.
    Finalize,
    /// The conditions of a CertificateSigningRequest.
    Approval,
}

/// No kind-specific behaviour.
pub(crate) struct DefaultHooks;

impl KindHooks for DefaultHooks {}

impl Subresource {
    /// The name in paths and managed fields.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Status => Some("status"),
            Self::Scale => Some("scale"),
            Self::Finalize => Some("finalize"),
            Self::Approval => Some("approval"),
        }
    }
}
