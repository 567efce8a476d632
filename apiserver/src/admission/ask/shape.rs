//! Converts objects to the version that a webhook matches, and its patched objects back.

use serde_json::Value;

use super::{Asking, Came, name};
use crate::admission::matching::As;
use crate::admission::review::{Answer, internal};
use crate::admission::webhook::Webhook;
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::Subresource;
use crate::refusal::Refusal;
use crate::request::FieldValidation;

impl Asking<'_> {
    /// Returns the object under review: for the subresource `scale`, its `Scale`.
    pub(super) fn shown(&self, object: &Value) -> Value {
        match self.matter.kind.scale.as_ref().filter(|_| self.matter.part == Subresource::Scale) {
            Some(scale) => scale.read(object),
            None => object.clone(),
        }
    }

    /// Converts an object to the version that a webhook matches.
    pub(super) fn seen_as(&self, shown_as: &As, object: &Value) -> Value {
        let mut object = object.clone();
        if let As::Other(kind) = shown_as
            && self.matter.part != Subresource::Scale
        {
            kind.convert_for_admission(&mut object);
        }
        object
    }

    /// Applies the patch of a webhook, if any.
    pub(super) fn made_of(
        &self,
        webhook: &Webhook,
        asked: &Came,
        shown_as: &As,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Refusal> {
        let Came::Answered(Answer { patch: Some(patch), .. }) = asked else { return Ok(None) };
        let wrong = |refusal: Refusal| {
            let why = refusal.causes.first().map_or(&refusal.message, |cause| &cause.message);
            internal(&format!("admission webhook {:?}: {why}", webhook.name))
        };
        let patched = patch.apply(&self.seen_as(shown_as, object), None).map_err(wrong)?;
        if old.is_some() && name(&patched) != name(object) {
            return Err(self.renamed(name(&patched)));
        }
        let made = self.taken(patched, matches!(shown_as, As::Other(_)));
        made.map(Some).map_err(|why| if why.code == 422 { why } else { wrong(why) })
    }

    /// Normalizes a mutated object to its kind.
    pub(super) fn taken(&self, mut made: Value, in_another_version: bool) -> Result<Value, Refusal> {
        if self.matter.part == Subresource::Scale {
            return Ok(made);
        }
        if in_another_version {
            self.matter.kind.convert_for_admission(&mut made);
        }
        Ok(self.matter.patched(made, Vec::new(), FieldValidation::Ignore)?.object)
    }

    /// Merges a mutated object under review into the object.
    pub(super) fn put_back(&self, mut object: Value, shown: Value) -> Value {
        match self.matter.kind.scale.as_ref().filter(|_| self.matter.part == Subresource::Scale) {
            None => shown,
            Some(scale) => {
                let wanted = shown["spec"]["replicas"].as_i64().unwrap_or(0);
                if scale.desired(&object).unwrap_or(0) != wanted {
                    scale.set(&mut object, wanted);
                }
                object
            }
        }
    }

    /// 422: an immutable field. Kubernetes reports it twice, by generic and by specific validation.
    pub(super) fn renamed(&self, name: &str) -> Refusal {
        let kind = self.matter.kind;
        let why = || FieldError::new("metadata.name", Problem::Invalid(name.into()), "field is immutable");
        invalid(&kind.group, &kind.names.kind, name, &[why(), why()])
    }
}
