//! Converts objects to the version that a webhook matches, and its patched objects back.

use serde_json::Value;

use super::{AdmissionChain, CallOutcome, name};
use crate::admission::matching::ReviewVersion;
use crate::admission::review::{ReviewResponse, internal};
use crate::admission::webhook::Webhook;
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::Subresource;
use crate::refusal::Refusal;
use crate::request::FieldValidation;

impl AdmissionChain<'_> {
    /// Returns the object under review: for the subresource `scale`, its `Scale`.
    pub(super) fn reviewed(&self, object: &Value) -> Value {
        match self.request.kind.scale.as_ref().filter(|_| self.request.subresource == Subresource::Scale) {
            Some(scale) => scale.read(object),
            None => object.clone(),
        }
    }

    /// Converts an object to the version that a webhook matches.
    pub(super) fn converted(&self, version: &ReviewVersion, object: &Value) -> Value {
        let mut object = object.clone();
        if let ReviewVersion::Other(kind) = version
            && self.request.subresource != Subresource::Scale
        {
            kind.convert_for_admission(&mut object);
        }
        object
    }

    /// Applies the patch of a webhook, if any.
    pub(super) fn patched_by(
        &self,
        webhook: &Webhook,
        outcome: &CallOutcome,
        version: &ReviewVersion,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Refusal> {
        let CallOutcome::Answered(ReviewResponse { patch: Some(patch), .. }) = outcome else {
            return Ok(None);
        };
        let wrong = |refusal: Refusal| {
            let why = refusal.causes.first().map_or(&refusal.message, |cause| &cause.message);
            internal(&format!("admission webhook {:?}: {why}", webhook.name))
        };
        let patched = patch.apply(&self.converted(version, object), None).map_err(wrong)?;
        if old.is_some() && name(&patched) != name(object) {
            return Err(self.renamed(name(&patched)));
        }
        let made = self.normalized(patched, matches!(version, ReviewVersion::Other(_)));
        made.map(Some).map_err(|why| if why.code == 422 { why } else { wrong(why) })
    }

    /// Normalizes a mutated object to its kind.
    pub(super) fn normalized(&self, mut made: Value, in_another_version: bool) -> Result<Value, Refusal> {
        if self.request.subresource == Subresource::Scale {
            return Ok(made);
        }
        if in_another_version {
            self.request.kind.convert_for_admission(&mut made);
        }
        Ok(self.request.patched(made, Vec::new(), FieldValidation::Ignore)?.object)
    }

    /// Merges a mutated object under review into the object.
    pub(super) fn merge_back(&self, mut object: Value, shown: Value) -> Value {
        match self.request.kind.scale.as_ref().filter(|_| self.request.subresource == Subresource::Scale) {
            None => shown,
            Some(scale) => {
                let replicas = shown["spec"]["replicas"].as_i64().unwrap_or(0);
                if scale.desired(&object).unwrap_or(0) != replicas {
                    scale.set(&mut object, replicas);
                }
                object
            }
        }
    }

    /// 422: an immutable field. Kubernetes reports it twice, by generic and by specific validation.
    pub(super) fn renamed(&self, name: &str) -> Refusal {
        let kind = self.request.kind;
        let why = || FieldError::new("metadata.name", Problem::Invalid(name.into()), "field is immutable");
        invalid(&kind.group, &kind.names.kind, name, &[why(), why()])
    }
}
